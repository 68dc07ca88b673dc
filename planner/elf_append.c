#include "planner/elf_layout.h"

#include <string.h>

enum { ITEM_ALIGN = 16 };

/* What is left of moved strings in ET_EXEC files: see add_sections(). */
static const char hole_section[] = ".dynstr.old";

enum { NAMES_MAX = 64, SECTIONS_MAX = N_ELF_NOTES + 1 }; /* of what is added */

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

/* ---- the segment's place */

static void add_moves(struct elf_layout *layout)
{
    const struct elf_file *f = layout->file;
    const struct elf_append *a = layout->append;
    const uint64_t entry = raw_dyn_size(&f->raw);
    const Elf64_Phdr *d = &f->phdr[f->dynamic];

    if (a->move_strings)
        layout->move[layout->n_moves++] = (struct move){
            .from = f->str_offset,
            .size = f->str_size,
            .from_addr = f->str_addr,
            .new_size = f->str_size + a->strings->grown.len,
            .grown = a->strings->grown.text,
        };
    if (a->dynamic)
        layout->move[layout->n_moves++] = (struct move){
            .from = d->p_offset,
            .size = d->p_filesz,
            .from_addr = d->p_vaddr,
            /* as many spare entries behind the terminator as there were */
            .new_size = (a->n_dyns + (f->dyn_slots - f->n_dyns)) * entry,
        };
}

static void place_segment(struct elf_layout *layout)
{
    struct elf_file *f = layout->file;
    uint64_t align = 4096, top = 0;

    for (size_t i = 0; i < f->n_phdrs; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_align > align)
            align = p->p_align;
        if (p->p_vaddr + p->p_memsz > top)
            top = p->p_vaddr + p->p_memsz;
    }
    layout->at = layout->end = align_up(layout->content, ITEM_ALIGN);
    layout->addr = align_up(top, align) + layout->at % align;
    for (size_t i = 0; i < layout->n_moves; i++) {
        struct move *m = &layout->move[i];

        /* alignment inside a displaced run stays what it was */
        layout->end = align_up(layout->end, ITEM_ALIGN) + m->from % ITEM_ALIGN;
        if (i >= layout->n_displaced)
            layout->end = align_up(layout->end, ITEM_ALIGN);
        m->to = layout->end;
        m->to_addr = layout->addr + (m->to - layout->at);
        layout->end += m->new_size;
    }
    for (size_t i = 0; i < N_ELF_NOTES; i++) {
        if (!layout->append->note[i].bytes)
            continue;
        layout->note_at[i] = align_up(layout->end, 8);
        layout->end = layout->note_at[i] + layout->append->note[i].size;
    }
    if (layout->names_at)
        layout->names_at = layout->end;
}

/* The section names' own section; NULL: the file has none that could move. */
static Elf64_Shdr *names_of(const struct elf_file *f)
{
    Elf64_Shdr *names = &f->shdr[f->ehdr.e_shstrndx];

    return names->sh_type == SHT_STRTAB && !(names->sh_flags & SHF_ALLOC) ? names : NULL;
}

/* At most so much when a name is added. */
static uint64_t names_size(const struct elf_file *f)
{
    const Elf64_Shdr *names = names_of(f);

    return (names ? names->sh_size : 0) + NAMES_MAX;
}

static bool reaches_behind(const struct elf_file *f, uint64_t at)
{
    for (size_t i = 0; i < f->n_phdrs; i++)
        if (f->phdr[i].p_filesz && f->phdr[i].p_offset + f->phdr[i].p_filesz > at)
            return true;
    for (size_t i = 1; i < f->n_shdrs; i++)
        if (i != f->ehdr.e_shstrndx && f->shdr[i].sh_type != SHT_NOBITS &&
            f->shdr[i].sh_offset + f->shdr[i].sh_size > at)
            return true;
    return false;
}

/*
 * Section headers at the end of the file are written anew behind the segment, and the section
 * names before them move with them. In ET_EXEC files a section must follow the segment: patchelf
 * looks for the one behind the last it replaces.
 */
static void cut_tail(struct elf_layout *layout)
{
    const struct elf_file *f = layout->file;
    const Elf64_Shdr *names = names_of(f);
    const uint64_t table = f->n_shdrs * raw_shdr_size(&f->raw);

    layout->content = f->raw.size;
    if (f->ehdr.e_shoff + table >= layout->content && !reaches_behind(f, f->ehdr.e_shoff))
        layout->content = f->ehdr.e_shoff;
    if (!names)
        return;
    if (names->sh_offset < layout->content &&
        names->sh_offset + names->sh_size <= layout->content &&
        !reaches_behind(f, names->sh_offset))
        layout->content = names->sh_offset;
    if (layout->content == names->sh_offset || f->ehdr.e_type == ET_EXEC ||
        elf_append_notes(layout->append))
        layout->names_at = 1;
}

/* ---- headers follow */

/* The move that takes a place along; NULL: it stays. */
static const struct move *move_of(const struct elf_layout *layout, uint64_t at, uint64_t size)
{
    for (size_t i = 0; i < layout->n_moves; i++) {
        const struct move *m = &layout->move[i];

        if (i < layout->n_displaced ? at >= m->from && at + size <= m->from + m->size
                                    : at == m->from && size == m->size)
            return m;
    }
    return NULL;
}

static void shift_phdrs(struct elf_layout *layout)
{
    struct elf_file *f = layout->file;
    const uint64_t grown = layout->n_new_phdrs * raw_phdr_size(&f->raw);

    for (size_t i = 0; i < f->n_phdrs; i++) {
        Elf64_Phdr *p = &f->phdr[i];
        const struct move *m = is_small_segment(p) || p->p_type == PT_DYNAMIC
                                   ? move_of(layout, p->p_offset, p->p_filesz)
                                   : NULL;

        if (p->p_type == PT_PHDR) {
            p->p_filesz += grown;
            p->p_memsz += grown;
        }
        if (!m)
            continue;
        p->p_vaddr = m->to_addr + (p->p_offset - m->from);
        p->p_paddr = p->p_vaddr;
        p->p_offset = m->to + (p->p_offset - m->from);
        if (p->p_type == PT_DYNAMIC)
            p->p_filesz = p->p_memsz = m->new_size;
    }
}

static void insert_phdr(struct elf_file *f, size_t at, const Elf64_Phdr *phdr)
{
    memmove(f->phdr + at + 1, f->phdr + at, (f->n_phdrs - at) * sizeof(*f->phdr));
    f->phdr[at] = *phdr;
    f->n_phdrs++;
    f->dynamic += f->dynamic >= at;
}

static uint64_t note_addr(const struct elf_layout *layout, size_t note)
{
    return layout->addr + (layout->note_at[note] - layout->at);
}

static void add_phdrs(struct elf_layout *layout)
{
    struct elf_file *f = layout->file;
    const uint64_t size = layout->end - layout->at;
    Elf64_Phdr load = {
        .p_type = PT_LOAD,
        .p_flags = PF_R | (layout->append->dynamic ? PF_W : 0),
        .p_offset = layout->at,
        .p_vaddr = layout->addr,
        .p_paddr = layout->addr,
        .p_filesz = size,
        .p_memsz = size,
        .p_align = 4096,
    };
    size_t last = 0;

    for (size_t i = 0; i < f->n_phdrs; i++) {
        if (f->phdr[i].p_type != PT_LOAD)
            continue;
        last = i;
        if (f->phdr[i].p_align > load.p_align)
            load.p_align = f->phdr[i].p_align;
    }
    insert_phdr(f, last + 1, &load);
    for (size_t i = 0; i < N_ELF_NOTES; i++) {
        const Elf64_Phdr note = {
            .p_type = PT_NOTE,
            .p_flags = PF_R,
            .p_offset = layout->note_at[i],
            .p_vaddr = note_addr(layout, i),
            .p_paddr = note_addr(layout, i),
            .p_filesz = layout->append->note[i].size,
            .p_memsz = layout->append->note[i].size,
            .p_align = 4,
        };

        if (layout->note_at[i])
            insert_phdr(f, f->n_phdrs, &note);
    }
}

/* Where an address is now. */
static uint64_t moved_address(const struct elf_layout *layout, uint64_t addr)
{
    for (size_t i = 0; i < layout->n_moves; i++) {
        const struct move *m = &layout->move[i];

        if (addr >= m->from_addr && addr - m->from_addr < m->size)
            return m->to_addr + (addr - m->from_addr);
    }
    return addr;
}

static void shift_tags(struct elf_layout *layout)
{
    struct elf_file *f = layout->file;

    for (size_t i = 0; i < N_ELF_TAGGED; i++) {
        Elf64_Dyn *d = elf_file_tag(f, elf_tagged[i].tag);

        if (d)
            d->d_un.d_ptr = moved_address(layout, d->d_un.d_ptr);
    }
}

/* ---- section headers */

static void shift_sections(const struct elf_layout *layout, struct elf_moved *moved)
{
    struct elf_file *f = layout->file;

    for (size_t i = 1; i < f->n_shdrs; i++) {
        Elf64_Shdr *s = &f->shdr[i];
        const struct move *m = NULL;

        if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && s->sh_size)
            m = move_of(layout, s->sh_offset, s->sh_size);
        if (!m)
            continue;
        moved[i].appended = true;
        moved[i].delta = m->to_addr - m->from_addr;
        s->sh_addr += moved[i].delta;
        s->sh_offset = m->to + (s->sh_offset - m->from);
        if (m >= layout->move + layout->n_displaced)
            s->sh_size = m->new_size;
    }
}

/* Add a section header; its name goes behind the others. */
static void add_section(const struct elf_layout *layout, const Elf64_Shdr *section,
                        const char *name)
{
    struct elf_file *f = layout->file;
    Elf64_Shdr *names = names_of(f), *added = &f->shdr[f->n_shdrs++];

    *added = *section;
    if (!names || !layout->names_at)
        return;
    added->sh_name = (Elf64_Word)names->sh_size;
    memcpy(f->raw.bytes + names->sh_offset + names->sh_size, name, strlen(name) + 1);
    names->sh_size += strlen(name) + 1;
}

/*
 * In ET_EXEC files patchelf makes room at the front, and puts the dynamic section there. Only when
 * that needs a new page is the page writable, as it must be; so a section it will not move stands
 * where the strings were, which leaves it less room than it needs.
 */
static void add_hole(const struct elf_layout *layout)
{
    const struct elf_file *f = layout->file;
    const uint64_t end =
        f->ehdr.e_phoff + (f->n_phdrs + layout->n_new_phdrs) * raw_phdr_size(&f->raw);
    const uint64_t skip = f->str_offset < end ? end - f->str_offset : 0;
    const Elf64_Shdr hole = {
        .sh_type = SHT_PROGBITS,
        .sh_flags = SHF_ALLOC,
        .sh_addr = f->str_addr + skip,
        .sh_offset = f->str_offset + skip,
        .sh_size = f->str_size - skip,
        .sh_addralign = 1,
    };

    if (skip < f->str_size)
        add_section(layout, &hole, hole_section);
}

static void add_sections(const struct elf_layout *layout, struct elf_moved *moved)
{
    const struct elf_file *f = layout->file;
    Elf64_Shdr *names = names_of(f);

    if (names && layout->names_at)
        names->sh_offset = layout->names_at;
    if (f->ehdr.e_type == ET_EXEC && layout->append->move_strings)
        add_hole(layout);
    for (size_t i = 0; i < N_ELF_NOTES; i++) {
        const Elf64_Shdr note = {
            .sh_type = SHT_NOTE,
            .sh_flags = SHF_ALLOC,
            .sh_addr = note_addr(layout, i),
            .sh_offset = layout->note_at[i],
            .sh_size = layout->append->note[i].size,
            .sh_addralign = 4,
        };

        if (!layout->note_at[i])
            continue;
        moved[f->n_shdrs].appended = true;
        add_section(layout, &note, elf_note_kind[i].section);
    }
}

/* ---- the new image */

static void copy_parts(const struct elf_layout *layout, unsigned char *to)
{
    const struct elf_file *f = layout->file;

    for (size_t i = 0; i < layout->n_moves; i++) {
        const struct move *m = &layout->move[i];
        const uint64_t keep = m->size < m->new_size ? m->size : m->new_size;

        memcpy(to + m->to, f->raw.bytes + m->from, keep);
        if (m->grown)
            memcpy(to + m->to + m->size, m->grown, m->new_size - m->size);
    }
    for (size_t i = 0; i < layout->n_moves; i++)
        memset(to + layout->move[i].from, 0, layout->move[i].size);
    for (size_t i = 0; i < N_ELF_NOTES; i++)
        if (layout->append->note[i].bytes)
            memcpy(to + layout->note_at[i], layout->append->note[i].bytes,
                   layout->append->note[i].size);
    if (layout->names_at) {
        const Elf64_Shdr *names = names_of(f);

        if (names->sh_offset < layout->content)
            memset(to + names->sh_offset, 0, names->sh_size);
        memcpy(to + layout->names_at, f->raw.bytes + names->sh_offset, names->sh_size);
    }
}

static void new_image(struct elf_layout *layout)
{
    struct elf_file *f = layout->file;
    const uint64_t table = f->n_shdrs * raw_shdr_size(&f->raw), old = f->ehdr.e_shoff;
    const uint64_t shoff = align_up(layout->end + (layout->names_at ? names_size(f) : 0), 8);
    const uint64_t size = shoff + (f->n_shdrs + SECTIONS_MAX) * raw_shdr_size(&f->raw);
    unsigned char *bytes = arena_alloc(f->arena, size);

    memcpy(bytes, f->raw.bytes, layout->content);
    if (old < layout->content)
        memset(bytes + old, 0, table < layout->content - old ? table : layout->content - old);
    copy_parts(layout, bytes);
    f->raw.bytes = bytes;
    f->raw.size = size;
    f->ehdr.e_shoff = shoff;
}

/* 32-bit files end before 4 GiB, and so do their addresses. */
static bool is_too_high(const struct elf_layout *layout)
{
    const struct elf_file *f = layout->file;
    const uint64_t rest = names_size(f) + 16 + (f->n_shdrs + SECTIONS_MAX) * sizeof(Elf32_Shdr);

    return !f->raw.is64 && (layout->addr + (layout->end - layout->at) > UINT32_MAX ||
                            layout->end + rest > UINT32_MAX);
}

int elf_append(struct elf_file *f, struct elf_append *append, struct err *err)
{
    struct elf_layout layout = {
        .file = f, .append = append, .n_new_phdrs = 1 + elf_append_notes(append)};
    struct elf_moved *moved;
    int r;

    if (f->n_shdrs == 0)
        return elf_refuse(err, "no-sections", "%s", "");
    r = elf_sections_check(f, err);
    if (r == 0)
        r = elf_make_room(&layout, err);
    if (r < 0)
        return r;
    cut_tail(&layout);
    add_moves(&layout);
    place_segment(&layout);
    if (is_too_high(&layout))
        return elf_refuse(err, "no-room", "the segment would end above 4 GiB");
    moved = arena_calloc(f->arena, f->n_shdrs + SECTIONS_MAX, sizeof(*moved));
    for (size_t i = 0; i < N_ELF_NOTES; i++)
        if (append->gone_section[i])
            moved[append->gone_section[i]].gone = true;
    new_image(&layout);
    shift_phdrs(&layout);
    shift_tags(&layout);
    shift_sections(&layout, moved);
    add_sections(&layout, moved);
    elf_sections_sort(f, moved);
    f->raw.size = f->ehdr.e_shoff + f->n_shdrs * raw_shdr_size(&f->raw);
    add_phdrs(&layout);
    for (size_t i = layout.n_displaced; i < layout.n_moves; i++) {
        if (append->move_strings && layout.move[i].from == f->str_offset) {
            f->str_offset = layout.move[i].to;
            f->str_addr = layout.move[i].to_addr;
        }
    }
    if (append->dynamic)
        f->dyn_slots = f->phdr[f->dynamic].p_filesz / raw_dyn_size(&f->raw);
    return 0;
}
