#include "tests/machine.h"

#include "base/str.h"

#include <string.h>

/* getppid(); exit(0) of each machine: the numbers of the calls are in what is loaded first */
static const unsigned char aarch64_code[] = {
    0xa8, 0x15, 0x80, 0xd2, 1, 0, 0, 0xd4, 0, 0, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4,
};
static const unsigned char i386_code[] = {
    0xb8, 64, 0, 0, 0, 0xcd, 0x80, 0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80,
};
static const unsigned char arm_code[] = {
    64, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef, 0, 0, 0xa0, 0xe3, 1, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef,
};
static const unsigned char riscv_code[] = {
    0x93, 0x08, 0xd0, 0x0a, 0x73, 0, 0, 0, 0x13, 5, 0, 0, 0x93, 0x08, 0xd0, 5, 0x73, 0, 0, 0,
};
static const unsigned char ppc64le_code[] = {
    64, 0, 0, 0x38, 2, 0, 0, 0x44, 1, 0, 0, 0x38, 0, 0, 0x60, 0x38, 2, 0, 0, 0x44,
};
static const unsigned char s390x_code[] = {0x0a, 64, 0xa7, 0x29, 0, 0, 0x0a, 1};
static const unsigned char loongarch_code[] = {
    0x0b, 0xb4, 0x82, 3, 0, 0, 0x2b, 0, 4, 0, 0x80, 3, 0x0b, 0x74, 0x81, 3, 0, 0, 0x2b, 0,
};

#define CODE(bytes) .code = (bytes), .code_size = sizeof(bytes)
#define LITTLE64    .class = ELFCLASS64, .data = ELFDATA2LSB
#define BIT(n)      (UINT64_C(1) << (n))

static const struct machine machines[] = {
    {
        .name = "aarch64",
        .cpu = "aarch64",
        .emulator = "/usr/bin/qemu-aarch64-static",
        .loader = "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
        .interp = "/lib/ld-linux-aarch64.so.1",
        .musl = "/lib/ld-musl-aarch64.so.1",
        .machine = EM_AARCH64,
        LITTLE64,
        CODE(aarch64_code),
        .cache_flags = 0x0a03,
        .legacy = {"atomics", "aarch64"},
        .hwcap = {BIT(8)},
    },
    {
        .name = "i686",
        .cpu = "i686",
        .loader = "/lib32/ld-linux.so.2",
        .interp = "/lib/ld-linux.so.2",
        .musl = "/lib/ld-musl-i386.so.1",
        .machine = EM_386,
        .class = ELFCLASS32,
        .data = ELFDATA2LSB,
        CODE(i386_code),
        .cache_flags = 0x0003,
        .legacy = {"sse2", "i686"},
        .hwcap = {BIT(0), BIT(1), BIT(49)},
    },
    {
        .name = "armv7",
        .cpu = "armv7",
        .emulator = "/usr/bin/qemu-arm-static",
        .model = "cortex-a15",
        .loader = "/usr/arm-linux-gnueabihf/lib/ld-linux-armhf.so.3",
        .interp = "/lib/ld-linux-armhf.so.3",
        .musl = "/lib/ld-musl-armhf.so.1",
        .machine = EM_ARM,
        .class = ELFCLASS32,
        .data = ELFDATA2LSB,
        .flags = 0x05000400,
        CODE(arm_code),
        .cache_flags = 0x0903,
        .legacy = {"neon", "v7l", "vfp"},
        .hwcap = {BIT(6), BIT(12)},
    },
    {
        .name = "riscv64",
        .cpu = "riscv64",
        .emulator = "/usr/bin/qemu-riscv64-static",
        .loader = "/usr/riscv64-linux-gnu/lib/ld-linux-riscv64-lp64d.so.1",
        .interp = "/lib/ld-linux-riscv64-lp64d.so.1",
        .musl = "/lib/ld-musl-riscv64.so.1",
        .machine = EM_RISCV,
        LITTLE64,
        .flags = 0x5,
        CODE(riscv_code),
        .cache_flags = 0x1003,
    },
    {
        .name = "powerpc64le",
        .cpu = "powerpc64le-power9",
        .emulator = "/usr/bin/qemu-ppc64le-static",
        .model = "power9",
        .loader = "/usr/powerpc64le-linux-gnu/lib/ld64.so.2",
        .interp = "/lib64/ld64.so.2",
        .musl = "/lib/ld-musl-powerpc64le.so.1",
        .machine = EM_PPC64,
        LITTLE64,
        .flags = 2,
        CODE(ppc64le_code),
        .cache_flags = 0x0503,
        .level = {"power10", "power8", "power9"},
        .legacy = {"altivec", "power9", "dfp"},
        .hwcap = {BIT(10), BIT(28), BIT(46)},
    },
    {
        .name = "s390x",
        .cpu = "s390x-z13",
        .emulator = "/usr/bin/qemu-s390x-static",
        .loader = "/usr/s390x-linux-gnu/lib/ld64.so.1",
        .interp = "/lib/ld64.so.1",
        .musl = "/lib/ld-musl-s390x.so.1",
        .machine = EM_S390,
        .class = ELFCLASS64,
        .data = ELFDATA2MSB,
        CODE(s390x_code),
        .cache_flags = 0x0403,
        .level = {"z13", "z14", "z15"},
        .legacy = {"zarch", "vxe", "eimm"},
        .hwcap = {BIT(1), BIT(6), BIT(39)},
    },
    {
        .name = "loongarch64",
        .cpu = "loongarch64",
        .emulator = "/usr/bin/qemu-loongarch64-static",
        .loader = "/usr/loongarch64-linux-gnu/lib/ld-linux-loongarch-lp64d.so.1",
        .interp = "/lib64/ld-linux-loongarch-lp64d.so.1",
        .musl = "/lib/ld-musl-loongarch64.so.1",
        .machine = EM_LOONGARCH,
        LITTLE64,
        .flags = 0x43,
        CODE(loongarch_code),
        .cache_flags = 0x1203,
    },
};

const struct machine *machine_find(const char *name)
{
    const struct machine *m;

    for_each (m, machines)
        if (!strcmp(m->name, name))
            return m;
    return NULL;
}

int machine_cpu(const struct machine *m, struct cpu *ret_cpu, struct err *err)
{
    /* qemu's s390x has no decimal floating point, but the vector units of z14 */
    static const struct hwcap s390_legacy[] = {{"zarch", 1}, {"ldisp", 4}, {"eimm", 5},
                                               {"vx", 11},   {"vxe", 13},  {NULL, 0}};
    struct cpu cpu;
    const int r = cpu_find(m->cpu, &cpu, err);

    if (r < 0)
        return r;
    if (m->emulator) {
        cpu.vdso = NULL;
        if (m->machine != EM_AARCH64 && m->machine != EM_ARM)
            cpu.platform = NULL, cpu.platform_bit = 0;
        if (m->machine == EM_S390)
            cpu.legacy = s390_legacy;
    }
    *ret_cpu = cpu;
    return 0;
}

/* ---- names */

struct rename {
    const char *from, *to;
};

enum { MAX_RENAMES = 8 };

struct renames {
    const struct machine *machine;
    struct arena *arena;
    struct rename rename[MAX_RENAMES];
    size_t n;
    uint64_t state; /* of the choices below */
};

static void set_renames(struct renames *r, const char *soname)
{
    static const char *const levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
    static const char *const legacy[] = {"x86_64", "haswell", "avx512_1"};

    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (r->machine->level[i])
            r->rename[r->n++] = (struct rename){levels[i], r->machine->level[i]};
    for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
        if (r->machine->legacy[i])
            r->rename[r->n++] = (struct rename){legacy[i], r->machine->legacy[i]};
    /* a cache's level names are sorted, each once: what the generator adds to x86-64's goes first
     */
    if (r->machine->level[0])
        r->rename[r->n++] = (struct rename){"power9", "none9"};
    if (soname)
        r->rename[r->n++] = (struct rename){"ld-linux-x86-64.so.2", soname};
}

/* Every word of a text, between separators of any kind, that has another name there. */
static const char *renamed(const struct renames *r, const char *text)
{
    struct str out = {.arena = r->arena};

    if (!text)
        return NULL;
    str_add(&out, "");
    while (*text) {
        const size_t len = strcspn(text, "/:; \t\n=,?"), with = len + (text[len] != '\0');
        const char *word = NULL;

        for (size_t i = 0; i < r->n; i++)
            if (strlen(r->rename[i].from) == len && !strncmp(text, r->rename[i].from, len))
                word = r->rename[i].to;
        if (word)
            str_printf(&out, "%s%.*s", word, (int)(with - len), text + len);
        else
            str_add_n(&out, text, with);
        text += with;
    }
    return out.text;
}

/* ---- objects */

static uint64_t choose(struct renames *r, uint64_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (r->state >> 33) % n;
}

static uint32_t swapped(uint32_t word, const struct machine *m)
{
    return m->data == ELFDATA2MSB ? __builtin_bswap32(word) : word;
}

static void convert_notes(struct renames *r, struct elf_spec *spec)
{
    struct elf_note *notes = arena_memdup(r->arena, spec->note, spec->n_notes * sizeof(*notes));

    for (size_t i = 0; i < spec->n_notes; i++) {
        uint32_t tag[4];

        if (strcmp(notes[i].owner, "GNU") != 0 || notes[i].size != sizeof(tag))
            continue;
        memcpy(tag, notes[i].bytes, sizeof(tag));
        for (size_t j = 0; j < ARRAY_LEN(tag); j++)
            tag[j] = swapped(tag[j], r->machine);
        notes[i].bytes = arena_memdup(r->arena, tag, sizeof(tag));
    }
    spec->note = notes;
}

/* What is odd about e_flags or the OS ABI on one machine only. */
static void odd_header(struct renames *r, struct elf_spec *spec)
{
    static const uint32_t flags[] = {0, 1, 2, 3, 4, 5, 0x200, 0x400, 0x05000200, 0x05000000};
    static const uint8_t abis[] = {ELFOSABI_ARM_AEABI, ELFOSABI_ARM, ELFOSABI_GNU};

    if (choose(r, 12) == 0)
        spec->flags = flags[choose(r, ARRAY_LEN(flags))];
    if (choose(r, 40) == 0)
        spec->osabi = abis[choose(r, ARRAY_LEN(abis))];
    if (choose(r, 40) == 0)
        spec->abiversion = (uint8_t)choose(r, 6);
}

/* What was right for x86-64 is right for the machine, and what was wrong stays wrong. */
static const struct elf_spec *converted(struct renames *r, const struct elf_spec *from)
{
    const struct machine *m = r->machine;
    struct elf_spec *spec = arena_memdup(r->arena, from, sizeof(*spec));
    struct elf_dyn *dyn = arena_memdup(r->arena, from->dynamic, from->n_dynamic * sizeof(*dyn));

    spec->class =
        (uint8_t)(from->class == ELFCLASS64 ? m->class : ELFCLASS32 + ELFCLASS64 - m->class);
    spec->data =
        (uint8_t)(from->data == ELFDATA2LSB ? m->data : ELFDATA2LSB + ELFDATA2MSB - m->data);
    if (from->machine == EM_X86_64)
        spec->machine = m->machine;
    else if (from->machine == m->machine)
        spec->machine = EM_X86_64;
    if (from->phentsize)
        spec->phentsize = m->class == ELFCLASS32 ? 56 : 32;
    spec->flags = m->flags;
    if (from->interp) {
        spec->code = m->code;
        spec->code_size = m->code_size;
    } else {
        odd_header(r, spec);
    }
    for (size_t i = 0; i < from->n_dynamic; i++)
        dyn[i].text = renamed(r, dyn[i].text);
    spec->dynamic = dyn;
    convert_notes(r, spec);
    return spec;
}

/* ---- caches */

static bool is_cache(const struct entry *entry)
{
    return entry->bytes && entry->size >= 20 && !memcmp(entry->bytes, "glibc-ld.so.cache1.1", 20);
}

struct cache {
    char *bytes;
    size_t size;
    const struct machine *machine;
};

static uint32_t cache_word(const struct cache *c, size_t at)
{
    uint32_t word = 0;

    if (at + 4 <= c->size)
        memcpy(&word, c->bytes + at, 4);
    return word;
}

static void cache_put(const struct cache *c, size_t at, uint64_t value, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        const size_t half = c->machine->data == ELFDATA2MSB ? words - 1 - i : i;
        const uint32_t word = swapped((uint32_t)(value >> 32 * half), c->machine);

        if (at + 4 * i + 4 <= c->size)
            memcpy(c->bytes + at + 4 * i, &word, 4);
    }
}

static uint64_t cache_hwcap(const struct machine *m, uint64_t bits)
{
    static const uint64_t from[] = {BIT(1), BIT(2), BIT(50)};

    for (size_t i = 0; i < ARRAY_LEN(from); i++)
        if (bits == from[i] && m->hwcap[i])
            return m->hwcap[i];
    return bits;
}

/* loader/ldcache_write.c says where things are. Level names are overwritten in place: none is longer. */
static void convert_cache(const struct renames *r, struct entry *entry)
{
    const struct cache c = {arena_memdup(r->arena, entry->bytes, entry->size), entry->size,
                            r->machine};
    const uint32_t n = cache_word(&c, 20), extension = cache_word(&c, 32);
    const uint32_t levels = extension ? cache_word(&c, extension + 20) / 4 : 0;

    for (size_t i = 0; i < levels; i++) {
        const size_t at = cache_word(&c, extension + 24 + i * 4);
        const char *to = at < c.size ? renamed(r, arena_strndup(r->arena, c.bytes + at, 9)) : "";

        if (at + strlen(to) < c.size)
            memcpy(c.bytes + at, to, strlen(to) + 1);
        cache_put(&c, extension + 24 + i * 4, at, 1);
    }
    for (size_t i = 0; extension && i < 6; i++)
        cache_put(&c, extension + i * 4, cache_word(&c, extension + i * 4), 1);
    for (size_t i = 0; i < n; i++) {
        const size_t at = 48 + i * 24;
        const uint32_t flags = cache_word(&c, at);
        const uint64_t hwcap = cache_word(&c, at + 16) | (uint64_t)cache_word(&c, at + 20) << 32;

        cache_put(&c, at, flags == 0x0303 ? r->machine->cache_flags : flags, 1);
        cache_put(&c, at + 4, cache_word(&c, at + 4), 1);
        cache_put(&c, at + 8, cache_word(&c, at + 8), 1);
        cache_put(&c, at + 16, cache_hwcap(r->machine, hwcap), 2);
    }
    cache_put(&c, 20, n, 1);
    cache_put(&c, 24, cache_word(&c, 24), 1);
    cache_put(&c, 32, extension, 1);
    if (c.size > 28)
        c.bytes[28] = r->machine->data == ELFDATA2MSB ? 3 : 2;
    entry->bytes = c.bytes;
}

/* ---- samples */

void machine_sample(const struct machine *machine, const char *soname, struct sample *sample)
{
    struct renames r = {.machine = machine, .arena = sample->arena, .state = sample->seed};

    set_renames(&r, soname);
    for (size_t i = 0; i < sample->tree.n_entries; i++) {
        struct entry *entry = &sample->tree.entry[i];

        entry->path = renamed(&r, entry->path);
        entry->target = renamed(&r, entry->target);
        if (entry->elf)
            entry->elf = converted(&r, entry->elf);
        if (entry->kind == ENTRY_FILE && is_cache(entry))
            convert_cache(&r, entry);
    }
    for (size_t i = 0; i < sample->n_env; i++)
        sample->env[i] = renamed(&r, sample->env[i]);
    for (size_t i = 0; i < sample->n_args; i++)
        sample->args[i] = renamed(&r, sample->args[i]);
    sample->program = renamed(&r, sample->program);
    if (machine->emulator)
        sample->secure = false; /* for the kernel, the emulator is what is started */
}
