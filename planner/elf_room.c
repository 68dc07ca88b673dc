#include "planner/elf_layout.h"

const struct elf_tagged elf_tagged[N_ELF_TAGGED] = {
    {SHT_HASH, DT_HASH},         {SHT_GNU_HASH, DT_GNU_HASH}, {SHT_DYNSYM, DT_SYMTAB},
    {SHT_STRTAB, DT_STRTAB},     {SHT_GNU_versym, DT_VERSYM}, {SHT_GNU_verneed, DT_VERNEED},
    {SHT_GNU_verdef, DT_VERDEF},
};

static bool overlaps(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* May a section be moved? Only what headers or tags lead to, and nothing else. */
static bool movable(const struct elf_file *f, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOTE)
        return true;
    for (size_t i = 0; i < N_ELF_TAGGED; i++) {
        const Elf64_Dyn *d = elf_file_tag(f, elf_tagged[i].tag);

        if (s->sh_type == elf_tagged[i].type && d && d->d_un.d_ptr == s->sh_addr)
            return true;
    }
    for (size_t i = 0; i < f->n_phdrs; i++)
        if (f->phdr[i].p_type == PT_INTERP && f->phdr[i].p_offset == s->sh_offset)
            return true;
    return false;
}

/* Grow [*from, *to) until no section and no small segment is cut. */
static void close_range(const struct elf_file *f, uint64_t *from, uint64_t *to)
{
    const uint64_t headers = f->ehdr.e_phoff + f->n_phdrs * raw_phdr_size(&f->raw);
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < f->n_shdrs + f->n_phdrs; i++) {
            const bool section = i < f->n_shdrs;
            const Elf64_Shdr *s = &f->shdr[section ? i : 0];
            const Elf64_Phdr *p = &f->phdr[section ? 0 : i - f->n_shdrs];
            const uint64_t at = section ? s->sh_offset : p->p_offset;
            const uint64_t size = section ? s->sh_size : p->p_filesz;

            if (section ? !(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_NOBITS
                        : !is_small_segment(p))
                continue;
            /* patchelf 0.14 leaves PT_GNU_PROPERTY behind, under the headers */
            if (!section && p->p_type == PT_GNU_PROPERTY && at < headers)
                continue;
            if (size == 0 || !overlaps(*from, *to - *from, at, size) ||
                (at >= *from && at + size <= *to))
                continue;
            *from = at < *from ? at : *from;
            *to = at + size > *to ? at + size : *to;
            again = true;
        }
    }
}

/* What linkers leave between sections, and what patchelf writes over those it has moved. */
static bool is_filler(unsigned char byte)
{
    return byte == 0 || byte == 'X' || byte == 'Z';
}

/* The section in memory that covers a file offset; NULL: none. */
static const Elf64_Shdr *section_at(const struct elf_file *f, uint64_t at)
{
    for (size_t i = 1; i < f->n_shdrs; i++) {
        const Elf64_Shdr *s = &f->shdr[i];

        if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && at >= s->sh_offset &&
            at - s->sh_offset < s->sh_size)
            return s;
    }
    return NULL;
}

/* The address of a file range that one segment holds; UINT64_MAX: none does. */
static uint64_t address_of(const struct elf_file *f, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < f->n_phdrs; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type == PT_LOAD && from >= p->p_offset && to <= p->p_offset + p->p_filesz)
            return p->p_vaddr + (from - p->p_offset);
    }
    return UINT64_MAX;
}

static int displace(struct elf_layout *layout, uint64_t from, uint64_t to, struct err *err)
{
    const uint64_t addr = address_of(layout->file, from, to);

    if (from == to)
        return 0;
    if (addr == UINT64_MAX || layout->n_moves == MOVES_MAX / 2)
        return elf_refuse(err, "no-room", "what would move spans segments");
    layout->move[layout->n_moves++] =
        (struct move){.from = from, .size = to - from, .new_size = to - from, .from_addr = addr};
    layout->n_displaced = layout->n_moves;
    return 0;
}

/* A part that moves by itself, since its size changes: told to `append`. */
static bool moves_alone(struct elf_layout *layout, const Elf64_Shdr *s)
{
    const struct elf_file *f = layout->file;
    const Elf64_Phdr *dynamic = &f->phdr[f->dynamic];

    if (s->sh_offset == dynamic->p_offset && s->sh_size == dynamic->p_filesz)
        return layout->append->dynamic = true;
    if (s->sh_offset == f->str_offset && s->sh_size == f->str_size)
        return layout->append->move_strings = true;
    return false;
}

/*
 * Everything in the range must be movable sections, or filler. Neighbours move together and keep
 * their distances; the dynamic section and its strings move by themselves, and so end a run.
 */
static int displace_range(struct elf_layout *layout, uint64_t from, uint64_t to, struct err *err)
{
    const struct elf_file *f = layout->file;
    uint64_t run = from;
    int r = 0;

    for (uint64_t at = from; r == 0 && at < to;) {
        const Elf64_Shdr *s = section_at(f, at);

        if (!s && !is_filler(f->raw.bytes[at]))
            return elf_refuse(err, "no-room", "unknown bytes at offset %llu",
                              (unsigned long long)at);
        if (s && moves_alone(layout, s)) {
            r = displace(layout, run, at, err);
            run = s->sh_offset + s->sh_size;
        } else if (s && !movable(f, s)) {
            return elf_refuse(err, "no-room", "section %zu", (size_t)(s - f->shdr));
        }
        at = s ? s->sh_offset + s->sh_size : at + 1;
    }
    return r == 0 && run < to ? displace(layout, run, to, err) : r;
}

int elf_make_room(struct elf_layout *layout, struct err *err)
{
    const struct elf_file *f = layout->file;
    const uint64_t entry = raw_phdr_size(&f->raw);
    const uint64_t end = f->ehdr.e_phoff + f->n_phdrs * entry;
    uint64_t from = end, to = end + layout->n_new_phdrs * entry;

    if (!raw_fits(&f->raw, end, layout->n_new_phdrs, entry) ||
        address_of(f, f->ehdr.e_phoff, to) == UINT64_MAX)
        return elf_refuse(err, "no-room", "the program headers are not in a segment");
    close_range(f, &from, &to);
    if (from < end)
        return elf_refuse(err, "no-room", "the program headers overlap a section");
    return displace_range(layout, from, to, err);
}
