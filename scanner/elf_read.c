#include "scanner/elf_read.h"

#include "scanner/elf_view.h"
#include "scanner/ldso.h"

#include <errno.h>
#include <libelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOADS_MAX = 4096,    /* PT_LOAD segments looked at */
    NAMES_BEFORE = 512,  /* bytes of names that are hoped for before the section headers */
    LDSO_MAX = 16 << 20, /* a loader file is read whole, up to this size */
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

bool elf_dyns(const struct elf_view *view, const unsigned char *bytes, size_t n, Elf64_Dyn *ret)
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
                        .e_flags = h.e_flags,
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
        ret[i] = (Elf64_Shdr){.sh_name = narrow[i].sh_name,
                              .sh_type = narrow[i].sh_type,
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
    o->machine_flags = ehdr->e_flags;
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
    view->load[view->n_loads++] =
        (struct segment){phdr->p_offset, phdr->p_vaddr, phdr->p_filesz, phdr->p_flags};
    if (phdr->p_align > o->load_align)
        o->load_align = phdr->p_align;
}

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
    case PT_PHDR:
        headers->has_phdr = true;
        headers->phdr_vaddr = phdr->p_vaddr;
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

/*
 * Early editors moved the program headers to the end of the file, and lose them when they run
 * again; strip may leave PT_PHDR where nothing is loaded.
 */
static bool headers_moved(const struct elf_view *view, const Elf64_Ehdr *ehdr,
                          const struct headers *headers)
{
    uint64_t offset, left;

    return ehdr->e_phoff != (view->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)) ||
           (headers->has_phdr && !view_offset(view, headers->phdr_vaddr, &offset, &left));
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
    if (headers_moved(view, ehdr, headers))
        view->object->layout |= LAYOUT_MOVED;
}

/* ---- section headers: traits only */

/* What a pass over the section headers tells. */
struct sections {
    uint64_t names, names_size; /* file offset of their names; size 0: unknown */
    uint64_t end;               /* of the furthest one in the file */
    uint64_t last;              /* file offset of the last one that is loaded */
    bool hollow;                /* the code has no bytes here: a debug file */
};

enum { SECTION_NAME = 32 }; /* bytes of a name that are looked at */

/* The name of a section, cut off; "" when there is none. */
static const char *section_name(struct elf_view *view, const struct sections *sections,
                                const Elf64_Shdr *s, char ret_name[SECTION_NAME])
{
    const uint64_t left = s->sh_name < sections->names_size ? sections->names_size - s->sh_name : 0;
    const size_t len = left < SECTION_NAME - 1 ? (size_t)left : SECTION_NAME - 1;
    const unsigned char *bytes =
        len ? view_peek(view, SLOT_NAME, sections->names + s->sh_name, len, (size_t)left) : NULL;

    memset(ret_name, 0, SECTION_NAME);
    if (bytes)
        memcpy(ret_name, bytes, len);
    return ret_name;
}

/* Constants, if not tables for unwinding: these are constants too, large ones, and hold no text. */
static bool is_constants(const Elf64_Shdr *s, const char *name)
{
    return s->sh_type == SHT_PROGBITS &&
           (s->sh_flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE)) == SHF_ALLOC &&
           strncmp(name, ".eh_frame", 9) != 0 && strncmp(name, ".gcc_except_table", 17) != 0;
}

/* A section of notes for loaders, which go by segments: is it what they will see? */
static void judge_notes(struct elf_view *view, const Elf64_Shdr *s, const char *name)
{
    bool seen = false;

    for (size_t i = 0; i < view->n_notes; i++)
        seen |= s->sh_offset >= view->note[i].offset &&
                s->sh_offset - view->note[i].offset <= view->note[i].size &&
                s->sh_size <= view->note[i].size - (s->sh_offset - view->note[i].offset);
    if (!seen)
        view->object->layout |= LAYOUT_NOTE_UNSEEN;
    if (!elf_note_fits(view, name, s->sh_offset, s->sh_size))
        view->object->layout |= LAYOUT_NOTE_ODD;
}

static void read_shdr(struct elf_view *view, const Elf64_Shdr *s, struct sections *sections)
{
    const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    char buffer[SECTION_NAME];
    const char *name;
    uint64_t end;

    if (s->sh_type == SHT_NOBITS) {
        sections->hollow |= (s->sh_flags & code) == code;
        return;
    }
    if (s->sh_type == SHT_NULL || __builtin_add_overflow(s->sh_offset, s->sh_size, &end))
        return;
    if (end > sections->end)
        sections->end = end;
    if (s->sh_flags & SHF_ALLOC && s->sh_size) {
        if (s->sh_offset < sections->last)
            view->object->layout |= LAYOUT_UNSORTED;
        sections->last = s->sh_offset;
    }
    name = section_name(view, sections, s, buffer);
    if (elf_is_note_section(name))
        judge_notes(view, s, name);
    if (view->n_constants < CONSTANTS_MAX && is_constants(s, name))
        view->constant[view->n_constants++] = (struct range){s->sh_offset, s->sh_size};
}

/* Where the section names are; nowhere when that cannot be read. */
static void locate_names(struct elf_view *view, const Elf64_Ehdr *ehdr, struct sections *sections)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    const unsigned char *bytes;
    Elf64_Shdr s;

    if (ehdr->e_shstrndx >= ehdr->e_shnum)
        return;
    bytes = view_peek(view, SLOT_TABLE, ehdr->e_shoff + ehdr->e_shstrndx * size, size, size);
    if (!bytes || !read_shdrs(view, bytes, 1, &s))
        return;
    sections->names = s.sh_offset;
    sections->names_size = s.sh_size;
}

static bool walk_sections(struct elf_view *view, const Elf64_Ehdr *ehdr, struct sections *sections)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    Elf64_Shdr block[BLOCK];

    for (size_t i = 0, n; i < ehdr->e_shnum; i += n) {
        const unsigned char *bytes;

        n = ehdr->e_shnum - i < BLOCK ? ehdr->e_shnum - i : BLOCK;
        bytes = view_peek(view, SLOT_TABLE, ehdr->e_shoff + i * size, n * size,
                          (ehdr->e_shnum - i) * size);
        if (!bytes || !read_shdrs(view, bytes, n, block))
            return false;
        for (size_t k = 0; k < n; k++)
            read_shdr(view, &block[k], sections);
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
 * Bytes behind what the headers describe, debug files, where constants stand, and what editors
 * stumble over. The names usually stand just before the table, which usually ends the file: one
 * read.
 */
static void read_sections(struct elf_view *view, const Elf64_Ehdr *ehdr)
{
    const size_t size = view->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    struct object *o = view->object;
    struct sections sections = {.end = view->phdr_end};
    uint64_t end;

    if (ehdr->e_shoff == 0 || ehdr->e_shnum == 0) {
        o->layout |= LAYOUT_NO_SECTIONS;
    } else if (ehdr->e_shentsize != size ||
               __builtin_add_overflow(ehdr->e_shoff, ehdr->e_shnum * size, &end) || end > o->size) {
        view_problem(view, "section headers are outside the file");
    } else {
        const uint64_t before = ehdr->e_shoff < NAMES_BEFORE ? ehdr->e_shoff : NAMES_BEFORE;

        if (end > sections.end)
            sections.end = end;
        (void)view_peek(view, SLOT_TABLE, ehdr->e_shoff - before, 1,
                        (size_t)(before + ehdr->e_shnum * size));
        locate_names(view, ehdr, &sections);
        if (!walk_sections(view, ehdr, &sections))
            view_problem(view, "section headers cannot be read");
    }
    o->trailing = sections.end < o->size ? o->size - sections.end : 0;
    if (nothing_loaded(view) || sections.hollow) {
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
    elf_read_dynamic(view, &headers);
    read_sections(view, &ehdr);
    if (view->object->imports & IMPORT_LOADERS)
        elf_read_constants(view);
    if (view->source->names)
        elf_read_names(view);
    judge_layout(view->object);
    read_ldso(view);
}

int elf_read(const struct elf_source *source, struct arena *arena, const struct object **ret_object,
             struct err *err)
{
    struct elf_scratch *scratch = source->scratch ? source->scratch : elf_scratch_new();
    struct elf_view view = {.source = source,
                            .scratch = scratch,
                            .arena = arena,
                            .notes_left = NOTES_MAX,
                            .text_left = TEXT_MAX};
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
