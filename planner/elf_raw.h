/*
 * Headers of an ELF file in memory, read and written one at a time.
 *
 * The editor works on little-endian files of both classes. Here the 32-bit forms become the 64-bit
 * structs of <elf.h> and back, so that nothing above knows the class. Callers have checked that
 * `at` and the entry behind it lie inside the file (raw_fits).
 */
#pragma once

#include "base/base.h"

#include <elf.h>

struct raw {
    unsigned char *bytes;
    uint64_t size;
    bool is64;
};

/* True when `n` entries of `entry` bytes from offset `at` lie inside the file. */
bool raw_fits(const struct raw *raw, uint64_t at, uint64_t n, uint64_t entry);

/* Sizes of one entry in this file's class. */
uint64_t raw_ehdr_size(const struct raw *raw);
uint64_t raw_phdr_size(const struct raw *raw);
uint64_t raw_shdr_size(const struct raw *raw);
uint64_t raw_dyn_size(const struct raw *raw);
uint64_t raw_sym_size(const struct raw *raw);

Elf64_Ehdr raw_ehdr(const struct raw *raw);
Elf64_Phdr raw_phdr(const struct raw *raw, uint64_t at);
Elf64_Shdr raw_shdr(const struct raw *raw, uint64_t at);
Elf64_Dyn raw_dyn(const struct raw *raw, uint64_t at);
Elf64_Sym raw_sym(const struct raw *raw, uint64_t at);

void raw_put_ehdr(const struct raw *raw, const Elf64_Ehdr *ehdr);
void raw_put_phdr(const struct raw *raw, uint64_t at, const Elf64_Phdr *phdr);
void raw_put_shdr(const struct raw *raw, uint64_t at, const Elf64_Shdr *shdr);
void raw_put_dyn(const struct raw *raw, uint64_t at, const Elf64_Dyn *dyn);
void raw_put_sym(const struct raw *raw, uint64_t at, const Elf64_Sym *sym);

/* A 16- or 32-bit word, the same in both classes. */
uint16_t raw_half(const struct raw *raw, uint64_t at);
uint32_t raw_word(const struct raw *raw, uint64_t at);
void raw_put_word(const struct raw *raw, uint64_t at, uint32_t word);
