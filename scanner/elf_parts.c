/*
 * The parts of an object beside its dynamic section: notes, symbol versions, imports, constants.
 */
#include "scanner/elf_view.h"

#include <limits.h>
#include <string.h>

enum {
    NOTES_MAX = 1 << 20,          /* bytes of one PT_NOTE segment looked at */
    NOTE_HEADER = 12,             /* three words, whatever the class */
    NOTES_KEPT = 64,              /* dlopen notes of one object */
    NOTE_DLOPEN = 0x407c0c0a,     /* owner FDO */
    NOTE_RESOLUTION = 0x63a86cb6, /* owner NixOS */
    NOTE_GO_BUILD_ID = 4,         /* owner Go */
    VERSIONS_MAX = 1 << 16,
    SYMBOLS_MAX = 1 << 20,
    CONTENT_MAX = 256 << 20, /* bytes of read-only data searched for constants */
    CONTENT_STEP = 256 << 10,
    CONSTANT_MAX = 255, /* longest constant kept: a file name */
    CONSTANTS_KEPT = 512,
};

/* ---- notes */

struct note_at {
    uint32_t type;
    const char *owner;
    uint32_t owner_len; /* with its final zero */
    const unsigned char *desc;
    uint32_t desc_len;
    uint64_t align;
};

static bool note_is(const struct note_at *note, const char *owner, uint32_t type)
{
    const size_t len = strlen(owner) + 1;

    return note->type == type && note->owner_len == len && memcmp(note->owner, owner, len) == 0;
}

static struct note note_keep(const struct elf_view *view, const struct note_at *note)
{
    return (struct note){arena_memdup(view->arena, note->desc, note->desc_len), note->desc_len};
}

static void add_dlopen_note(struct elf_view *view, const struct note_at *note)
{
    struct object *o = view->object;
    struct note *list = o->dlopen_note;

    /* the same bytes again: two PT_NOTE segments over one note */
    for (size_t i = 0; i < o->n_dlopen_notes; i++)
        if (list[i].size == note->desc_len && memcmp(list[i].bytes, note->desc, list[i].size) == 0)
            return;
    if (o->n_dlopen_notes == NOTES_KEPT) {
        view_problem(view, "more than %d dlopen notes", NOTES_KEPT);
        return;
    }
    list = arena_grow(view->arena, list, o->n_dlopen_notes, sizeof(*list));
    list[o->n_dlopen_notes++] = note_keep(view, note);
    o->dlopen_note = list;
}

static void read_note(struct elf_view *view, const struct note_at *note)
{
    struct object *o = view->object;

    if (note_is(note, "GNU", NT_GNU_ABI_TAG) && note->desc_len >= 16) {
        if (o->has_abi_tag)
            return;
        o->has_abi_tag = true;
        for (size_t i = 0; i < 4; i++)
            o->abi_tag[i] = view_word(view, note->desc + 4 * i);
    } else if (note_is(note, "GNU", NT_GNU_BUILD_ID)) {
        if (!o->build_id.bytes)
            o->build_id = note_keep(view, note);
    } else if (note_is(note, "NixOS", NOTE_RESOLUTION)) {
        if (!o->resolution.bytes)
            o->resolution = note_keep(view, note);
    } else if (note_is(note, "FDO", NOTE_DLOPEN)) {
        add_dlopen_note(view, note);
    } else if (note_is(note, "Go", NOTE_GO_BUILD_ID) ||
               (note->type == NOTE_GO_BUILD_ID && note->owner_len == 4 &&
                memcmp(note->owner, "Go\0", 4) == 0)) {
        o->layout |= LAYOUT_GO;
    }
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

void elf_read_note_segment(struct elf_view *view, uint64_t offset, uint64_t size, uint64_t align)
{
    const unsigned char *bytes;
    uint64_t at = 0;

    if (size == 0)
        return;
    if (size > NOTES_MAX) {
        view_problem(view, "a note segment of %llu bytes", (unsigned long long)size);
        size = NOTES_MAX;
    }
    bytes = view_peek(view, SLOT_RECORD, offset, (size_t)size, (size_t)size);
    if (!bytes) {
        view_problem(view, "a note segment is outside the file");
        return;
    }
    if (align != 8)
        align = 4;
    while (size - at >= NOTE_HEADER) {
        struct note_at note = {.owner_len = view_word(view, bytes + at),
                               .desc_len = view_word(view, bytes + at + 4),
                               .type = view_word(view, bytes + at + 8),
                               .align = align};
        const uint64_t desc = align_up(at + NOTE_HEADER + note.owner_len, align);

        if (desc + note.desc_len > size) {
            view_problem(view, "a note reaches out of its segment");
            return;
        }
        note.owner = (const char *)bytes + at + NOTE_HEADER;
        note.desc = bytes + desc;
        read_note(view, &note);
        at = align_up(desc + note.desc_len, align);
        if (at > size)
            return;
    }
}

/* ---- symbol versions */

/* The two chains look alike: records with a count of auxiliary records, linked by offsets. */
struct chain {
    const char *what;
    size_t size, aux_size;     /* of the file's records */
    size_t count, aux, next;   /* offsets in the record */
    size_t aux_name, aux_next; /* offsets in the auxiliary record */
};

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

/* How many symbols can be undefined: those before the ones the GNU hash table holds, else all. */
static size_t count_symbols(struct elf_view *view)
{
    uint64_t offset, left;
    const unsigned char *p;
    uint32_t n = 0;

    if (view->gnu_hash && view_offset(view, view->gnu_hash, &offset, &left) && left >= 16) {
        p = view_peek(view, SLOT_RECORD, offset, 16, 16);
        n = p ? view_word(view, p + 4) : 0;
    } else if (view->hash && view_offset(view, view->hash, &offset, &left) && left >= 8) {
        p = view_peek(view, SLOT_RECORD, offset, 8, 8);
        n = p ? view_word(view, p + 4) : 0;
    }
    return n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
}

static void read_symbols(struct elf_view *view)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const size_t shndx =
        view->is_64 ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx);
    const size_t step = 512;
    uint64_t offset, left;
    size_t n;

    if (!view->symbols || !view_offset(view, view->symbols, &offset, &left))
        return;
    n = count_symbols(view);
    if (n > left / size)
        n = (size_t)(left / size);
    for (size_t i = 1; i < n; i++) {
        const size_t block = (n - i < step ? n - i : step) * size;
        const unsigned char *p = view_peek(view, SLOT_TABLE, offset + i * size, size, block);
        int found;

        if (!p)
            return;
        if (view_half(view, p + shndx) != SHN_UNDEF)
            continue;
        found = view_string_find(view, view_word(view, p), import_names, ARRAY_LEN(import_names));
        if (found >= 0)
            view->object->imports |= 1u << found;
    }
}

/* ---- constants of an object that loads others by name */

static bool is_name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '.' || c == '/' || c == '@';
}

static bool constant_known(const struct object *o, const char *text, size_t len)
{
    for (size_t i = 0; i < o->n_dlopen_strings; i++)
        if (strncmp(o->dlopen_string[i], text, len) == 0 && o->dlopen_string[i][len] == '\0')
            return true;
    for (size_t i = 0; i < o->n_needs; i++)
        if (strncmp(o->need[i].name, text, len) == 0 && o->need[i].name[len] == '\0')
            return true;
    return false;
}

/* ".so" was found at `at`: keep the whole constant around it if it looks like a soname. */
static void add_constant(struct elf_view *view, const unsigned char *bytes, size_t len, size_t at)
{
    struct object *o = view->object;
    size_t first = at, end = at + 3;

    while (first > 0 && at - first < CONSTANT_MAX && is_name_byte(bytes[first - 1]))
        first--;
    if (first == at || (first > 0 && bytes[first - 1] != '\0'))
        return;
    while (end < len && end - first <= CONSTANT_MAX && is_name_byte(bytes[end]))
        end++;
    if (end == len || bytes[end] != '\0' || (bytes[at + 3] != '\0' && bytes[at + 3] != '.'))
        return;
    if (end - first > CONSTANT_MAX || bytes[at - 1] == '/' || bytes[first] == '.')
        return;
    if (o->n_dlopen_strings == CONSTANTS_KEPT ||
        constant_known(o, (const char *)bytes + first, end - first))
        return;
    o->dlopen_string =
        arena_grow(view->arena, o->dlopen_string, o->n_dlopen_strings, sizeof(*o->dlopen_string));
    o->dlopen_string[o->n_dlopen_strings++] =
        arena_strndup(view->arena, (const char *)bytes + first, end - first);
}

static void search_block(struct elf_view *view, const unsigned char *bytes, size_t len)
{
    static const char origin[] = "$ORIGIN";
    const unsigned char *at = bytes, *end = bytes + len;

    while ((at = memmem(at, (size_t)(end - at), ".so", 3)) != NULL) {
        add_constant(view, bytes, len, (size_t)(at - bytes));
        at += 3;
    }
    if (!view->object->origin_string && memmem(bytes, len, origin, sizeof(origin) - 1))
        view->object->origin_string = true;
}

/* Search [offset, offset + size) in overlapping blocks, so that no constant is cut. */
static void search_range(struct elf_view *view, uint64_t offset, uint64_t size)
{
    const size_t overlap = CONSTANT_MAX + 2;

    if (size > CONTENT_MAX)
        size = CONTENT_MAX;
    while (size) {
        const size_t len = size < CONTENT_STEP ? (size_t)size : CONTENT_STEP;
        const unsigned char *bytes = view_peek(view, SLOT_CONTENT, offset, len, len);

        if (!bytes)
            return;
        search_block(view, bytes, len);
        if (len == size)
            return;
        offset += len - overlap;
        size -= len - overlap;
    }
}

/* The parts of [from, to) that are not the dynamic string table, whose names are no constants. */
static void search_around_strings(struct elf_view *view, uint64_t from, uint64_t to)
{
    const uint64_t first = view->strings, last = view->strings + view->strings_size;

    if (view->strings_size && first >= from && last <= to) {
        search_range(view, from, first - from);
        search_range(view, last, to - last);
    } else {
        search_range(view, from, to - from);
    }
}

/* Constants stand in segments that are only read; where there is none, beside the code. */
static void search_constants(struct elf_view *view)
{
    uint32_t refused = PF_W | PF_X;
    bool searched = false;

    for (int pass = 0; pass < 2 && !searched; pass++, refused = PF_W)
        for (size_t i = 0; i < view->n_loads; i++) {
            const struct segment *load = &view->load[i];
            uint64_t end;

            if ((load->flags & refused) || load->filesz == 0 ||
                __builtin_add_overflow(load->offset, load->filesz, &end))
                continue;
            if (end > view->source->size)
                end = view->source->size;
            if (load->offset >= end)
                continue;
            searched = true;
            search_around_strings(view, load->offset, end);
        }
}

void elf_read_imports(struct elf_view *view)
{
    if (view->strings_size == 0)
        return;
    read_symbols(view);
    if (view->object->imports & (IMPORT_DLOPEN | IMPORT_DLMOPEN))
        search_constants(view);
}
