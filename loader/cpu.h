/*
 * CPUs: the little of them that a dynamic loader looks at.
 *
 * `--cpu x86-64-v3`, `--cpu x86-64-v4:intel`, `--cpu aarch64`, `--cpu host`. Which directories
 * follow from that depends on the loader's version too: see profile.h.
 */
#pragma once

#include "base/arena.h"

struct cpu {
    const char *name;     /* as given on the command line, "host" resolved to a level */
    uint16_t machine;     /* e_machine */
    const char *platform; /* AT_PLATFORM as the kernel gives it; NULL: none */

    /* x86-64: the highest level, 1 to 4, without and with the BMI bits v3 needs since 2.37 */
    int level, level_bmi;
    bool intel;    /* the loader overrides the platform on Intel's CPUs */
    bool haswell;  /* AVX2, FMA, BMI1, BMI2, LZCNT, MOVBE, POPCNT usable */
    bool xeon_phi; /* AVX512 CD, ER, PF usable */
    bool avx512_1; /* AVX512 CD, BW, DQ, VL and not ER */

    /* other machines: names of glibc-hwcaps levels, best first, and the legacy hwcap names */
    const char *const *levels;
    const char *const *legacy;
};

/*
 * A CPU by name. The table of names is closed: an unknown name is an error that lists them.
 * `host` asks the processor this runs on (CPUID and XCR0 on x86-64).
 */
MUST_CHECK int cpu_find(const char *name, struct cpu *ret_cpu, struct err *err);

/* Every name that cpu_find() knows, "host" excepted; ends with NULL. */
const char *const *cpu_names(void);

/* The default CPU of a machine: x86-64-v3, aarch64, ...; NULL: machine unknown. */
const char *cpu_default(uint16_t machine);
