#include "planner/elf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Why a file is refused. The ids appear in messages, plans and docs/elf-editor.md. */
static const struct elf_edit_rule rules[] = {
    {"byte-order", "only little-endian files are edited"},
    {"type", "neither an executable nor a shared object"},
    {"static", "no loader searches for it"},
    {"loader", "it is a dynamic loader or a C library, which its loader looks into"},
    {"go", "it was linked by Go's own linker, whose layout does not survive editing"},
    {"relrhack", "its packed relocations are found by the place of the dynamic section"},
    {"debug", "it holds debug information only"},
    {"lifted", "its run path starts with a farm: it was edited before"},
    {"mips", "a tag of its dynamic section counts from its own place"},
    {"filter", "DT_FILTER and DT_AUXILIARY have a place among the needed names that would be lost"},
    {"rpath", "DT_RPATH would become DT_RUNPATH, which libraries do not inherit"},
    {"no-sections", "section headers were stripped: what may be moved is not known"},
    {"no-room", "what follows the program headers cannot be moved"},
    {"section-group", "section groups or extended section numbers would have to be renumbered"},
    {"payload", "bytes follow the ELF, which the program may look for or check"},
    {"audit", "DT_AUDIT names another module already"},
    {"note", "there is a closure note that says something else"},
    {NULL, NULL},
};

const struct elf_edit_rule *elf_edit_rules(void)
{
    return rules;
}

int elf_refuse(struct err *err, const char *id, const char *fmt, ...)
{
    const struct elf_edit_rule *rule;
    char detail[400];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    for (rule = rules; rule->id && strcmp(rule->id, id) != 0; rule++)
        ;
    return err_set(err, ENOTSUP, "%s: %s%s%s", id, rule->id ? rule->why : "", *detail ? ": " : "",
                   detail);
}

enum { MAX_ALIGN = 1 << 30 };

static int malformed(struct err *err, const char *what)
{
    return err_set(err, EINVAL, "malformed: %s", what);
}

/* The file offset of an address that is backed by file bytes; UINT64_MAX: none. */
static uint64_t elf_file_offset(const struct elf_file *f, uint64_t addr)
{
    for (size_t i = 0; i < f->n_phdrs; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_filesz)
            return p->p_offset + (addr - p->p_vaddr);
    }
    return UINT64_MAX;
}

Elf64_Dyn *elf_file_tag(const struct elf_file *f, int64_t tag)
{
    for (size_t i = 0; i < f->n_dyns; i++)
        if (f->dyn[i].d_tag == tag)
            return &f->dyn[i];
    return NULL;
}

const char *elf_file_string(const struct elf_file *f, uint64_t at)
{
    const char *table = (const char *)f->raw.bytes + f->str_offset;

    if (at >= f->str_size || !memchr(table + at, '\0', f->str_size - at))
        return NULL;
    return table + at;
}

static int read_header(struct elf_file *f, struct err *err)
{
    const unsigned char *ident = f->raw.bytes;

    if (f->raw.size < sizeof(Elf32_Ehdr) || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return malformed(err, "not an ELF file");
    if (ident[EI_DATA] != ELFDATA2LSB)
        return elf_refuse(err, "byte-order", "%s", "");
    f->raw.is64 = ident[EI_CLASS] == ELFCLASS64;
    if (!f->raw.is64 && ident[EI_CLASS] != ELFCLASS32)
        return malformed(err, "its class is neither 32 nor 64 bits");
    if (f->raw.size < raw_ehdr_size(&f->raw))
        return malformed(err, "shorter than its header");
    f->ehdr = raw_ehdr(&f->raw);
    if (f->ehdr.e_type != ET_DYN && f->ehdr.e_type != ET_EXEC)
        return elf_refuse(err, "type", "%s", "");
    return 0;
}

static int read_phdrs(struct elf_file *f, struct err *err)
{
    const uint64_t entry = raw_phdr_size(&f->raw);
    size_t found = 0;

    f->n_phdrs = f->ehdr.e_phnum;
    if (f->ehdr.e_phentsize != entry || f->n_phdrs >= PN_XNUM ||
        !raw_fits(&f->raw, f->ehdr.e_phoff, f->n_phdrs, entry))
        return malformed(err, "its program headers lie outside the file");
    f->phdr =
        arena_calloc(f->arena, f->n_phdrs + 1 + N_ELF_NOTES, sizeof(*f->phdr)); /* may be added */
    for (size_t i = 0; i < f->n_phdrs; i++) {
        Elf64_Phdr *p = &f->phdr[i];
        uint64_t end;

        *p = raw_phdr(&f->raw, f->ehdr.e_phoff + i * entry);
        if (p->p_type == PT_LOAD && (!raw_fits(&f->raw, p->p_offset, 1, p->p_filesz) ||
                                     __builtin_add_overflow(p->p_vaddr, p->p_memsz, &end) ||
                                     end > INT64_MAX || p->p_filesz > p->p_memsz))
            return malformed(err, "a segment lies outside the file");
        if (p->p_type == PT_LOAD && (p->p_align & (p->p_align - 1) || p->p_align > MAX_ALIGN))
            return malformed(err, "a segment's alignment is no power of two, or too large");
        if (p->p_type == PT_DYNAMIC) {
            f->dynamic = i;
            found++;
        }
    }
    if (found == 0)
        return elf_refuse(err, "static", "%s", "");
    return found == 1 ? 0 : malformed(err, "more than one dynamic section");
}

static int read_shdrs(struct elf_file *f, struct err *err)
{
    const uint64_t entry = raw_shdr_size(&f->raw);

    if (f->ehdr.e_shoff == 0 || f->ehdr.e_shnum == 0)
        return 0;
    if (f->ehdr.e_shentsize != entry || f->ehdr.e_shstrndx >= f->ehdr.e_shnum ||
        !raw_fits(&f->raw, f->ehdr.e_shoff, f->ehdr.e_shnum, entry))
        return malformed(err, "its section headers lie outside the file");
    f->n_shdrs = f->ehdr.e_shnum;
    f->shdr =
        arena_calloc(f->arena, f->n_shdrs + 1 + N_ELF_NOTES, sizeof(*f->shdr)); /* may be added */
    for (size_t i = 0; i < f->n_shdrs; i++) {
        f->shdr[i] = raw_shdr(&f->raw, f->ehdr.e_shoff + i * entry);
        if (f->shdr[i].sh_type != SHT_NOBITS && f->shdr[i].sh_type != SHT_NULL &&
            !raw_fits(&f->raw, f->shdr[i].sh_offset, 1, f->shdr[i].sh_size))
            return malformed(err, "a section lies outside the file");
    }
    return 0;
}

static int read_dynamic(struct elf_file *f, struct err *err)
{
    const Elf64_Phdr *p = &f->phdr[f->dynamic];
    const uint64_t entry = raw_dyn_size(&f->raw);
    const Elf64_Dyn *strtab, *strsz;

    if (!raw_fits(&f->raw, p->p_offset, 1, p->p_filesz) || p->p_offset % 4 ||
        (p->p_filesz && elf_file_offset(f, p->p_vaddr) != p->p_offset))
        return malformed(err, "its dynamic section lies outside the file");
    f->dyn_slots = p->p_filesz / entry;
    f->dyn = arena_calloc(f->arena, f->dyn_slots, sizeof(*f->dyn));
    for (size_t i = 0; i < f->dyn_slots; i++) {
        f->dyn[i] = raw_dyn(&f->raw, p->p_offset + i * entry);
        if (f->dyn[i].d_tag == DT_NULL)
            break;
        f->n_dyns++;
    }
    if (f->n_dyns == f->dyn_slots)
        return malformed(err, "its dynamic section has no end");
    strtab = elf_file_tag(f, DT_STRTAB);
    strsz = elf_file_tag(f, DT_STRSZ);
    if (!strtab || !strsz)
        return malformed(err, "it has no dynamic string table");
    f->str_addr = strtab->d_un.d_ptr;
    f->str_size = strsz->d_un.d_val;
    f->str_offset = elf_file_offset(f, f->str_addr);
    if (f->str_offset == UINT64_MAX || !raw_fits(&f->raw, f->str_offset, 1, f->str_size))
        return malformed(err, "its dynamic string table lies outside the file");
    return 0;
}

/*
 * The number of symbols by the GNU hash table: one more than the largest that a chain ends with,
 * or the first hashed one when no chain begins. 0: the table is broken.
 */
static uint64_t count_gnu_hash(const struct elf_file *f, uint64_t at)
{
    const struct raw *raw = &f->raw;
    uint64_t buckets, chains, last = 0;
    uint32_t n_buckets, first, bloom;

    if (!raw_fits(raw, at, 4, 4))
        return 0;
    n_buckets = raw_word(raw, at);
    first = raw_word(raw, at + 4);
    bloom = raw_word(raw, at + 8);
    buckets = at + 16 + (uint64_t)bloom * (raw->is64 ? 8 : 4);
    if (!raw_fits(raw, buckets, n_buckets, 4))
        return 0;
    chains = buckets + (uint64_t)n_buckets * 4;
    for (uint32_t i = 0; i < n_buckets; i++)
        if (raw_word(raw, buckets + (uint64_t)i * 4) > last)
            last = raw_word(raw, buckets + (uint64_t)i * 4);
    if (last == 0)
        return first;
    if (last < first)
        return 0;
    for (;; last++) {
        if (!raw_fits(raw, chains, last - first + 1, 4))
            return 0;
        if (raw_word(raw, chains + (last - first) * 4) & 1)
            return last + 1;
    }
}

static uint64_t count_symbols(const struct elf_file *f)
{
    const Elf64_Dyn *hash = elf_file_tag(f, DT_HASH), *gnu = elf_file_tag(f, DT_GNU_HASH);
    uint64_t n = 0, at;

    if (gnu && (at = elf_file_offset(f, gnu->d_un.d_ptr)) != UINT64_MAX)
        n = count_gnu_hash(f, at);
    if (n == 0 && hash && (at = elf_file_offset(f, hash->d_un.d_ptr)) != UINT64_MAX &&
        raw_fits(&f->raw, at, 2, 4))
        n = raw_word(&f->raw, at + 4);
    for (size_t i = 0; i < f->n_shdrs; i++)
        if (f->shdr[i].sh_type == SHT_DYNSYM && f->shdr[i].sh_size / raw_sym_size(&f->raw) > n)
            n = f->shdr[i].sh_size / raw_sym_size(&f->raw);
    return n;
}

/* A table that a tag points to; *ret_n 0 when there is none. */
static int read_table(const struct elf_file *f, int64_t tag, int64_t count, uint64_t *ret_offset,
                      uint64_t *ret_n, struct err *err)
{
    const Elf64_Dyn *at = elf_file_tag(f, tag), *n = elf_file_tag(f, count);

    if (!at || !n)
        return 0;
    *ret_offset = elf_file_offset(f, at->d_un.d_ptr);
    *ret_n = n->d_un.d_val;
    return *ret_offset == UINT64_MAX ? malformed(err, "its version table lies outside the file")
                                     : 0;
}

static int read_tables(struct elf_file *f, struct err *err)
{
    const Elf64_Dyn *symtab = elf_file_tag(f, DT_SYMTAB);
    int r;

    if (symtab) {
        f->sym_offset = elf_file_offset(f, symtab->d_un.d_ptr);
        f->n_syms = count_symbols(f);
        if (!raw_fits(&f->raw, f->sym_offset, f->n_syms, raw_sym_size(&f->raw)))
            return malformed(err, "its dynamic symbols lie outside the file");
    }
    r = read_table(f, DT_VERNEED, DT_VERNEEDNUM, &f->verneed_offset, &f->n_verneeds, err);
    if (r == 0)
        r = read_table(f, DT_VERDEF, DT_VERDEFNUM, &f->verdef_offset, &f->n_verdefs, err);
    return r;
}

int elf_file_open(struct elf_file *ret_file, unsigned char *bytes, uint64_t size,
                  struct arena *arena, struct err *err)
{
    struct elf_file f = {.raw = {.bytes = bytes, .size = size}, .arena = arena};
    int r = read_header(&f, err);

    if (r == 0)
        r = read_phdrs(&f, err);
    if (r == 0)
        r = read_shdrs(&f, err);
    if (r == 0)
        r = read_dynamic(&f, err);
    if (r == 0)
        r = read_tables(&f, err);
    if (r == 0)
        *ret_file = f;
    return r;
}

bool elf_file_verneeds(const struct elf_file *f, bool (*each)(void *data, uint64_t at), void *data)
{
    uint64_t at = f->verneed_offset;

    for (uint64_t i = 0; i < f->n_verneeds; i++) {
        uint32_t next;

        if (!raw_fits(&f->raw, at, 1, sizeof(Elf64_Verneed)))
            return false;
        if (!each(data, at))
            return false;
        next = raw_word(&f->raw, at + offsetof(Elf64_Verneed, vn_next));
        if (next == 0)
            return true;
        at += next;
    }
    return true;
}

void elf_file_write_headers(struct elf_file *f)
{
    f->ehdr.e_phnum = (Elf64_Half)f->n_phdrs;
    if (f->n_shdrs)
        f->ehdr.e_shnum = (Elf64_Half)f->n_shdrs;
    raw_put_ehdr(&f->raw, &f->ehdr);
    for (size_t i = 0; i < f->n_phdrs; i++)
        raw_put_phdr(&f->raw, f->ehdr.e_phoff + i * raw_phdr_size(&f->raw), &f->phdr[i]);
    for (size_t i = 0; i < f->n_shdrs; i++)
        raw_put_shdr(&f->raw, f->ehdr.e_shoff + i * raw_shdr_size(&f->raw), &f->shdr[i]);
}
