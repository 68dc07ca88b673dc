#include "loader/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const none[] = {NULL};
static const char *const power9[] = {"power9", NULL};
static const char *const power10[] = {"power10", "power9", NULL};
static const char *const z13[] = {"z13", NULL};
static const char *const z14[] = {"z14", "z13", NULL};
static const char *const z15[] = {"z15", "z14", "z13", NULL};
static const char *const z16[] = {"z16", "z15", "z14", "z13", NULL};
static const char *const z17[] = {"z17", "z16", "z15", "z14", "z13", NULL};

static const struct hwcap no_legacy[] = {{NULL, 0}};
static const struct hwcap aarch64_legacy[] = {{"atomics", 8}, {NULL, 0}};
static const struct hwcap arm_legacy[] = {{"vfp", 6}, {"neon", 12}, {NULL, 0}};
static const struct hwcap ppc_legacy[] = {{"dfp", 10}, {"altivec", 28}, {NULL, 0}};
static const struct hwcap i686_legacy[] = {{"sse2", 0}, {NULL, 0}};
/* what every machine since z10 has, then with the vector units of z13, z14 and z15 */
static const struct hwcap z10_legacy[] = {
    {"zarch", 1}, {"ldisp", 4}, {"eimm", 5}, {"dfp", 6}, {NULL, 0}};
static const struct hwcap z13_legacy[] = {{"zarch", 1}, {"ldisp", 4}, {"eimm", 5},
                                          {"dfp", 6},   {"vx", 11},   {NULL, 0}};
static const struct hwcap z14_legacy[] = {{"zarch", 1}, {"ldisp", 4}, {"eimm", 5}, {"dfp", 6},
                                          {"vx", 11},   {"vxe", 13},  {NULL, 0}};
static const struct hwcap z15_legacy[] = {{"zarch", 1}, {"ldisp", 4}, {"eimm", 5},  {"dfp", 6},
                                          {"vx", 11},   {"vxe", 13},  {"vxe2", 15}, {NULL, 0}};

/*
 * What levels and platforms are made of. One row a feature: where CPUID tells it and which state
 * the OS must save for it to be usable; which level needs it; the name that GLIBC_TUNABLES hides it
 * by (NULL: it cannot be hidden). The row's number is its bit in struct cpu.
 */
enum leaf { LEAF_1_C, LEAF_7_B, LEAF_81_C, LEAVES };
enum { XCR0_YMM = 0x6, XCR0_ZMM = 0xe6 };
enum role { HASWELL = 1 << 1, PHI = 1 << 2, AVX512_1 = 1 << 3, ER = 1 << 4 };

static const struct feature {
    const char *name;
    enum leaf leaf;
    unsigned bit, xcr0;
    int level;      /* the x86-64 level that needs it; 5: none of the four */
    unsigned roles; /* what else it is part of */
} features[] = {
    {NULL, LEAF_1_C, 1u << 13, 0, 2, 0}, /* CMPXCHG16B */
    {NULL, LEAF_81_C, 1u << 0, 0, 2, 0}, /* LAHF */
    {NULL, LEAF_1_C, 1u << 0, 0, 2, 0},  /* SSE3 */
    {"POPCNT", LEAF_1_C, 1u << 23, 0, 2, HASWELL},
    {"SSSE3", LEAF_1_C, 1u << 9, 0, 2, 0},
    {"SSE4_1", LEAF_1_C, 1u << 19, 0, 2, 0},
    {"SSE4_2", LEAF_1_C, 1u << 20, 0, 2, 0},
    {"AVX", LEAF_1_C, 1u << 28, XCR0_YMM, 3, 0},
    {"AVX2", LEAF_7_B, 1u << 5, XCR0_YMM, 3, HASWELL},
    {NULL, LEAF_1_C, 1u << 29, XCR0_YMM, 3, 0}, /* F16C */
    {"FMA", LEAF_1_C, 1u << 12, XCR0_YMM, 3, HASWELL},
    {"LZCNT", LEAF_81_C, 1u << 5, 0, 3, HASWELL},
    {"MOVBE", LEAF_1_C, 1u << 22, 0, 3, HASWELL},
    {"BMI1", LEAF_7_B, 1u << 3, 0, 3, HASWELL},
    {"BMI2", LEAF_7_B, 1u << 8, 0, 3, HASWELL},
    {"AVX512F", LEAF_7_B, 1u << 16, XCR0_ZMM, 4, 0},
    {"AVX512DQ", LEAF_7_B, 1u << 17, XCR0_ZMM, 4, AVX512_1},
    {"AVX512CD", LEAF_7_B, 1u << 28, XCR0_ZMM, 4, AVX512_1 | PHI},
    {"AVX512BW", LEAF_7_B, 1u << 30, XCR0_ZMM, 4, AVX512_1},
    {"AVX512VL", LEAF_7_B, 1u << 31, XCR0_ZMM, 4, AVX512_1},
    {"AVX512PF", LEAF_7_B, 1u << 26, XCR0_ZMM, 5, PHI},
    {"AVX512ER", LEAF_7_B, 1u << 27, XCR0_ZMM, 5, PHI | ER},
};

/* All features that the levels up to `level` need. */
static uint32_t features_of_level(int level)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        if (features[i].level <= level)
            bits |= UINT32_C(1) << i;
    return bits;
}

/* Does the CPU have every feature of a role? */
static bool has_role(const struct cpu *cpu, unsigned role)
{
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        if (features[i].roles & role && !(cpu->features & UINT32_C(1) << i))
            return false;
    return true;
}

int cpu_level(const struct cpu *cpu)
{
    int level = 4;

    for (size_t i = 0; i < ARRAY_LEN(features); i++) {
        const struct feature *f = &features[i];

        if (!(cpu->features & UINT32_C(1) << i) && f->level <= level)
            level = f->level - 1;
    }
    return level;
}

bool cpu_avx512_1(const struct cpu *cpu)
{
    return cpu->intel && has_role(cpu, AVX512_1) && !has_role(cpu, ER);
}

const char *cpu_platform(const struct cpu *cpu)
{
    if (cpu->intel && has_role(cpu, PHI))
        return "xeon_phi";
    return cpu->intel && has_role(cpu, HASWELL) ? "haswell" : cpu->platform;
}

bool cpu_hide(struct cpu *cpu, const char *tunables)
{
    static const char name[] = "glibc.cpu.hwcaps=";
    bool all_known = true;

    while (*tunables) {
        const size_t len = strcspn(tunables, ":");
        const char *at = tunables, *end = tunables + len;

        tunables = end + (*end == ':');
        if (strncmp(at, name, strlen(name)) != 0) {
            all_known &= strncmp(at, "glibc.cpu.", strlen("glibc.cpu.")) != 0;
            continue;
        }
        for (at += strlen(name); at < end; at += at < end) {
            const size_t word = strcspn(at, ",:");
            bool known = false;

            for (size_t i = 0; *at == '-' && i < ARRAY_LEN(features); i++) {
                if (!features[i].name || strlen(features[i].name) != word - 1 ||
                    strncmp(at + 1, features[i].name, word - 1) != 0)
                    continue;
                cpu->features &= ~(UINT32_C(1) << i);
                known = true;
            }
            all_known &= known;
            at += word;
        }
    }
    return all_known;
}

#define X86(text, level_, vendor)                                                                  \
    {                                                                                              \
        .name = (text), .machine = EM_X86_64, .platform = "x86_64", .x86_level = (level_),         \
        .intel = (vendor), .levels = none, .legacy = no_legacy, .vdso = "linux-vdso.so.1"          \
    }
#define LEVELS(levels_, legacy_) .levels = (levels_), .legacy = (legacy_)
#define PLATFORM(name, bit)      .platform = (name), .platform_bit = (bit)
#define S390(text, levels_, legacy_, bit)                                                          \
    {                                                                                              \
        "s390x-" text, EM_S390, LEVELS(levels_, legacy_), PLATFORM(text, bit),                     \
            .vdso = "linux-vdso64.so.1", .from_source = true                                       \
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
    {"aarch64", EM_AARCH64, LEVELS(none, aarch64_legacy), PLATFORM("aarch64", 0),
     .vdso = "linux-vdso.so.1"},
    {"aarch64-v8.0", EM_AARCH64, LEVELS(none, no_legacy), PLATFORM("aarch64", 0),
     .vdso = "linux-vdso.so.1"},
    {"i686", EM_386, LEVELS(none, i686_legacy), PLATFORM("i686", 49), .vdso = "linux-gate.so.1"},
    {"armv7", EM_ARM, LEVELS(none, arm_legacy), PLATFORM("v7l", 0), .vdso = "linux-vdso.so.1"},
    {"armv8l", EM_ARM, LEVELS(none, arm_legacy), PLATFORM("v8l", 0), .vdso = "linux-vdso.so.1"},
    {"riscv64", EM_RISCV, LEVELS(none, no_legacy), .vdso = "linux-vdso.so.1"},
    {"powerpc64le", EM_PPC64, LEVELS(none, ppc_legacy), PLATFORM("power8", 45),
     .vdso = "linux-vdso64.so.1"},
    {"powerpc64le-power9", EM_PPC64, LEVELS(power9, ppc_legacy), PLATFORM("power9", 46),
     .vdso = "linux-vdso64.so.1"},
    {"powerpc64le-power10", EM_PPC64, LEVELS(power10, ppc_legacy), PLATFORM("power10", 47),
     .vdso = "linux-vdso64.so.1"},
    {"s390x", EM_S390, LEVELS(none, z10_legacy), PLATFORM("z10", 36), .vdso = "linux-vdso64.so.1",
     .from_source = true},
    S390("z13", z13, z13_legacy, 39),
    S390("z14", z14, z14_legacy, 40),
    S390("z15", z15, z15_legacy, 41),
    S390("z16", z16, z15_legacy, 42),
    S390("z17", z17, z15_legacy, 0),
    {"loongarch64", EM_LOONGARCH, LEVELS(none, no_legacy), PLATFORM("loongarch", 0),
     .vdso = "linux-vdso.so.1", .from_source = true},
};

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
    unsigned a, b, c, d, leaf[LEAVES] = {0}, vendor[4] = {0}, saved;
    struct cpu cpu = X86("host", 1, false);

    (void)err;
    (void)__get_cpuid(0, &a, &vendor[0], &vendor[2], &vendor[1]);
    if (__get_cpuid(1, &a, &b, &c, &d))
        leaf[LEAF_1_C] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        leaf[LEAF_7_B] = b;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        leaf[LEAF_81_C] = c;
    saved = xcr0(leaf[LEAF_1_C]);
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        if (leaf[features[i].leaf] & features[i].bit &&
            (saved & features[i].xcr0) == features[i].xcr0)
            cpu.features |= UINT32_C(1) << i;
    cpu.intel = memcmp(vendor, "GenuineIntel", 12) == 0;
    /* shown to people as the row that says the same; odd CPUs keep their own bits */
    cpu.name = cpus[cpu_level(&cpu) - 1 + (cpu.intel ? 4 : 0)].name;
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
    char known[800] = "host";

    if (strcmp(name, "host") == 0)
        return cpu_host(ret_cpu, err);
    for_each (cpu, cpus) {
        const size_t len = strlen(known);

        if (strcmp(cpu->name, name) == 0) {
            *ret_cpu = *cpu;
            if (cpu->machine == EM_X86_64)
                ret_cpu->features = features_of_level(cpu->x86_level);
            return 0;
        }
        (void)snprintf(known + len, sizeof(known) - len, ", %s", cpu->name);
    }
    return err_set(err, EINVAL, "'%s': no CPU of that name; known are %s", name, known);
}
