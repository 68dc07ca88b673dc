/*
 * Other machines: what is needed to run the real loader of one here, and to turn a random sample,
 * which is made for x86-64, into one for it.
 *
 * i686 programs run by themselves on x86-64; for the others there are qemu's static user mode
 * emulators and the libraries of Debian's cross compilers.
 */
#pragma once

#include "loader/cpu.h"
#include "tests/sample.h"

struct machine {
    const char *name;             /* of --machine */
    const char *cpu;              /* of --cpu: what is emulated, as machine_cpu() corrects it */
    const char *emulator, *model; /* qemu and its -cpu; NULL: none needed; NULL: its default */
    const char *loader;           /* glibc's, of the cross compiler's package */
    const char *interp;           /* where programs look for it */
    const char *musl;             /* the same for musl */
    uint16_t machine;
    uint8_t class, data;
    uint32_t flags;            /* e_flags of good files */
    const unsigned char *code; /* makes the marker call, then exits */
    size_t code_size;
    uint32_t cache_flags; /* of a cache entry */

    /* what stands for x86-64's names in directories and cache entries; NULL: nothing does */
    const char *level[3];  /* x86-64-v2, v3, v4: in the order of their names */
    const char *legacy[3]; /* x86_64, haswell, avx512_1 */
    uint64_t hwcap[3];     /* bits of x86_64, avx512_1, and of the platform haswell */
};

/* NULL: there is no machine of that name. */
const struct machine *machine_find(const char *name);

/*
 * The CPU that programs of a machine see here. An emulator gives no platform to some, leaves out
 * parts of a processor, and maps no vDSO.
 */
MUST_CHECK int machine_cpu(const struct machine *machine, struct cpu *ret_cpu, struct err *err);

/* Turn a sample for x86-64 into one for the machine, whose loader has that DT_SONAME. */
void machine_sample(const struct machine *machine, const char *soname, struct sample *sample);
