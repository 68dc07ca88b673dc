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
    uint64_t at, addr;  /* of the segment */
    uint64_t end;       /* file offset behind its content */
    uint64_t note_at;   /* of a new note; 0: none */
};

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

static bool overlaps(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* ---- room for program headers */

/* May a section be moved? Only what headers or tags lead to, and nothing else. */
static bool movable(const struct elf_file *f, const Elf64_Shdr *s)
{
    const Elf64_Dyn *hash = elf_file_tag(f, DT_HASH), *gnu = elf_file_tag(f, DT_GNU_HASH);

    if (s->sh_type == SHT_NOTE)
        return true;
    if (s->sh_type == SHT_GNU_HASH)
        return gnu && gnu->d_un.d_ptr == s->sh_addr;
    if (s->sh_type == SHT_HASH)
        return hash && hash->d_un.d_ptr == s->sh_addr;
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

/*
 * Everything in the range must be movable sections, or filler. Neighbours move together and keep
 * their distances; the dynamic section moves by itself, and so ends a run.
 */
static int displace_range(struct plan *plan, uint64_t from, uint64_t to, struct err *err)
{
    const struct elf_file *f = plan->file;
    const Elf64_Phdr *dynamic = &f->phdr[f->dynamic];
    uint64_t run = from;
    int r = 0;

    for (uint64_t at = from; r == 0 && at < to;) {
        const Elf64_Shdr *s = section_at(f, at);

        if (!s && !is_filler(f->raw.bytes[at]))
            return elf_refuse(err, "no-room", "unknown bytes at offset %llu",
                              (unsigned long long)at);
        if (s && s->sh_offset == dynamic->p_offset && s->sh_size == dynamic->p_filesz) {
            plan->append->dynamic = true;
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

    if (a->strings)
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
    uint64_t align = 4096, top = 0, content = f->raw.size;

    for (size_t i = 0; i < f->n_phdrs; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_align > align)
            align = p->p_align;
        if (p->p_vaddr + p->p_memsz > top)
            top = p->p_vaddr + p->p_memsz;
    }
    /* section headers at the end of the file are written anew behind the segment */
    if (f->ehdr.e_shoff + f->n_shdrs * raw_shdr_size(&f->raw) == content)
        content = f->ehdr.e_shoff;
    plan->at = plan->end = align_up(content, ITEM_ALIGN);
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
    if (plan->note_at) {
        const uint64_t addr = plan->addr + (plan->note_at - plan->at);
        const Elf64_Phdr note = {
            .p_type = PT_NOTE,
            .p_flags = PF_R,
            .p_offset = plan->note_at,
            .p_vaddr = addr,
            .p_paddr = addr,
            .p_filesz = plan->append->note_size,
            .p_memsz = plan->append->note_size,
            .p_align = 4,
        };

        insert_phdr(f, f->n_phdrs, &note);
    }
}

static void shift_tags(struct plan *plan)
{
    static const int64_t tags[] = {DT_HASH, DT_GNU_HASH};
    struct elf_file *f = plan->file;
    const int64_t *tag;

    for_each (tag, tags) {
        Elf64_Dyn *d = elf_file_tag(f, *tag);
        const uint64_t addr = d ? d->d_un.d_ptr : 0;

        for (size_t i = 0; d && i < plan->n_displaced; i++) {
            const struct move *m = &plan->move[i];

            if (addr >= m->from_addr && addr - m->from_addr < m->size)
                d->d_un.d_ptr = m->to_addr + (addr - m->from_addr);
        }
    }
}

/* ---- section headers */

struct order {
    const struct elf_file *file;
    size_t *old;     /* old number, by new number */
    size_t *now;     /* new number, by old number */
    uint64_t *delta; /* by old number: how far its addresses move */
};

static int sections_are_plain(const struct elf_file *f, struct err *err)
{
    for (size_t i = 0; i < f->n_shdrs; i++)
        if (f->shdr[i].sh_type == SHT_GROUP || f->shdr[i].sh_type == SHT_SYMTAB_SHNDX)
            return elf_refuse(err, "section-group", "section %zu", i);
    return 0;
}

static void shift_sections(const struct plan *plan, struct order *order)
{
    struct elf_file *f = plan->file;

    for (size_t i = 1; i < f->n_shdrs; i++) {
        Elf64_Shdr *s = &f->shdr[i];
        const struct move *m = NULL;

        if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && s->sh_size)
            m = move_of(plan, s->sh_offset, s->sh_size);
        if (!m)
            continue;
        order->delta[i] = m->to_addr - m->from_addr;
        s->sh_addr += order->delta[i];
        s->sh_offset = m->to + (s->sh_offset - m->from);
        if (m >= plan->move + plan->n_displaced)
            s->sh_size = m->new_size;
    }
}

/* New numbers: sections in memory that stay, those that moved by address, the rest. */
static void number_sections(struct order *order)
{
    const struct elf_file *f = order->file;
    size_t n = 0;

    for (int pass = 0; pass < 3; pass++) {
        const size_t first = n;

        for (size_t i = 0; i < f->n_shdrs; i++) {
            const bool alloc = f->shdr[i].sh_flags & SHF_ALLOC || i == 0;
            size_t at = n;

            if (pass != (alloc ? (order->delta[i] ? 1 : 0) : 2))
                continue;
            while (pass == 1 && at > first &&
                   f->shdr[order->old[at - 1]].sh_addr > f->shdr[i].sh_addr) {
                order->old[at] = order->old[at - 1];
                at--;
            }
            order->old[at] = i;
            n++;
        }
    }
    for (size_t i = 0; i < n; i++)
        order->now[order->old[i]] = i;
}

/* Symbols name sections by number, and those in moved sections have moved. */
static void renumber_symbols(const struct order *order, const Elf64_Shdr *table)
{
    const struct raw *raw = &order->file->raw;
    const uint64_t entry = raw_sym_size(raw);

    for (uint64_t at = 0; at + entry <= table->sh_size; at += entry) {
        Elf64_Sym sym = raw_sym(raw, table->sh_offset + at);
        const size_t section = sym.st_shndx;

        if (section == SHN_UNDEF || section >= order->file->n_shdrs)
            continue;
        if (ELF64_ST_TYPE(sym.st_info) != STT_TLS)
            sym.st_value += order->delta[section];
        sym.st_shndx = (Elf64_Half)order->now[section];
        raw_put_sym(raw, table->sh_offset + at, &sym);
    }
}

static void renumber_sections(struct elf_file *f, const struct order *order)
{
    Elf64_Shdr *sorted = arena_calloc(f->arena, f->n_shdrs, sizeof(*sorted));

    for (size_t i = 0; i < f->n_shdrs; i++) {
        Elf64_Shdr *s = &sorted[i];

        *s = f->shdr[order->old[i]];
        if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
            renumber_symbols(order, s);
        if (s->sh_link < f->n_shdrs)
            s->sh_link = (Elf64_Word)order->now[s->sh_link];
        if ((s->sh_type == SHT_REL || s->sh_type == SHT_RELA || s->sh_flags & SHF_INFO_LINK) &&
            s->sh_info < f->n_shdrs)
            s->sh_info = (Elf64_Word)order->now[s->sh_info];
    }
    f->ehdr.e_shstrndx = (Elf64_Half)order->now[f->ehdr.e_shstrndx];
    f->shdr = sorted;
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
    if (plan->append->note)
        memcpy(to + plan->note_at, plan->append->note, plan->append->note_size);
    for (size_t i = 0; i < plan->n_moves; i++)
        memset(to + plan->move[i].from, 0, plan->move[i].size);
}

static void new_image(struct plan *plan)
{
    struct elf_file *f = plan->file;
    const uint64_t shoff = align_up(plan->end, 8);
    const uint64_t size = shoff + f->n_shdrs * raw_shdr_size(&f->raw);
    unsigned char *bytes = arena_alloc(f->arena, size);
    const uint64_t keep = plan->at < f->raw.size ? plan->at : f->raw.size;

    memcpy(bytes, f->raw.bytes, keep);
    if (f->ehdr.e_shoff < keep) /* the old section headers */
        memset(bytes + f->ehdr.e_shoff, 0,
               keep - f->ehdr.e_shoff < f->n_shdrs * raw_shdr_size(&f->raw)
                   ? keep - f->ehdr.e_shoff
                   : f->n_shdrs * raw_shdr_size(&f->raw));
    copy_parts(plan, bytes);
    f->raw.bytes = bytes;
    f->raw.size = size;
    f->ehdr.e_shoff = shoff;
}

int elf_append(struct elf_file *f, struct elf_append *append, struct err *err)
{
    struct plan plan = {.file = f, .append = append, .n_new_phdrs = append->note ? 2 : 1};
    struct order order = {.file = f};
    int r;

    if (f->n_shdrs == 0)
        return elf_refuse(err, "no-sections", "%s", "");
    r = sections_are_plain(f, err);
    if (r == 0)
        r = make_room(&plan, err);
    if (r < 0)
        return r;
    add_moves(&plan);
    place_segment(&plan);
    if (!f->raw.is64 && (plan.addr + (plan.end - plan.at) > UINT32_MAX ||
                         plan.end + f->n_shdrs * sizeof(Elf32_Shdr) > UINT32_MAX))
        return elf_refuse(err, "no-room", "the segment would end above 4 GiB");
    order.old = arena_calloc(f->arena, f->n_shdrs, sizeof(*order.old));
    order.now = arena_calloc(f->arena, f->n_shdrs, sizeof(*order.now));
    order.delta = arena_calloc(f->arena, f->n_shdrs, sizeof(*order.delta));
    new_image(&plan);
    shift_phdrs(&plan);
    shift_tags(&plan);
    shift_sections(&plan, &order);
    number_sections(&order);
    renumber_sections(f, &order);
    add_phdrs(&plan);
    for (size_t i = plan.n_displaced; i < plan.n_moves; i++) {
        if (append->strings && plan.move[i].from == f->str_offset) {
            f->str_offset = plan.move[i].to;
            f->str_addr = plan.move[i].to_addr;
        }
    }
    if (append->dynamic)
        f->dyn_slots = f->phdr[f->dynamic].p_filesz / raw_dyn_size(&f->raw);
    return 0;
}
