#include "loader/cpu.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

static const char *const none[] = {NULL};
static const char *const power9[] = {"power9", NULL};
static const char *const power10[] = {"power10", "power9", NULL};
static const char *const z13[] = {"z13", NULL};
static const char *const z14[] = {"z14", "z13", NULL};
static const char *const z15[] = {"z15", "z14", "z13", NULL};
static const char *const z16[] = {"z16", "z15", "z14", "z13", NULL};
static const char *const z17[] = {"z17", "z16", "z15", "z14", "z13", NULL};
static const char *const aarch64_legacy[] = {"atomics", NULL};
static const char *const ppc_legacy[] = {"dfp", "altivec", NULL};
static const char *const i686_legacy[] = {"sse2", NULL};
static const char *const s390_legacy[] = {"zarch", "ldisp", "eimm", "dfp",
                                          "vx",    "vxe",   "vxe2", NULL};

#define X86(text, level_, wide)                                                                    \
    {                                                                                              \
        .name = (text), .machine = EM_X86_64, .platform = "x86_64", .level = (level_),             \
        .level_bmi = (level_), .haswell = (level_) >= 3, .avx512_1 = (level_) >= 4,                \
        .intel = (wide), .levels = none, .legacy = none                                            \
    }
#define OTHER(text, em, platform_, levels_, legacy_)                                               \
    {                                                                                              \
        .name = (text), .machine = (em), .platform = (platform_), .levels = (levels_),             \
        .legacy = (legacy_)                                                                        \
    }

/* The first CPU of a machine is its default; cpu_default() changes that for x86-64 to v3. */
static const struct cpu cpus[] = {
    X86("x86-64-v1", 1, false),
    X86("x86-64-v2", 2, false),
    X86("x86-64-v3", 3, false),
    X86("x86-64-v4", 4, false),
    X86("x86-64-v1:intel", 1, true),
    X86("x86-64-v2:intel", 2, true),
    X86("x86-64-v3:intel", 3, true),
    X86("x86-64-v4:intel", 4, true),
    OTHER("aarch64", EM_AARCH64, "aarch64", none, aarch64_legacy),
    OTHER("aarch64-v8.0", EM_AARCH64, "aarch64", none, none),
    OTHER("i686", EM_386, "i686", none, i686_legacy),
    OTHER("armv7", EM_ARM, "v7l", none, none),
    OTHER("riscv64", EM_RISCV, NULL, none, none),
    OTHER("powerpc64le", EM_PPC64, NULL, none, ppc_legacy),
    OTHER("powerpc64le-power9", EM_PPC64, "power9", power9, ppc_legacy),
    OTHER("powerpc64le-power10", EM_PPC64, "power10", power10, ppc_legacy),
    OTHER("s390x", EM_S390, NULL, none, s390_legacy),
    OTHER("s390x-z13", EM_S390, "z13", z13, s390_legacy),
    OTHER("s390x-z14", EM_S390, "z14", z14, s390_legacy),
    OTHER("s390x-z15", EM_S390, "z15", z15, s390_legacy),
    OTHER("s390x-z16", EM_S390, "z16", z16, s390_legacy),
    OTHER("s390x-z17", EM_S390, "z17", z17, s390_legacy),
    OTHER("loongarch64", EM_LOONGARCH, "loongarch", none, none),
};

const char *const *cpu_names(void)
{
    static const char *names[ARRAY_LEN(cpus) + 1];

    for (size_t i = 0; i < ARRAY_LEN(cpus); i++)
        names[i] = cpus[i].name;
    return names;
}

const char *cpu_default(uint16_t machine)
{
    const struct cpu *cpu;

    if (machine == EM_X86_64)
        return "x86-64-v3";
    for_each (cpu, cpus)
        if (cpu->machine == machine)
            return cpu->name;
    return NULL;
}

#if defined(__x86_64__)

/* One feature: where CPUID tells it, and which state the OS must save for it to be usable. */
enum leaf { LEAF_1_C, LEAF_1_D, LEAF_7_B, LEAF_81_C, LEAVES };
enum { XCR0_YMM = 0x6, XCR0_ZMM = 0xe6 };

static const struct feature {
    enum leaf leaf;
    unsigned bit;
    unsigned xcr0;
    int level; /* the x86-64 level that needs it; 0: none */
    bool bmi;  /* asked for level 3 only since glibc 2.37 */
    bool haswell, phi, avx512_1;
} features[] = {
    {LEAF_1_C, bit_CMPXCHG16B, 0, .level = 2},
    {LEAF_81_C, bit_LAHF_LM, 0, .level = 2},
    {LEAF_1_C, bit_POPCNT, 0, .level = 2, .haswell = true},
    {LEAF_1_C, bit_SSE3, 0, .level = 2},
    {LEAF_1_C, bit_SSSE3, 0, .level = 2},
    {LEAF_1_C, bit_SSE4_1, 0, .level = 2},
    {LEAF_1_C, bit_SSE4_2, 0, .level = 2},
    {LEAF_1_C, bit_AVX, XCR0_YMM, .level = 3},
    {LEAF_7_B, bit_AVX2, XCR0_YMM, .level = 3, .haswell = true},
    {LEAF_1_C, bit_F16C, XCR0_YMM, .level = 3},
    {LEAF_1_C, bit_FMA, XCR0_YMM, .level = 3, .haswell = true},
    {LEAF_81_C, bit_LZCNT, 0, .level = 3, .haswell = true},
    {LEAF_1_C, bit_MOVBE, 0, .level = 3, .haswell = true},
    {LEAF_7_B, bit_BMI, 0, .level = 3, .bmi = true, .haswell = true},
    {LEAF_7_B, bit_BMI2, 0, .level = 3, .bmi = true, .haswell = true},
    {LEAF_7_B, bit_AVX512F, XCR0_ZMM, .level = 4},
    {LEAF_7_B, bit_AVX512BW, XCR0_ZMM, .level = 4, .avx512_1 = true},
    {LEAF_7_B, bit_AVX512CD, XCR0_ZMM, .level = 4, .avx512_1 = true, .phi = true},
    {LEAF_7_B, bit_AVX512DQ, XCR0_ZMM, .level = 4, .avx512_1 = true},
    {LEAF_7_B, bit_AVX512VL, XCR0_ZMM, .level = 4, .avx512_1 = true},
    {LEAF_7_B, bit_AVX512ER, XCR0_ZMM, .phi = true},
    {LEAF_7_B, bit_AVX512PF, XCR0_ZMM, .phi = true},
};

static unsigned xcr0(unsigned leaf_1_c)
{
    unsigned low, high;

    if (!(leaf_1_c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int cpu_host(struct cpu *ret_cpu, struct err *err)
{
    unsigned a, b, c, d, leaf[LEAVES] = {0}, saved;
    int missing = 5, missing_bmi = 5; /* lowest level that lacks a feature */
    struct cpu cpu = X86("host", 1, false);
    const struct feature *f;
    bool phi = true, haswell = true, avx512_1 = true, er = false;
    char vendor[13] = "";

    (void)err;
    (void)__get_cpuid(0, &a, (unsigned *)(void *)vendor, (unsigned *)(void *)(vendor + 8),
                      (unsigned *)(void *)(vendor + 4));
    if (__get_cpuid(1, &a, &b, &c, &d))
        leaf[LEAF_1_C] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        leaf[LEAF_7_B] = b;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        leaf[LEAF_81_C] = c;
    saved = xcr0(leaf[LEAF_1_C]);
    for_each (f, features) {
        const bool usable = leaf[f->leaf] & f->bit && (saved & f->xcr0) == f->xcr0;

        er |= usable && f->bit == bit_AVX512ER && f->leaf == LEAF_7_B;
        if (usable)
            continue;
        phi &= !f->phi;
        haswell &= !f->haswell;
        avx512_1 &= !f->avx512_1;
        if (f->level && f->level < missing_bmi)
            missing_bmi = f->level;
        if (f->level && !f->bmi && f->level < missing)
            missing = f->level;
    }
    cpu.level = missing - 1;
    cpu.level_bmi = missing_bmi - 1;
    cpu.intel = strcmp(vendor, "GenuineIntel") == 0;
    cpu.haswell = haswell;
    cpu.xeon_phi = phi;
    cpu.avx512_1 = avx512_1 && !er;
    /* shown to people as the row that says the same; odd CPUs keep their own bits */
    cpu.name = cpus[cpu.level_bmi - 1 + (cpu.intel ? 4 : 0)].name;
    *ret_cpu = cpu;
    return 0;
}

#else

static int cpu_host(struct cpu *ret_cpu, struct err *err)
{
    (void)ret_cpu;
    return err_set(err, ENOTSUP, "'host': only x86-64 hosts can be asked; name the CPU instead");
}

#endif

int cpu_find(const char *name, struct cpu *ret_cpu, struct err *err)
{
    const struct cpu *cpu;
    char known[600] = "host";

    if (strcmp(name, "host") == 0)
        return cpu_host(ret_cpu, err);
    for_each (cpu, cpus) {
        const size_t len = strlen(known);

        if (strcmp(cpu->name, name) == 0) {
            *ret_cpu = *cpu;
            return 0;
        }
        (void)snprintf(known + len, sizeof(known) - len, ", %s", cpu->name);
    }
    return err_set(err, EINVAL, "'%s': no CPU of that name; known are %s", name, known);
}
