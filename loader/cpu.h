/*
 * CPUs: the little of them that a dynamic loader looks at.
 *
 * `--cpu x86-64-v3`, `--cpu x86-64-v4:intel`, `--cpu aarch64`, `--cpu host`. Which directories
 * follow from that depends on the loader's version too: see profile.h.
 */
#pragma once

#include "base/arena.h"

#include <elf.h>

#ifndef EM_LOONGARCH /* not in every elf.h yet */
#define EM_LOONGARCH 258
#endif

/* A name of a legacy sub-directory, and its bit in AT_HWCAP, which old cache entries carry too. */
struct hwcap {
    const char *name;
    int bit;
};

struct cpu {
    const char *name;     /* as given on the command line, "host" resolved to a level */
    uint16_t machine;     /* e_machine */
    const char *platform; /* AT_PLATFORM as the kernel gives it; NULL: none */

    /* x86-64: feature bits (rows of a table in cpu.c), and the level they were made from */
    uint32_t features;
    int x86_level;
    bool intel; /* the loader overrides the platform on Intel's CPUs */

    /* other machines: names of glibc-hwcaps levels, best first; legacy names, lowest bit first */
    const char *const *levels;
    const struct hwcap *legacy;
    int platform_bit; /* the platform's bit in old cache entries; 0: none */

    const char *vdso; /* name of what the kernel maps into every process; NULL: it maps nothing */
    bool from_source; /* no test compares glibc's part of this row with a running loader */
};

/*
 * A CPU by name. The table of names is closed: an unknown name is an error that lists them.
 * `host` asks the processor this runs on (CPUID and XCR0 on x86-64).
 */
MUST_CHECK int cpu_find(const char *name, struct cpu *ret_cpu, struct err *err);

/*
 * x86-64: the highest level, 1 to 4. Level 3 asks for the BMI bits as glibc does since 2.37, and
 * all its older releases that know levels do by now (docs/loader.md, section 11).
 */
int cpu_level(const struct cpu *cpu);

/* The platform as the loader sees it ("haswell" instead of AT_PLATFORM on Intel). NULL: none. */
const char *cpu_platform(const struct cpu *cpu);

/* The legacy hwcap name avx512_1 applies. */
bool cpu_avx512_1(const struct cpu *cpu);

/*
 * Hide what the value of GLIBC_TUNABLES hides (glibc.cpu.hwcaps=-AVX512F,...). False: it also says
 * something about the CPU that is not understood.
 */
bool cpu_hide(struct cpu *cpu, const char *tunables);

/* The default CPU of a machine: x86-64-v3, aarch64, ...; NULL: machine unknown. */
const char *cpu_default(uint16_t machine);
