#include "planner/elf_file.h"

int elf_sections_check(const struct elf_file *f, struct err *err)
{
    for (size_t i = 0; i < f->n_shdrs; i++)
        if (f->shdr[i].sh_type == SHT_GROUP || f->shdr[i].sh_type == SHT_SYMTAB_SHNDX)
            return elf_refuse(err, "section-group", "section %zu", i);
    return 0;
}

size_t elf_section_find(const struct elf_file *f, uint64_t offset, uint64_t size)
{
    for (size_t i = 1; i < f->n_shdrs; i++) {
        const Elf64_Shdr *s = &f->shdr[i];

        if (s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOBITS && s->sh_offset == offset &&
            s->sh_size == size)
            return i;
    }
    return 0;
}

/* Old numbers in their new order, and new numbers by old. */
struct order {
    size_t *old, *now;
    size_t n;
};

/* Sections in memory that stay and those in the new segment, both by address, then the rest. */
static void number(const struct elf_file *f, const struct elf_moved *moved, struct order *order)
{
    size_t n = 0;

    for (int pass = 0; pass < 3; pass++) {
        const size_t first = n;

        for (size_t i = 0; i < f->n_shdrs; i++) {
            const bool alloc = f->shdr[i].sh_flags & SHF_ALLOC || i == 0;
            size_t at = n;

            if (moved[i].gone || pass != (alloc ? (moved[i].appended ? 1 : 0) : 2))
                continue;
            while (pass != 2 && i != 0 && at > first && order->old[at - 1] != 0 &&
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
    order->n = n;
}

/* Symbols name sections by number, and those in moved sections have moved. */
static void renumber_symbols(const struct elf_file *f, const struct elf_moved *moved,
                             const struct order *order, const Elf64_Shdr *table)
{
    const uint64_t entry = raw_sym_size(&f->raw);

    for (uint64_t at = 0; at + entry <= table->sh_size; at += entry) {
        Elf64_Sym sym = raw_sym(&f->raw, table->sh_offset + at);
        const size_t section = sym.st_shndx;

        if (section == SHN_UNDEF || section >= f->n_shdrs)
            continue;
        if (ELF64_ST_TYPE(sym.st_info) != STT_TLS)
            sym.st_value += moved[section].delta;
        sym.st_shndx = moved[section].gone ? SHN_ABS : (Elf64_Half)order->now[section];
        raw_put_sym(&f->raw, table->sh_offset + at, &sym);
    }
}

void elf_sections_sort(struct elf_file *f, const struct elf_moved *moved)
{
    struct order order = {
        .old = arena_calloc(f->arena, f->n_shdrs + 1, sizeof(size_t)),
        .now = arena_calloc(f->arena, f->n_shdrs + 1, sizeof(size_t)),
    };
    Elf64_Shdr *sorted = arena_calloc(f->arena, f->n_shdrs + 1, sizeof(*sorted));

    number(f, moved, &order);
    for (size_t i = 0; i < order.n; i++) {
        Elf64_Shdr *s = &sorted[i];

        *s = f->shdr[order.old[i]];
        if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
            renumber_symbols(f, moved, &order, s);
        if (s->sh_link < f->n_shdrs)
            s->sh_link = (Elf64_Word)order.now[s->sh_link];
        if ((s->sh_type == SHT_REL || s->sh_type == SHT_RELA || s->sh_flags & SHF_INFO_LINK) &&
            s->sh_info < f->n_shdrs)
            s->sh_info = (Elf64_Word)order.now[s->sh_info];
    }
    f->ehdr.e_shstrndx = (Elf64_Half)order.now[f->ehdr.e_shstrndx];
    f->shdr = sorted;
    f->n_shdrs = order.n;
}
