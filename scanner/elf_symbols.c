/*
 * Symbol versions, and the few imports that tell how an object behaves.
 */
#include "scanner/elf_view.h"

#include <stddef.h>

enum {
    VERSIONS_MAX = 1 << 16, /* records of one table */
    SYMBOLS_MAX = 1 << 20,
};

/* ---- symbol versions */

static const unsigned char *chain_record(struct elf_view *view, uint64_t base, uint64_t left,
                                         uint64_t at, size_t size)
{
    if (at > left || left - at < size)
        return NULL;
    return view_peek(view, SLOT_RECORD, base + at, size, 4096);
}

static void add_version(struct elf_view *view, struct version **list, size_t *n,
                        const struct version *version)
{
    *list = arena_grow(view->arena, *list, *n, sizeof(**list));
    (*list)[(*n)++] = *version;
}

static const char *version_string(struct elf_view *view, uint32_t offset)
{
    const char *text = view_string(view, offset);

    if (!text)
        view_problem(view, "a version name is outside the string table");
    return text;
}

/* One file's wanted versions. False: stop. */
static bool read_need_file(struct elf_view *view, uint64_t base, uint64_t left, uint64_t at,
                           uint64_t *ret_next)
{
    struct object *o = view->object;
    const unsigned char *record = chain_record(view, base, left, at, sizeof(Elf64_Verneed));
    const char *file;
    uint32_t count;
    uint64_t aux;

    if (!record)
        return false;
    count = view_half(view, record + offsetof(Elf64_Verneed, vn_cnt));
    aux = at + view_word(view, record + offsetof(Elf64_Verneed, vn_aux));
    *ret_next = view_word(view, record + offsetof(Elf64_Verneed, vn_next));
    file = version_string(view, view_word(view, record + offsetof(Elf64_Verneed, vn_file)));
    if (!file)
        return false;
    while (count--) {
        struct version version = {.file = file};
        uint32_t next;

        record = chain_record(view, base, left, aux, sizeof(Elf64_Vernaux));
        if (!record || o->n_verneed >= VERSIONS_MAX)
            return false;
        version.weak = view_half(view, record + offsetof(Elf64_Vernaux, vna_flags)) & VER_FLG_WEAK;
        next = view_word(view, record + offsetof(Elf64_Vernaux, vna_next));
        version.name =
            version_string(view, view_word(view, record + offsetof(Elf64_Vernaux, vna_name)));
        if (!version.name)
            return false;
        add_version(view, &o->verneed, &o->n_verneed, &version);
        if (next == 0)
            return count == 0;
        aux += next;
    }
    return true;
}

/* One version the object defines; its first auxiliary record is its name. */
static bool read_definition(struct elf_view *view, uint64_t base, uint64_t left, uint64_t at,
                            uint64_t *ret_next)
{
    struct object *o = view->object;
    const unsigned char *record = chain_record(view, base, left, at, sizeof(Elf64_Verdef));
    struct version version = {0};
    uint32_t count, flags;
    uint64_t aux;

    if (!record || o->n_verdef >= VERSIONS_MAX)
        return false;
    flags = view_half(view, record + offsetof(Elf64_Verdef, vd_flags));
    count = view_half(view, record + offsetof(Elf64_Verdef, vd_cnt));
    aux = at + view_word(view, record + offsetof(Elf64_Verdef, vd_aux));
    *ret_next = view_word(view, record + offsetof(Elf64_Verdef, vd_next));
    if (count == 0 || (flags & VER_FLG_BASE)) /* the base is the object's own name */
        return true;
    record = chain_record(view, base, left, aux, sizeof(Elf64_Verdaux));
    if (!record)
        return false;
    version.weak = flags & VER_FLG_WEAK;
    version.name =
        version_string(view, view_word(view, record + offsetof(Elf64_Verdaux, vda_name)));
    if (!version.name)
        return false;
    add_version(view, &o->verdef, &o->n_verdef, &version);
    return true;
}

typedef bool record_reader(struct elf_view *view, uint64_t base, uint64_t left, uint64_t at,
                           uint64_t *ret_next);

static void read_chain(struct elf_view *view, uint64_t vaddr, uint64_t count, record_reader *read,
                       const char *what)
{
    uint64_t base, left, at = 0, next;

    if (vaddr == 0 || count == 0)
        return;
    if (!view_offset(view, vaddr, &base, &left)) {
        view_problem(view, "%s is outside the file", what);
        return;
    }
    if (count > VERSIONS_MAX)
        count = VERSIONS_MAX;
    while (count--) {
        next = 0;
        if (!read(view, base, left, at, &next)) {
            view_problem(view, "%s is broken", what);
            return;
        }
        if (next == 0)
            return;
        at += next;
    }
}

void elf_read_versions(struct elf_view *view)
{
    read_chain(view, view->verneed, view->verneed_num, read_need_file,
               "the table of versions needed");
    read_chain(view, view->verdef, view->verdef_num, read_definition,
               "the table of versions defined");
}

/* ---- imports */

/* Bit i of `imports` is name i. */
static const char *const import_names[] = {
    "dlopen", "dlmopen", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr", "JNI_OnLoad",
};

/* Where tables of many small parts are: found once, for there may be many segments, too. */
static void locate_tables(struct elf_view *view)
{
    struct range at;

    if (view->gnu_hash && view_offset(view, view->gnu_hash, &at.offset, &at.size))
        view->gnu_hash_bytes = at;
    if (view->symbols && view_offset(view, view->symbols, &at.offset, &at.size))
        view->symbol_bytes = at;
}

/* A word of the GNU hash table, `at` bytes from its start. */
static bool hash_word(struct elf_view *view, uint64_t at, uint32_t *ret)
{
    const struct range *hash = &view->gnu_hash_bytes;
    const unsigned char *p;

    if (hash->size < 4 || at > hash->size - 4)
        return false;
    p = view_peek(view, SLOT_RECORD, hash->offset + at, 4, 256);
    if (!p)
        return false;
    *ret = view_word(view, p);
    return true;
}

/* Symbols up to where the next table begins. */
static uint64_t symbols_up_to_next_table(const struct elf_view *view)
{
    uint64_t end = UINT64_MAX;

    for (size_t i = 0; i < view->n_tables; i++)
        if (view->table[i] > view->symbols && view->table[i] < end)
            end = view->table[i];
    return end == UINT64_MAX
               ? 0
               : (end - view->symbols) / (view->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

/* A GNU hash table without a symbol in it: then its first number counts nothing. */
static bool hash_is_empty(struct elf_view *view)
{
    uint32_t n_buckets, n_words, at;
    uint64_t buckets;

    if (!hash_word(view, 0, &n_buckets) || !hash_word(view, 8, &n_words))
        return false;
    buckets = 16 + n_words * (view->is_64 ? UINT64_C(8) : 4);
    for (uint32_t i = 0; i < n_buckets && i < SYMBOLS_MAX; i++)
        if (!hash_word(view, buckets + i * UINT64_C(4), &at) || at)
            return false;
    return true;
}

/* How many symbols can be undefined: those before the ones the GNU hash table holds, else all. */
static size_t count_symbols(struct elf_view *view)
{
    uint64_t offset, left;
    const unsigned char *p;
    /* DT_HASH has two words before its lists; on s390x they are of 8 bytes, big-endian */
    const bool wide = view->is_64 && view->object->machine == EM_S390;
    const size_t size = wide ? 16 : 8;
    uint32_t n = 0;

    if (view->gnu_hash_bytes.size >= 16) {
        const bool known = hash_word(view, 4, &n);

        if (known && hash_is_empty(view)) {
            const uint64_t all = symbols_up_to_next_table(view);

            n = all < SYMBOLS_MAX ? (uint32_t)all : SYMBOLS_MAX;
        }
    } else if (view->hash && view_offset(view, view->hash, &offset, &left) && left >= size) {
        p = view_peek(view, SLOT_RECORD, offset, size, size);
        n = p ? view_word(view, p + size - 4) : 0;
    }
    return n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
}

/* The bit of symbol `p` if it is one of those looked for: undefined, or JNI's entry point. */
static unsigned import_bit(struct elf_view *view, const unsigned char *p)
{
    const size_t shndx =
        view->is_64 ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx);
    const bool undefined = view_half(view, p + shndx) == SHN_UNDEF;
    const int found =
        view_string_find(view, view_word(view, p), import_names, ARRAY_LEN(import_names));
    const unsigned bit = found < 0 ? 0 : 1u << found;

    return undefined || bit == IMPORT_JNI_ONLOAD ? bit : 0;
}

static const unsigned char *symbol_peek(struct elf_view *view, uint64_t i, size_t ahead)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const uint64_t n = view->symbol_bytes.size / size;

    if (i >= n)
        return NULL;
    if (ahead > n - i)
        ahead = (size_t)(n - i);
    return view_peek(view, SLOT_TABLE, view->symbol_bytes.offset + i * size, size, ahead * size);
}

/* Exported JNI_OnLoad, looked up in the GNU hash table as the loader would. */
static void find_jni(struct elf_view *view)
{
    const uint32_t hash = 0x8e8223e2; /* the GNU hash of its name */
    const uint64_t word = view->is_64 ? 8 : 4, bits = word * 8;
    uint32_t n_buckets, first, n_words, shift, bloom[2], i, h;
    uint64_t buckets, chain;

    if (!hash_word(view, 0, &n_buckets) || !hash_word(view, 4, &first) ||
        !hash_word(view, 8, &n_words) || !hash_word(view, 12, &shift) || n_buckets == 0 ||
        n_words == 0 || shift > 31)
        return;
    for (int k = 0; k < 2; k++) {
        const uint64_t bit = (k ? hash >> shift : hash) % bits;
        const uint64_t at = 16 + hash / bits % n_words * word;
        const uint64_t half =
            view->object->data == ELFDATA2MSB && view->is_64 ? 1 - bit / 32 : bit / 32;

        if (!hash_word(view, at + half * 4, &bloom[k]) || !(bloom[k] >> bit % 32 & 1))
            return;
    }
    buckets = 16 + n_words * word;
    chain = buckets + n_buckets * UINT64_C(4);
    if (!hash_word(view, buckets + hash % n_buckets * UINT64_C(4), &i) || i < first)
        return;
    for (size_t steps = 0; steps < SYMBOLS_MAX; steps++, i++) {
        const unsigned char *p;

        if (!hash_word(view, chain + (i - first) * UINT64_C(4), &h))
            return;
        p = (h | 1) == (hash | 1) ? symbol_peek(view, i, 1) : NULL;
        if (p)
            view->object->imports |= import_bit(view, p) & IMPORT_JNI_ONLOAD;
        if (h & 1)
            return;
    }
}

void elf_read_imports(struct elf_view *view)
{
    const size_t step = 512;
    size_t n;

    locate_tables(view);
    if (view->strings_size == 0 || view->symbols == 0)
        return;
    n = count_symbols(view);
    for (size_t i = 1; i < n; i++) {
        const unsigned char *p = symbol_peek(view, i, n - i < step ? n - i : step);

        if (!p)
            break;
        view->object->imports |= import_bit(view, p);
    }
    if (view->gnu_hash)
        find_jni(view);
}

/* ---- all names */

/* How many symbols there are: the GNU hash table's longest chain ends with the last. */
static uint64_t count_all(struct elf_view *view)
{
    uint32_t n_buckets, first, n_words, last = 0, at, h = 0;
    uint64_t chain;

    if (!view->gnu_hash)
        return count_symbols(view);
    if (!hash_word(view, 0, &n_buckets) || !hash_word(view, 4, &first) ||
        !hash_word(view, 8, &n_words))
        return 0;
    chain = 16 + n_words * (view->is_64 ? UINT64_C(8) : 4);
    for (uint32_t i = 0; i < n_buckets && i < SYMBOLS_MAX; i++)
        if (hash_word(view, chain + i * UINT64_C(4), &at) && at > last)
            last = at;
    if (last < first)
        return count_symbols(view);
    chain += n_buckets * UINT64_C(4);
    while (last < SYMBOLS_MAX && hash_word(view, chain + (last - first) * UINT64_C(4), &h) &&
           !(h & 1))
        last++;
    return last + UINT64_C(1);
}

void elf_read_names(struct elf_view *view)
{
    const size_t shndx =
        view->is_64 ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx);
    struct elf_names *names = view->source->names;
    const uint64_t n = count_all(view), step = 512;

    if (view->strings_size == 0 || view->symbols == 0)
        return;
    for (uint64_t i = 1; i < n && i < SYMBOLS_MAX; i++) {
        const unsigned char *p = symbol_peek(view, i, (size_t)(n - i < step ? n - i : step));
        const char *name = p ? view_string(view, view_word(view, p)) : NULL;
        const bool wanted = p && view_half(view, p + shndx) == SHN_UNDEF;
        const char ***list = wanted ? &names->wanted : &names->offered;
        size_t *count = wanted ? &names->n_wanted : &names->n_offered;

        if (!p)
            return;
        if (!name || !*name)
            continue;
        *list = arena_grow(view->arena, *list, *count, sizeof(**list));
        (*list)[(*count)++] = name;
    }
}
