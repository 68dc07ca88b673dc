#include "planner/elf_file.h"

#include <string.h>

enum { ITEM_ALIGN = 16, MOVES_MAX = 64 };

/* A part of the file that moves into the new segment. */
struct move {
    uint64_t from, size; /* file offset and length where it was */
    uint64_t from_addr;
    uint64_t to, to_addr; /* where it goes */
    uint64_t new_size;    /* length there */
    const char *grown;    /* bytes behind the old ones; NULL: none */
};

struct plan {
    struct elf_file *file;
    struct elf_append *append;
    size_t n_new_phdrs;
    struct move move[MOVES_MAX];
    size_t n_moves;
    size_t n_displaced; /* the first moves: what made room for program headers */
    uint64_t content;   /* what is kept of the old file, bytes from its start */
    uint64_t at, addr;  /* of the segment */
    uint64_t end;       /* file offset behind its content */
    uint64_t note_at;   /* of a new note; 0: none */
    uint64_t names_at;  /* of the section names when they move, behind the segment; 0: they stay */
};

/* The section of a resolution note is called as patchelf calls it, which knows it by that. */
static const char note_section[] = ".note.nixos.ldcache";

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

static bool overlaps(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* ---- room for program headers */

/* Sections that are found through a dynamic tag alone. */
static const struct {
    uint32_t type;
    int64_t tag;
} tagged[] = {
    {SHT_HASH, DT_HASH},         {SHT_GNU_HASH, DT_GNU_HASH}, {SHT_DYNSYM, DT_SYMTAB},
    {SHT_STRTAB, DT_STRTAB},     {SHT_GNU_versym, DT_VERSYM}, {SHT_GNU_verneed, DT_VERNEED},
    {SHT_GNU_verdef, DT_VERDEF},
};

/* May a section be moved? Only what headers or tags lead to, and nothing else. */
static bool movable(const struct elf_file *f, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOTE)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(tagged); i++) {
        const Elf64_Dyn *d = elf_file_tag(f, tagged[i].tag);

        if (s->sh_type == tagged[i].type && d && d->d_un.d_ptr == s->sh_addr)
            return true;
    }
    for (size_t i = 0; i < f->n_phdrs; i++)
        if (f->phdr[i].p_type == PT_INTERP && f->phdr[i].p_offset == s->sh_offset)
            return true;
    return false;
}

static bool is_small_segment(const Elf64_Phdr *p)
{
    return p->p_type == PT_INTERP || p->p_type == PT_NOTE || p->p_type == PT_GNU_PROPERTY;
}

/* Grow [*from, *to) until no section and no small segment is cut. */
static void close_range(const struct elf_file *f, uint64_t *from, uint64_t *to)
{
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

static int displace(struct plan *plan, uint64_t from, uint64_t to, struct err *err)
{
    const uint64_t addr = address_of(plan->file, from, to);

    if (from == to)
        return 0;
    if (addr == UINT64_MAX || plan->n_moves == MOVES_MAX / 2)
        return elf_refuse(err, "no-room", "what would move spans segments");
    plan->move[plan->n_moves++] =
        (struct move){.from = from, .size = to - from, .new_size = to - from, .from_addr = addr};
    plan->n_displaced = plan->n_moves;
    return 0;
}

/* A part that moves by itself, since its size changes: told to `append`. */
static bool moves_alone(struct plan *plan, const Elf64_Shdr *s)
{
    const struct elf_file *f = plan->file;
    const Elf64_Phdr *dynamic = &f->phdr[f->dynamic];

    if (s->sh_offset == dynamic->p_offset && s->sh_size == dynamic->p_filesz)
        return plan->append->dynamic = true;
    if (s->sh_offset == f->str_offset && s->sh_size == f->str_size)
        return plan->append->move_strings = true;
    return false;
}

/*
 * Everything in the range must be movable sections, or filler. Neighbours move together and keep
 * their distances; the dynamic section and its strings move by themselves, and so end a run.
 */
static int displace_range(struct plan *plan, uint64_t from, uint64_t to, struct err *err)
{
    const struct elf_file *f = plan->file;
    uint64_t run = from;
    int r = 0;

    for (uint64_t at = from; r == 0 && at < to;) {
        const Elf64_Shdr *s = section_at(f, at);

        if (!s && !is_filler(f->raw.bytes[at]))
            return elf_refuse(err, "no-room", "unknown bytes at offset %llu",
                              (unsigned long long)at);
        if (s && moves_alone(plan, s)) {
            r = displace(plan, run, at, err);
            run = s->sh_offset + s->sh_size;
        } else if (s && !movable(f, s)) {
            return elf_refuse(err, "no-room", "section %zu", (size_t)(s - f->shdr));
        }
        at = s ? s->sh_offset + s->sh_size : at + 1;
    }
    return r == 0 && run < to ? displace(plan, run, to, err) : r;
}

static int make_room(struct plan *plan, struct err *err)
{
    const struct elf_file *f = plan->file;
    const uint64_t entry = raw_phdr_size(&f->raw);
    const uint64_t end = f->ehdr.e_phoff + f->n_phdrs * entry;
    uint64_t from = end, to = end + plan->n_new_phdrs * entry;

    if (!raw_fits(&f->raw, end, plan->n_new_phdrs, entry) ||
        address_of(f, f->ehdr.e_phoff, to) == UINT64_MAX)
        return elf_refuse(err, "no-room", "the program headers are not in a segment");
    close_range(f, &from, &to);
    if (from < end)
        return elf_refuse(err, "no-room", "the program headers overlap a section");
    return displace_range(plan, from, to, err);
}

/* ---- the segment's place */

static void add_moves(struct plan *plan)
{
    const struct elf_file *f = plan->file;
    const struct elf_append *a = plan->append;
    const uint64_t entry = raw_dyn_size(&f->raw);
    const Elf64_Phdr *d = &f->phdr[f->dynamic];

    if (a->move_strings)
        plan->move[plan->n_moves++] = (struct move){
            .from = f->str_offset,
            .size = f->str_size,
            .from_addr = f->str_addr,
            .new_size = f->str_size + a->strings->grown.len,
            .grown = a->strings->grown.text,
        };
    if (a->dynamic)
        plan->move[plan->n_moves++] = (struct move){
            .from = d->p_offset,
            .size = d->p_filesz,
            .from_addr = d->p_vaddr,
            /* as many spare entries behind the terminator as there were */
            .new_size = (a->n_dyns + (f->dyn_slots - f->n_dyns)) * entry,
        };
}

static void place_segment(struct plan *plan)
{
    struct elf_file *f = plan->file;
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
    plan->at = plan->end = align_up(plan->content, ITEM_ALIGN);
    plan->addr = align_up(top, align) + plan->at % align;
    for (size_t i = 0; i < plan->n_moves; i++) {
        struct move *m = &plan->move[i];

        /* alignment inside a displaced run stays what it was */
        plan->end = align_up(plan->end, ITEM_ALIGN) + m->from % ITEM_ALIGN;
        if (i >= plan->n_displaced)
            plan->end = align_up(plan->end, ITEM_ALIGN);
        m->to = plan->end;
        m->to_addr = plan->addr + (m->to - plan->at);
        plan->end += m->new_size;
    }
    if (plan->append->note) {
        plan->note_at = align_up(plan->end, 8);
        plan->end = plan->note_at + plan->append->note_size;
    }
    if (plan->names_at)
        plan->names_at = plan->end;
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

    return (names ? names->sh_size : 0) + sizeof(note_section);
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
static void cut_tail(struct plan *plan)
{
    const struct elf_file *f = plan->file;
    const Elf64_Shdr *names = names_of(f);
    const uint64_t table = f->n_shdrs * raw_shdr_size(&f->raw);

    plan->content = f->raw.size;
    if (f->ehdr.e_shoff + table >= plan->content && !reaches_behind(f, f->ehdr.e_shoff))
        plan->content = f->ehdr.e_shoff;
    if (!names)
        return;
    if (names->sh_offset < plan->content && names->sh_offset + names->sh_size <= plan->content &&
        !reaches_behind(f, names->sh_offset))
        plan->content = names->sh_offset;
    if (plan->content == names->sh_offset || f->ehdr.e_type == ET_EXEC || plan->append->note)
        plan->names_at = 1;
}

/* ---- headers follow */

/* The move that takes a place along; NULL: it stays. */
static const struct move *move_of(const struct plan *plan, uint64_t at, uint64_t size)
{
    for (size_t i = 0; i < plan->n_moves; i++) {
        const struct move *m = &plan->move[i];

        if (i < plan->n_displaced ? at >= m->from && at + size <= m->from + m->size
                                  : at == m->from && size == m->size)
            return m;
    }
    return NULL;
}

static void shift_phdrs(struct plan *plan)
{
    struct elf_file *f = plan->file;
    const uint64_t grown = plan->n_new_phdrs * raw_phdr_size(&f->raw);

    for (size_t i = 0; i < f->n_phdrs; i++) {
        Elf64_Phdr *p = &f->phdr[i];
        const struct move *m = is_small_segment(p) || p->p_type == PT_DYNAMIC
                                   ? move_of(plan, p->p_offset, p->p_filesz)
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

static uint64_t note_addr(const struct plan *plan)
{
    return plan->addr + (plan->note_at - plan->at);
}

static void add_phdrs(struct plan *plan)
{
    struct elf_file *f = plan->file;
    const uint64_t size = plan->end - plan->at;
    Elf64_Phdr load = {
        .p_type = PT_LOAD,
        .p_flags = PF_R | (plan->append->dynamic ? PF_W : 0),
        .p_offset = plan->at,
        .p_vaddr = plan->addr,
        .p_paddr = plan->addr,
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
    if (plan->note_at)
        insert_phdr(f, f->n_phdrs,
                    &(Elf64_Phdr){
                        .p_type = PT_NOTE,
                        .p_flags = PF_R,
                        .p_offset = plan->note_at,
                        .p_vaddr = note_addr(plan),
                        .p_paddr = note_addr(plan),
                        .p_filesz = plan->append->note_size,
                        .p_memsz = plan->append->note_size,
                        .p_align = 4,
                    });
}

/* Where an address is now. */
static uint64_t moved_address(const struct plan *plan, uint64_t addr)
{
    for (size_t i = 0; i < plan->n_moves; i++) {
        const struct move *m = &plan->move[i];

        if (addr >= m->from_addr && addr - m->from_addr < m->size)
            return m->to_addr + (addr - m->from_addr);
    }
    return addr;
}

static void shift_tags(struct plan *plan)
{
    struct elf_file *f = plan->file;

    for (size_t i = 0; i < ARRAY_LEN(tagged); i++) {
        Elf64_Dyn *d = elf_file_tag(f, tagged[i].tag);

        if (d)
            d->d_un.d_ptr = moved_address(plan, d->d_un.d_ptr);
    }
}

/* ---- section headers */

static void shift_sections(const struct plan *plan, struct elf_moved *moved)
{
    struct elf_file *f = plan->file;

    for (size_t i = 1; i < f->n_shdrs; i++) {
        Elf64_Shdr *s = &f->shdr[i];
        const struct move *m = NULL;

        if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && s->sh_size)
            m = move_of(plan, s->sh_offset, s->sh_size);
        if (!m)
            continue;
        moved[i].appended = true;
        moved[i].delta = m->to_addr - m->from_addr;
        s->sh_addr += moved[i].delta;
        s->sh_offset = m->to + (s->sh_offset - m->from);
        if (m >= plan->move + plan->n_displaced)
            s->sh_size = m->new_size;
    }
}

static void add_sections(const struct plan *plan, struct elf_moved *moved)
{
    struct elf_file *f = plan->file;
    Elf64_Shdr *names = names_of(f);

    if (names && plan->names_at)
        names->sh_offset = plan->names_at;
    if (!plan->note_at)
        return;
    moved[f->n_shdrs].appended = true;
    f->shdr[f->n_shdrs++] = (Elf64_Shdr){
        .sh_name = names ? (Elf64_Word)names->sh_size : 0,
        .sh_type = SHT_NOTE,
        .sh_flags = SHF_ALLOC,
        .sh_addr = note_addr(plan),
        .sh_offset = plan->note_at,
        .sh_size = plan->append->note_size,
        .sh_addralign = 4,
    };
    if (names)
        names->sh_size += sizeof(note_section);
}

/* ---- the new image */

static void copy_parts(const struct plan *plan, unsigned char *to)
{
    const struct elf_file *f = plan->file;

    for (size_t i = 0; i < plan->n_moves; i++) {
        const struct move *m = &plan->move[i];
        const uint64_t keep = m->size < m->new_size ? m->size : m->new_size;

        memcpy(to + m->to, f->raw.bytes + m->from, keep);
        if (m->grown)
            memcpy(to + m->to + m->size, m->grown, m->new_size - m->size);
    }
    for (size_t i = 0; i < plan->n_moves; i++)
        memset(to + plan->move[i].from, 0, plan->move[i].size);
    if (plan->append->note)
        memcpy(to + plan->note_at, plan->append->note, plan->append->note_size);
    if (plan->names_at) {
        const Elf64_Shdr *names = names_of(f);

        if (names->sh_offset < plan->content)
            memset(to + names->sh_offset, 0, names->sh_size);
        memcpy(to + plan->names_at, f->raw.bytes + names->sh_offset, names->sh_size);
        if (plan->note_at)
            memcpy(to + plan->names_at + names->sh_size, note_section, sizeof(note_section));
    }
}

static void new_image(struct plan *plan)
{
    struct elf_file *f = plan->file;
    const uint64_t table = f->n_shdrs * raw_shdr_size(&f->raw), old = f->ehdr.e_shoff;
    const uint64_t shoff = align_up(plan->end + (plan->names_at ? names_size(f) : 0), 8);
    const uint64_t size = shoff + (f->n_shdrs + 1) * raw_shdr_size(&f->raw);
    unsigned char *bytes = arena_alloc(f->arena, size);

    memcpy(bytes, f->raw.bytes, plan->content);
    if (old < plan->content)
        memset(bytes + old, 0, table < plan->content - old ? table : plan->content - old);
    copy_parts(plan, bytes);
    f->raw.bytes = bytes;
    f->raw.size = size;
    f->ehdr.e_shoff = shoff;
}

/* 32-bit files end before 4 GiB, and so do their addresses. */
static bool is_too_high(const struct plan *plan)
{
    const struct elf_file *f = plan->file;
    const uint64_t rest = names_size(f) + 16 + (f->n_shdrs + 1) * sizeof(Elf32_Shdr);

    return !f->raw.is64 &&
           (plan->addr + (plan->end - plan->at) > UINT32_MAX || plan->end + rest > UINT32_MAX);
}

int elf_append(struct elf_file *f, struct elf_append *append, struct err *err)
{
    struct plan plan = {.file = f, .append = append, .n_new_phdrs = append->note ? 2 : 1};
    struct elf_moved *moved;
    int r;

    if (f->n_shdrs == 0)
        return elf_refuse(err, "no-sections", "%s", "");
    r = elf_sections_check(f, err);
    if (r == 0)
        r = make_room(&plan, err);
    if (r < 0)
        return r;
    cut_tail(&plan);
    add_moves(&plan);
    place_segment(&plan);
    if (is_too_high(&plan))
        return elf_refuse(err, "no-room", "the segment would end above 4 GiB");
    moved = arena_calloc(f->arena, f->n_shdrs + 1, sizeof(*moved));
    moved[append->gone_section].gone = append->gone_section != 0;
    new_image(&plan);
    shift_phdrs(&plan);
    shift_tags(&plan);
    shift_sections(&plan, moved);
    add_sections(&plan, moved);
    elf_sections_sort(f, moved);
    f->raw.size = f->ehdr.e_shoff + f->n_shdrs * raw_shdr_size(&f->raw);
    add_phdrs(&plan);
    for (size_t i = plan.n_displaced; i < plan.n_moves; i++) {
        if (append->move_strings && plan.move[i].from == f->str_offset) {
            f->str_offset = plan.move[i].to;
            f->str_addr = plan.move[i].to_addr;
        }
    }
    if (append->dynamic)
        f->dyn_slots = f->phdr[f->dynamic].p_filesz / raw_dyn_size(&f->raw);
    return 0;
}
