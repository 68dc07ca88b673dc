#include "resolver/module/start.h"

#include "resolver/note.h"

enum { ARGUMENTS_MAX = 1 << 24 };

/* ---- one symbol of ld.so, through its GNU hash table */

struct symbols {
    const char *names;
    const ElfW(Sym) * symbol;
    const uint32_t *hash;
};

static bool symbols_find(const struct link_map *map, struct symbols *ret_symbols)
{
    struct symbols s = {0};

    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        const unsigned long at = dynamic_address(map, d->d_un.d_ptr);

        if (d->d_tag == DT_STRTAB)
            s.names = (const char *)at;
        else if (d->d_tag == DT_SYMTAB)
            s.symbol = (const ElfW(Sym) *)at;
        else if (d->d_tag == DT_GNU_HASH)
            s.hash = (const uint32_t *)at;
    }
    *ret_symbols = s;
    return s.names && s.symbol && s.hash && s.hash[0];
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static const void *symbol_address(const struct link_map *map, const char *name)
{
    const uint32_t wanted = hash_of(name);
    const uint32_t *bucket, *chain;
    struct symbols s;
    uint32_t i;

    if (!symbols_find(map, &s))
        return NULL;
    /* words of the table: buckets, first symbol, filter words, shift; the filter; buckets; chain */
    bucket = s.hash + 4 + s.hash[2] * (sizeof(ElfW(Addr)) / 4);
    chain = bucket + s.hash[0];
    i = bucket[wanted % s.hash[0]];
    if (i < s.hash[1])
        return NULL;
    for (;; i++) {
        const uint32_t hash = chain[i - s.hash[1]];

        if ((hash | 1) == (wanted | 1) && s.symbol[i].st_shndx != SHN_UNDEF &&
            text_same(s.names + s.symbol[i].st_name, name))
            return (const void *)(map->l_addr + s.symbol[i].st_value);
        if (hash & 1)
            return NULL;
    }
}

/* ---- the stack */

/* ld.so's own map: the last one that begins before its code. */
static const struct link_map *loader_map(const struct link_map *program, unsigned long inside)
{
    const struct link_map *loader = NULL;

    for (const struct link_map *map = program; map; map = map->l_next)
        if (map->l_addr && map->l_addr <= inside && (!loader || map->l_addr > loader->l_addr))
            loader = map;
    return loader;
}

static bool read_auxiliary(const ElfW(auxv_t) * entry, struct start_facts *facts)
{
    unsigned long base = 0;

    facts->secure = true;
    for (; entry->a_type != AT_NULL; entry++) {
        if (entry->a_type == AT_BASE)
            base = entry->a_un.a_val;
        else if (entry->a_type == AT_PHDR)
            facts->phdr = (const ElfW(Phdr) *)entry->a_un.a_val;
        else if (entry->a_type == AT_PHNUM)
            facts->n_phdrs = entry->a_un.a_val;
        else if (entry->a_type == AT_SECURE)
            facts->secure = entry->a_un.a_val != 0;
    }
    facts->by_hand = base == 0;
    return facts->phdr && facts->n_phdrs && facts->n_phdrs < PN_XNUM;
}

bool start_find(const struct link_map *program, unsigned long inside_loader,
                struct start_facts *ret_facts)
{
    const struct link_map *loader = loader_map(program, inside_loader);
    const unsigned long *const *end, *word;
    const char *const *env;

    end = loader ? symbol_address(loader, "__libc_stack_end") : NULL;
    if (!end || !*end)
        return false;
    /* argc, arguments, NULL, environment, NULL, auxiliary vector */
    word = *end;
    if (word[0] > ARGUMENTS_MAX || word[word[0] + 1] != 0)
        return false;
    env = (const char *const *)(word + word[0] + 2);
    ret_facts->env = env;
    while (*env)
        env++;
    return read_auxiliary((const ElfW(auxv_t) *)(env + 1), ret_facts);
}
