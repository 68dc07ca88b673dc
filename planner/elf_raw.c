#include "planner/elf_raw.h"

#include <string.h>

bool raw_fits(const struct raw *raw, uint64_t at, uint64_t n, uint64_t entry)
{
    uint64_t bytes;

    return !__builtin_mul_overflow(n, entry, &bytes) && at <= raw->size && bytes <= raw->size - at;
}

/* The size of a type by class, and a copy out of or into the file. */
#define SIZE(raw, type)     ((raw)->is64 ? sizeof(Elf64_##type) : sizeof(Elf32_##type))
#define GET(raw, at, value) memcpy(&(value), (raw)->bytes + (at), sizeof(value))
#define PUT(raw, at, value) memcpy((raw)->bytes + (at), &(value), sizeof(value))

uint64_t raw_ehdr_size(const struct raw *raw)
{
    return SIZE(raw, Ehdr);
}

uint64_t raw_phdr_size(const struct raw *raw)
{
    return SIZE(raw, Phdr);
}

uint64_t raw_shdr_size(const struct raw *raw)
{
    return SIZE(raw, Shdr);
}

uint64_t raw_dyn_size(const struct raw *raw)
{
    return SIZE(raw, Dyn);
}

uint64_t raw_sym_size(const struct raw *raw)
{
    return SIZE(raw, Sym);
}

Elf64_Ehdr raw_ehdr(const struct raw *raw)
{
    Elf64_Ehdr e;
    Elf32_Ehdr n;

    if (raw->is64) {
        GET(raw, 0, e);
        return e;
    }
    GET(raw, 0, n);
    e = (Elf64_Ehdr){
        .e_type = n.e_type,
        .e_machine = n.e_machine,
        .e_version = n.e_version,
        .e_entry = n.e_entry,
        .e_phoff = n.e_phoff,
        .e_shoff = n.e_shoff,
        .e_flags = n.e_flags,
        .e_ehsize = n.e_ehsize,
        .e_phentsize = n.e_phentsize,
        .e_phnum = n.e_phnum,
        .e_shentsize = n.e_shentsize,
        .e_shnum = n.e_shnum,
        .e_shstrndx = n.e_shstrndx,
    };
    memcpy(e.e_ident, n.e_ident, sizeof(e.e_ident));
    return e;
}

void raw_put_ehdr(const struct raw *raw, const Elf64_Ehdr *e)
{
    Elf32_Ehdr n;

    if (raw->is64) {
        PUT(raw, 0, *e);
        return;
    }
    n = (Elf32_Ehdr){
        .e_type = e->e_type,
        .e_machine = e->e_machine,
        .e_version = e->e_version,
        .e_entry = (Elf32_Addr)e->e_entry,
        .e_phoff = (Elf32_Off)e->e_phoff,
        .e_shoff = (Elf32_Off)e->e_shoff,
        .e_flags = e->e_flags,
        .e_ehsize = e->e_ehsize,
        .e_phentsize = e->e_phentsize,
        .e_phnum = e->e_phnum,
        .e_shentsize = e->e_shentsize,
        .e_shnum = e->e_shnum,
        .e_shstrndx = e->e_shstrndx,
    };
    memcpy(n.e_ident, e->e_ident, sizeof(n.e_ident));
    PUT(raw, 0, n);
}

Elf64_Phdr raw_phdr(const struct raw *raw, uint64_t at)
{
    Elf64_Phdr p;
    Elf32_Phdr n;

    if (raw->is64) {
        GET(raw, at, p);
        return p;
    }
    GET(raw, at, n);
    return (Elf64_Phdr){
        .p_type = n.p_type,
        .p_flags = n.p_flags,
        .p_offset = n.p_offset,
        .p_vaddr = n.p_vaddr,
        .p_paddr = n.p_paddr,
        .p_filesz = n.p_filesz,
        .p_memsz = n.p_memsz,
        .p_align = n.p_align,
    };
}

void raw_put_phdr(const struct raw *raw, uint64_t at, const Elf64_Phdr *p)
{
    Elf32_Phdr n;

    if (raw->is64) {
        PUT(raw, at, *p);
        return;
    }
    n = (Elf32_Phdr){
        .p_type = p->p_type,
        .p_flags = p->p_flags,
        .p_offset = (Elf32_Off)p->p_offset,
        .p_vaddr = (Elf32_Addr)p->p_vaddr,
        .p_paddr = (Elf32_Addr)p->p_paddr,
        .p_filesz = (Elf32_Word)p->p_filesz,
        .p_memsz = (Elf32_Word)p->p_memsz,
        .p_align = (Elf32_Word)p->p_align,
    };
    PUT(raw, at, n);
}

Elf64_Shdr raw_shdr(const struct raw *raw, uint64_t at)
{
    Elf64_Shdr s;
    Elf32_Shdr n;

    if (raw->is64) {
        GET(raw, at, s);
        return s;
    }
    GET(raw, at, n);
    return (Elf64_Shdr){
        .sh_name = n.sh_name,
        .sh_type = n.sh_type,
        .sh_flags = n.sh_flags,
        .sh_addr = n.sh_addr,
        .sh_offset = n.sh_offset,
        .sh_size = n.sh_size,
        .sh_link = n.sh_link,
        .sh_info = n.sh_info,
        .sh_addralign = n.sh_addralign,
        .sh_entsize = n.sh_entsize,
    };
}

void raw_put_shdr(const struct raw *raw, uint64_t at, const Elf64_Shdr *s)
{
    Elf32_Shdr n;

    if (raw->is64) {
        PUT(raw, at, *s);
        return;
    }
    n = (Elf32_Shdr){
        .sh_name = s->sh_name,
        .sh_type = s->sh_type,
        .sh_flags = (Elf32_Word)s->sh_flags,
        .sh_addr = (Elf32_Addr)s->sh_addr,
        .sh_offset = (Elf32_Off)s->sh_offset,
        .sh_size = (Elf32_Word)s->sh_size,
        .sh_link = s->sh_link,
        .sh_info = s->sh_info,
        .sh_addralign = (Elf32_Word)s->sh_addralign,
        .sh_entsize = (Elf32_Word)s->sh_entsize,
    };
    PUT(raw, at, n);
}

Elf64_Dyn raw_dyn(const struct raw *raw, uint64_t at)
{
    Elf64_Dyn d;
    Elf32_Dyn n;

    if (raw->is64) {
        GET(raw, at, d);
        return d;
    }
    GET(raw, at, n);
    return (Elf64_Dyn){.d_tag = n.d_tag, .d_un.d_val = n.d_un.d_val};
}

void raw_put_dyn(const struct raw *raw, uint64_t at, const Elf64_Dyn *d)
{
    Elf32_Dyn n;

    if (raw->is64) {
        PUT(raw, at, *d);
        return;
    }
    n = (Elf32_Dyn){.d_tag = (Elf32_Sword)d->d_tag, .d_un.d_val = (Elf32_Word)d->d_un.d_val};
    PUT(raw, at, n);
}

Elf64_Sym raw_sym(const struct raw *raw, uint64_t at)
{
    Elf64_Sym s;
    Elf32_Sym n;

    if (raw->is64) {
        GET(raw, at, s);
        return s;
    }
    GET(raw, at, n);
    return (Elf64_Sym){
        .st_name = n.st_name,
        .st_info = n.st_info,
        .st_other = n.st_other,
        .st_shndx = n.st_shndx,
        .st_value = n.st_value,
        .st_size = n.st_size,
    };
}

void raw_put_sym(const struct raw *raw, uint64_t at, const Elf64_Sym *s)
{
    Elf32_Sym n;

    if (raw->is64) {
        PUT(raw, at, *s);
        return;
    }
    n = (Elf32_Sym){
        .st_name = s->st_name,
        .st_info = s->st_info,
        .st_other = s->st_other,
        .st_shndx = s->st_shndx,
        .st_value = (Elf32_Addr)s->st_value,
        .st_size = (Elf32_Word)s->st_size,
    };
    PUT(raw, at, n);
}

uint16_t raw_half(const struct raw *raw, uint64_t at)
{
    uint16_t half;

    GET(raw, at, half);
    return half;
}

uint32_t raw_word(const struct raw *raw, uint64_t at)
{
    uint32_t word;

    GET(raw, at, word);
    return word;
}

void raw_put_word(const struct raw *raw, uint64_t at, uint32_t word)
{
    PUT(raw, at, word);
}
