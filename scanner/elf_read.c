#include "scanner/elf_read.h"

#include "scanner/elf_view.h"
#include "scanner/ldso.h"

#include <errno.h>
#include <libelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 32,               /* records translated at a time */
    LOADS_MAX = 4096,         /* PT_LOAD segments looked at */
    DYNAMIC_MAX = 1 << 16,    /* entries of a dynamic section */
    LDSO_MAX = 16 << 20,      /* a loader file is read whole, up to this size */
    RELRHACK_BIT = 0x8000000, /* Firefox's build sets it in the DT_RELR tags */
};

/* ---- translation: file records to native 64-bit ones */

/* Translate `n` records of `type` with libelf; the file's class decides their size. */
static bool translate(const struct elf_view *view, Elf_Type type, const void *from,
                      size_t from_size, void *to, size_t to_size)
{
    Elf_Data src = {.d_type = type, .d_version = EV_CURRENT, .d_size = from_size};
    Elf_Data dst = {.d_buf = to, .d_version = EV_CURRENT, .d_size = to_size};
    const unsigned encoding = view->object->data;

    memcpy(&src.d_buf, &from, sizeof(from));
    return (view->is_64 ? elf64_xlatetom(&dst, &src, encoding)
                        : elf32_xlatetom(&dst, &src, encoding)) != NULL;
}

static bool read_phdrs(const struct elf_view *view, const unsigned char *bytes, size_t n,
                       Elf64_Phdr *ret)
{
    Elf32_Phdr narrow[BLOCK];

    if (view->is_64)
        return translate(view, ELF_T_PHDR, bytes, n * sizeof(*ret), ret, n * sizeof(*ret));
    if (!translate(view, ELF_T_PHDR, bytes, n * sizeof(*narrow), narrow, sizeof(narrow)))
        return false;
    for (size_t i = 0; i < n; i++)
        ret[i] = (Elf64_Phdr){narrow[i].p_type,  narrow[i].p_flags, narrow[i].p_offset,
                              narrow[i].p_vaddr, narrow[i].p_paddr, narrow[i].p_filesz,
                              narrow[i].p_memsz, narrow[i].p_align};
    return true;
}

static bool read_dyns(const struct elf_view *view, const unsigned char *bytes, size_t n,
                      Elf64_Dyn *ret)
{
    Elf32_Dyn narrow[BLOCK];

    if (view->is_64)
        return translate(view, ELF_T_DYN, bytes, n * sizeof(*ret), ret, n * sizeof(*ret));
    if (!translate(view, ELF_T_DYN, bytes, n * sizeof(*narrow), narrow, sizeof(narrow)))
        return false;
    for (size_t i = 0; i < n; i++)
        ret[i] = (Elf64_Dyn){.d_tag = narrow[i].d_tag, .d_un.d_val = narrow[i].d_un.d_val};
    return true;
}

static bool read_ehdr(struct elf_view *view, const unsigned char *bytes, Elf64_Ehdr *ret)
{
    Elf32_Ehdr h;

    if (view->is_64)
        return translate(view, ELF_T_EHDR, bytes, sizeof(*ret), ret, sizeof(*ret));
    if (!translate(view, ELF_T_EHDR, bytes, sizeof(h), &h, sizeof(h)))
        return false;
    *ret = (Elf64_Ehdr){.e_type = h.e_type,
                        .e_machine = h.e_machine,
                        .e_version = h.e_version,
                        .e_phoff = h.e_phoff,
                        .e_shoff = h.e_shoff,
                        .e_phentsize = h.e_phentsize,
                        .e_phnum = h.e_phnum,
                        .e_shentsize = h.e_shentsize,
                        .e_shnum = h.e_shnum,
                        .e_shstrndx = h.e_shstrndx};
    return true;
}

static bool read_shdrs(const struct elf_view *view, const unsigned char *bytes, size_t n,
                       Elf64_Shdr *ret)
{
    Elf32_Shdr narrow[BLOCK];

    if (view->is_64)
        return translate(view, ELF_T_SHDR, bytes, n * sizeof(*ret), ret, n * sizeof(*ret));
    if (!translate(view, ELF_T_SHDR, bytes, n * sizeof(*narrow), narrow, sizeof(narrow)))
        return false;
    for (size_t i = 0; i < n; i++)
        ret[i] = (Elf64_Shdr){.sh_type = narrow[i].sh_type,
                              .sh_flags = narrow[i].sh_flags,
                              .sh_offset = narrow[i].sh_offset,
                              .sh_size = narrow[i].sh_size};
    return true;
}

/* ---- header and program headers */

static bool read_ident(struct elf_view *view, const unsigned char *head, size_t len)
{
    struct object *o = view->object;
    unsigned char ident[EI_NIDENT] = {0};

    memcpy(ident, head, len < sizeof(ident) ? len : sizeof(ident));
    o->class = ident[EI_CLASS];
    o->data = ident[EI_DATA];
    o->ident_version = ident[EI_VERSION];
    o->osabi = ident[EI_OSABI];
    o->abiversion = ident[EI_ABIVERSION];
    o->ident_pad_zero = true;
    for (size_t i = EI_PAD; i < sizeof(ident); i++)
        o->ident_pad_zero &= ident[i] == 0;
    view->is_64 = o->class == ELFCLASS64;
    view->swap = (o->data == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return view->is_64 || o->class == ELFCLASS32;
}

/* The rest of the header. False: there is nothing more to be read. */
static bool read_header(struct elf_view *view, const unsigned char *head, size_t len,
                        Elf64_Ehdr *ehdr)
{
    struct object *o = view->object;
    const bool known = read_ident(view, head, len);
    const size_t need = view->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);

    if (len >= 20) { /* type and machine stand at one place in both classes */
        o->type = view_half(view, head + 16);
        o->machine = view_half(view, head + 18);
    }
    if (len >= 24)
        o->version = view_word(view, head + 20);
    if (!known || (o->data != ELFDATA2LSB && o->data != ELFDATA2MSB)) {
        view_problem(view, "unknown class %u or byte order %u", o->class, o->data);
        return false;
    }
    if (len < need || !read_ehdr(view, head, ehdr)) {
        view_problem(view, "the ELF header is cut off");
        return false;
    }
    o->phentsize = ehdr->e_phentsize;
    o->phnum = ehdr->e_phnum;
    return true;
}

static void read_interp(struct elf_view *view, const Elf64_Phdr *phdr)
{
    const unsigned char *bytes;

    if (view->object->interp) /* the kernel takes the first */
        return;
    if (phdr->p_filesz < 2 || phdr->p_filesz > PATH_MAX) {
        view_problem(view, "PT_INTERP of %llu bytes", (unsigned long long)phdr->p_filesz);
        return;
    }
    bytes = view_peek(view, SLOT_RECORD, phdr->p_offset, phdr->p_filesz, phdr->p_filesz);
    if (!bytes || bytes[phdr->p_filesz - 1] != '\0') {
        view_problem(view, "PT_INTERP is outside the file or not ended");
        return;
    }
    view->object->interp = arena_strdup(view->arena, (const char *)bytes);
}

static void add_load(struct elf_view *view, const Elf64_Phdr *phdr)
{
    struct elf_scratch *scratch = view->scratch;
    struct object *o = view->object;

    if (view->n_loads == LOADS_MAX) {
        view_problem(view, "more than %d loadable segments", LOADS_MAX);
        return;
    }
    if (view->n_loads == scratch->load_size) {
        scratch->load_size = scratch->load_size ? scratch->load_size * 2 : 16;
        scratch->load = realloc(scratch->load, scratch->load_size * sizeof(*scratch->load));
        if (!scratch->load)
            abort();
    }
    view->load = scratch->load;
    view->load[view->n_loads++] = (struct segment){phdr->p_offset, phdr->p_vaddr, phdr->p_filesz,
                                                   phdr->p_memsz, phdr->p_flags};
    if (phdr->p_align > o->load_align)
        o->load_align = phdr->p_align;
}

/* What a pass over the program headers leaves for later. */
struct headers {
    uint64_t dynamic_vaddr, dynamic_filesz;
    bool has_dynamic, has_stack;
};

static void read_phdr(struct elf_view *view, const Elf64_Phdr *phdr, struct headers *headers)
{
    struct object *o = view->object;
    uint64_t end;

    if (!__builtin_add_overflow(phdr->p_offset, phdr->p_filesz, &end) && end > view->phdr_end)
        view->phdr_end = end;
    switch (phdr->p_type) {
    case PT_LOAD:
        add_load(view, phdr);
        break;
    case PT_INTERP:
        read_interp(view, phdr);
        break;
    case PT_DYNAMIC: /* of several the loader keeps the last */
        headers->has_dynamic = true;
        headers->dynamic_vaddr = phdr->p_vaddr;
        headers->dynamic_filesz = phdr->p_filesz;
        break;
    case PT_TLS:
        o->tls_size = phdr->p_memsz;
        break;
    case PT_NOTE:
        elf_read_note_segment(view, phdr->p_offset, phdr->p_filesz, phdr->p_align);
        break;
    case PT_GNU_STACK:
        headers->has_stack = true;
        if (phdr->p_flags & PF_X)
            o->layout |= LAYOUT_EXECSTACK;
        break;
    default:
        break;
    }
}

static void read_program_headers(struct elf_view *view, const Elf64_Ehdr *ehdr,
                                 struct headers *headers)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    Elf64_Phdr block[BLOCK];

    if (ehdr->e_phnum == 0)
        return;
    if (ehdr->e_phentsize != size) {
        view_problem(view, "program headers of %u bytes", ehdr->e_phentsize);
        return;
    }
    view->phdr_end = ehdr->e_phoff + ehdr->e_phnum * size;
    for (size_t i = 0, n; i < ehdr->e_phnum; i += n) {
        const unsigned char *bytes;

        n = ehdr->e_phnum - i < BLOCK ? ehdr->e_phnum - i : BLOCK;
        bytes = view_peek(view, SLOT_TABLE, ehdr->e_phoff + i * size, n * size,
                          (ehdr->e_phnum - i) * size);
        if (!bytes || !read_phdrs(view, bytes, n, block)) {
            view_problem(view, "program headers are outside the file");
            return;
        }
        for (size_t k = 0; k < n; k++)
            read_phdr(view, &block[k], headers);
    }
    if (!headers->has_stack)
        view->object->layout |= LAYOUT_NO_GNU_STACK;
}

/* ---- the dynamic section */

/* String offsets of tags that count once; of several the last. */
struct dynamic {
    uint64_t soname, rpath, runpath, audit, depaudit; /* NO_STRING: absent */
    uint64_t strings;                                 /* DT_STRTAB, address */
    size_t n_needs, n_entries;
    bool has_strings, ended;
};

static const uint64_t NO_STRING = UINT64_MAX;

static void read_flags(struct object *o, const Elf64_Dyn *dyn)
{
    const uint32_t value = (uint32_t)dyn->d_un.d_val;

    if (dyn->d_tag == DT_FLAGS) {
        o->flags = value;
        if (value & DF_TEXTREL)
            o->layout |= LAYOUT_TEXTREL;
        if (value & DF_STATIC_TLS)
            o->layout |= LAYOUT_STATIC_TLS;
    } else {
        o->flags_1 = value;
    }
}

/* One entry before the first DT_NULL. Strings wait until their table is known. */
static void read_dyn(struct elf_view *view, const Elf64_Dyn *dyn, struct dynamic *d)
{
    const struct tag_place {
        int64_t tag;
        uint64_t *place;
    } places[] = {
        {DT_SONAME, &d->soname},
        {DT_RPATH, &d->rpath},
        {DT_RUNPATH, &d->runpath},
        {DT_AUDIT, &d->audit},
        {DT_DEPAUDIT, &d->depaudit},
        {DT_STRSZ, &view->strings_size},
        {DT_SYMTAB, &view->symbols},
        {DT_GNU_HASH, &view->gnu_hash},
        {DT_HASH, &view->hash},
        {DT_VERNEED, &view->verneed},
        {DT_VERDEF, &view->verdef},
        {DT_VERNEEDNUM, &view->verneed_num},
        {DT_VERDEFNUM, &view->verdef_num},
    };
    const struct tag_place *place;

    switch (dyn->d_tag) {
    case DT_NEEDED:
    case DT_AUXILIARY:
    case DT_FILTER:
        d->n_needs++;
        return;
    case DT_STRTAB:
        d->has_strings = true;
        d->strings = dyn->d_un.d_ptr;
        return;
    case DT_FLAGS:
    case DT_FLAGS_1:
        read_flags(view->object, dyn);
        return;
    case DT_TEXTREL:
        view->object->layout |= LAYOUT_TEXTREL;
        return;
    case DT_RELR | RELRHACK_BIT:
        view->object->layout |= LAYOUT_RELRHACK;
        return;
    default:
        break;
    }
    for_each (place, places)
        if (place->tag == dyn->d_tag) {
            *place->place = dyn->d_un.d_val;
            return;
        }
}

/* Call `each` for the entries, the first DT_NULL included; then count the spare ones behind it. */
static void walk_dynamic(struct elf_view *view, uint64_t offset, size_t n_entries,
                         void (*each)(struct elf_view *, const Elf64_Dyn *, struct dynamic *),
                         struct dynamic *d)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    Elf64_Dyn block[BLOCK];
    uint32_t spare = 0;
    bool ended = false;

    for (size_t i = 0, n; i < n_entries; i += n) {
        const unsigned char *bytes;

        n = n_entries - i < BLOCK ? n_entries - i : BLOCK;
        bytes = view_peek(view, SLOT_DYNAMIC, offset + i * size, n * size, (n_entries - i) * size);
        if (!bytes || !read_dyns(view, bytes, n, block)) {
            view_problem(view, "the dynamic section is outside the file");
            return;
        }
        for (size_t k = 0; k < n; k++) {
            if (ended && block[k].d_tag != DT_NULL)
                goto out; /* something else follows */
            spare += ended;
            ended |= block[k].d_tag == DT_NULL;
            if (!ended)
                each(view, &block[k], d);
        }
    }
out:
    d->ended = ended;
    view->object->spare_dynamic = spare;
}

static const char *dynamic_string(struct elf_view *view, uint64_t offset, const char *what)
{
    const char *text;

    if (offset == NO_STRING)
        return NULL;
    text = view_string(view, offset);
    if (!text)
        view_problem(view, "%s is outside the string table or not ended", what);
    return text;
}

static void read_need(struct elf_view *view, const Elf64_Dyn *dyn, struct dynamic *d)
{
    struct object *o = view->object;
    enum need_kind kind = NEED_NEEDED;
    const char *name;

    if (dyn->d_tag == DT_AUXILIARY)
        kind = NEED_AUXILIARY;
    else if (dyn->d_tag == DT_FILTER)
        kind = NEED_FILTER;
    else if (dyn->d_tag != DT_NEEDED)
        return;
    if (o->n_needs == d->n_needs) /* the file changed since they were counted */
        return;
    name = dynamic_string(view, dyn->d_un.d_val, "a needed name");
    if (name)
        o->need[o->n_needs++] = (struct need){kind, name};
}

static void locate_strings(struct elf_view *view, const struct dynamic *d)
{
    uint64_t left;

    if (!d->has_strings || view->strings_size == 0 ||
        !view_offset(view, d->strings, &view->strings, &left)) {
        view->strings_size = 0;
        view_problem(view, "the string table is outside the file");
        return;
    }
    if (view->strings_size > left) {
        view_problem(view, "the string table is longer than its segment");
        view->strings_size = left;
    }
    if (view->strings > view->source->size ||
        view->strings_size > view->source->size - view->strings) {
        view_problem(view, "the string table is cut off");
        view->strings_size =
            view->strings < view->source->size ? view->source->size - view->strings : 0;
    }
}

static void read_dynamic(struct elf_view *view, const struct headers *headers)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    struct object *o = view->object;
    struct dynamic d = {NO_STRING, NO_STRING, NO_STRING, NO_STRING, NO_STRING, 0, 0, 0, 0, 0};
    uint64_t offset, left;
    size_t n;

    if (!headers->has_dynamic || headers->dynamic_filesz < size)
        return;
    o->has_dynamic = true;
    if (!view_offset(view, headers->dynamic_vaddr, &offset, &left)) {
        view_problem(view, "PT_DYNAMIC is in no loadable segment");
        return;
    }
    if (left > headers->dynamic_filesz)
        left = headers->dynamic_filesz;
    n = left / size < DYNAMIC_MAX ? (size_t)(left / size) : DYNAMIC_MAX;
    walk_dynamic(view, offset, n, read_dyn, &d);
    if (!d.ended)
        view_problem(view, "the dynamic section has no end");
    locate_strings(view, &d);
    o->need = arena_calloc(view->arena, d.n_needs, sizeof(*o->need));
    walk_dynamic(view, offset, n, read_need, &d);
    o->soname = dynamic_string(view, d.soname, "DT_SONAME");
    o->rpath = dynamic_string(view, d.rpath, "DT_RPATH");
    o->runpath = dynamic_string(view, d.runpath, "DT_RUNPATH");
    o->audit = dynamic_string(view, d.audit, "DT_AUDIT");
    o->depaudit = dynamic_string(view, d.depaudit, "DT_DEPAUDIT");
    elf_read_versions(view);
    elf_read_imports(view);
}

/* ---- section headers: traits only */

/* The end of the furthest section, and whether the code itself is missing (debug files). */
static bool walk_sections(struct elf_view *view, const Elf64_Ehdr *ehdr, uint64_t *ret_end,
                          bool *ret_hollow)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    Elf64_Shdr block[BLOCK];

    for (size_t i = 0, n; i < ehdr->e_shnum; i += n) {
        const unsigned char *bytes;

        n = ehdr->e_shnum - i < BLOCK ? ehdr->e_shnum - i : BLOCK;
        bytes = view_peek(view, SLOT_TABLE, ehdr->e_shoff + i * size, n * size,
                          (ehdr->e_shnum - i) * size);
        if (!bytes || !read_shdrs(view, bytes, n, block))
            return false;
        for (size_t k = 0; k < n; k++) {
            const Elf64_Shdr *s = &block[k];
            uint64_t end;

            if (s->sh_type == SHT_NOBITS) {
                *ret_hollow |= (s->sh_flags & code) == code;
                continue;
            }
            if (s->sh_type != SHT_NULL && !__builtin_add_overflow(s->sh_offset, s->sh_size, &end) &&
                end > *ret_end)
                *ret_end = end;
        }
    }
    return true;
}

static bool nothing_loaded(const struct elf_view *view)
{
    for (size_t i = 0; i < view->n_loads; i++)
        if (view->load[i].filesz)
            return false;
    return view->n_loads > 0;
}

/*
 * Bytes behind what the headers describe, and debug files. The section headers are read only when
 * the arithmetic of the ELF header leaves a question, which it seldom does: their table usually
 * ends the file.
 */
static void read_sections(struct elf_view *view, const Elf64_Ehdr *ehdr)
{
    struct object *o = view->object;
    uint64_t end, table_end;
    bool hollow = false;

    if (ehdr->e_shoff == 0 || ehdr->e_shnum == 0)
        o->layout |= LAYOUT_NO_SECTIONS;
    end = view->phdr_end;
    if (__builtin_add_overflow(ehdr->e_shoff, (uint64_t)ehdr->e_shnum * ehdr->e_shentsize,
                               &table_end))
        table_end = 0;
    if (table_end > end)
        end = table_end;
    if (ehdr->e_shentsize == (view->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) &&
        (end < o->size || o->problem) && !walk_sections(view, ehdr, &end, &hollow))
        view_problem(view, "section headers are outside the file");
    o->trailing = end < o->size ? o->size - end : 0;
    if (nothing_loaded(view) || hollow) {
        o->layout |= LAYOUT_DEBUG_ONLY;
        o->problem = NULL; /* what it lacks, it lacks on purpose */
    }
}

/* ---- what follows from the rest */

static void judge_layout(struct object *o)
{
    static const char farm[] = "/nix-support/stormlint/";
    const char *path = o->runpath ? o->runpath : o->rpath;
    const char *mark = path ? strstr(path, farm) : NULL;

    if (o->type == ET_EXEC && !o->interp && !o->has_dynamic)
        o->layout |= LAYOUT_STATIC;
    if (!o->interp && (o->flags_1 & DF_1_PIE))
        o->layout |= LAYOUT_STATIC_PIE;
    if (mark && !memchr(path, ':', (size_t)(mark - path)))
        o->layout |= LAYOUT_LIFTED;
}

static void read_ldso(struct elf_view *view)
{
    struct object *o = view->object;
    const unsigned char *bytes;

    if (!ldso_candidate(o) || o->size > LDSO_MAX)
        return;
    bytes = view_peek(view, SLOT_CONTENT, 0, (size_t)o->size, (size_t)o->size);
    if (bytes)
        o->ldso = ldso_read(view->arena, o, bytes, (size_t)o->size);
}

static void read_object(struct elf_view *view, const unsigned char *head, size_t len)
{
    struct headers headers = {0};
    Elf64_Ehdr ehdr;

    if (!read_header(view, head, len, &ehdr))
        return;
    read_program_headers(view, &ehdr, &headers);
    read_dynamic(view, &headers);
    read_sections(view, &ehdr);
    judge_layout(view->object);
    read_ldso(view);
}

int elf_read(const struct elf_source *source, struct arena *arena, const struct object **ret_object,
             struct err *err)
{
    struct elf_scratch *scratch = source->scratch ? source->scratch : elf_scratch_new();
    struct elf_view view = {.source = source, .scratch = scratch, .arena = arena};
    const size_t len =
        source->size < sizeof(Elf64_Ehdr) ? (size_t)source->size : sizeof(Elf64_Ehdr);
    const unsigned char *head;
    int r = 0;

    for (size_t i = 0; i < SLOTS; i++)
        scratch->window[i].len = 0;
    head = view_peek(&view, SLOT_TABLE, 0, len, len);
    if (!view.error && (!head || len < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)) {
        r = err_set(err, ENOEXEC, "not an ELF file");
    } else if (!view.error) {
        unsigned char copy[sizeof(Elf64_Ehdr)];

        memcpy(copy, head, len);
        (void)elf_version(EV_CURRENT);
        view.object = arena_alloc(arena, sizeof(*view.object));
        view.object->size = source->size;
        view.object->mode = source->mode;
        read_object(&view, copy, len);
    }
    if (view.error)
        r = err_set(err, view.error, "cannot read: %s", strerror(view.error));
    if (r == 0)
        *ret_object = view.object;
    if (!source->scratch)
        elf_scratch_free(scratch);
    return r;
}
