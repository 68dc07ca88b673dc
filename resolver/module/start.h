/*
 * What the kernel put on the stack of this process, found without asking anybody: ld.so exports
 * where it began.
 */
#pragma once

#include <link.h>
#include <stdbool.h>

struct start_facts {
    const char *const *env; /* ends in NULL */
    const ElfW(Phdr) * phdr;
    unsigned long n_phdrs;
    bool secure;  /* a set-id program, or it cannot be told */
    bool by_hand; /* ld.so was run as a command: its options are invisible here */
};

/*
 * `program` is the program's map at the head of the list, `inside_loader` any address of ld.so's
 * code. False: not to be found.
 */
bool start_find(const struct link_map *program, unsigned long inside_loader,
                struct start_facts *ret_facts);

/* A dynamic section's pointer as an address, whether ld.so relocated it in place or not. */
static inline unsigned long dynamic_address(const struct link_map *map, unsigned long value)
{
    return value < map->l_addr ? value + map->l_addr : value;
}
