#include "tests/sample_gen.h"

#include "base/str.h"

#include <string.h>

/* ---- objects */

void gen_add_dyn(struct gen *g, struct elf_spec *spec, int64_t tag, const char *text,
                 uint64_t value)
{
    struct elf_dyn *list = arena_calloc(g->arena, spec->n_dynamic + 1, sizeof(*list));
    const size_t at = gen_below(g, spec->n_dynamic + 1); /* anywhere among the others */

    if (spec->n_dynamic) {
        memcpy(list, spec->dynamic, at * sizeof(*list));
        memcpy(list + at + 1, spec->dynamic + at, (spec->n_dynamic - at) * sizeof(*list));
    }
    list[at] = (struct elf_dyn){tag, text, value};
    spec->dynamic = list;
    spec->n_dynamic++;
}

static void add_note(struct gen *g, struct elf_spec *spec, const char *owner, uint32_t type,
                     const void *bytes, size_t size)
{
    struct elf_note *note = arena_alloc(g->arena, sizeof(*note));

    *note = (struct elf_note){owner, type, arena_memdup(g->arena, bytes, size), (uint32_t)size};
    spec->note = note;
    spec->n_notes = 1;
}

/* The resolution note of an object: what readers of it may find, right or wrong. */
static void add_resolution(struct gen *g, struct elf_spec *spec)
{
    struct str text = {.arena = g->arena};

    for (size_t n = 1 + gen_below(g, 3); n; n--) {
        const char *name = gen_name(g);
        struct str list = {.arena = g->arena};

        str_add(&list, "");
        for (size_t i = gen_below(g, 4); i; i--) {
            if (gen_chance(g, 50))
                str_printf(&list, "?%s%s", gen_component(g), i > 1 ? ":" : "");
            else
                str_printf(&list, "=%s/%s%s", gen_dir(g), name, i > 1 ? ":" : "");
        }
        str_add_n(&text, name, strlen(name) + 1);
        str_add_n(&text, list.text, list.len + 1);
    }
    str_add_n(&text, "", 1);
    add_note(g, spec, "NixOS", NT_NIXOS_RESOLUTION, text.text, text.len);
}

void gen_add_paths(struct gen *g, struct elf_spec *spec, bool program)
{
    const bool nodeflib = gen_chance(g, 8);

    if (gen_chance(g, program ? 75 : 45))
        gen_add_dyn(g, spec, DT_RUNPATH, gen_path_list(g, program ? 5 : 3, ":"), 0);
    if (gen_chance(g, program ? 20 : 25))
        gen_add_dyn(g, spec, DT_RPATH, gen_path_list(g, 3, ":"), 0);
    if (nodeflib)
        gen_add_dyn(g, spec, DT_FLAGS_1, NULL, DF_1_NODEFLIB);
    if (g->settings->ldso->reads_note ? gen_chance(g, 40) : gen_chance(g, 3))
        add_resolution(g, spec);
}

static void abi_tag(struct gen *g, struct elf_spec *spec, uint32_t os, uint32_t major)
{
    const uint32_t tag[4] = {os, major, 2, 0};

    add_note(g, spec, "GNU", NT_GNU_ABI_TAG, tag, sizeof(tag));
}

void gen_break(struct gen *g, struct elf_spec *spec, enum fault fault)
{
    switch (fault) {
    case BAD_CLASS:
        elf_for_machine(spec, EM_386, ELFCLASS32, ELFDATA2LSB);
        break;
    case BAD_MACHINE:
        spec->machine = PICK(g, ((const uint16_t[]){EM_AARCH64, EM_386}));
        break;
    case BAD_BIG_ENDIAN:
        spec->data = ELFDATA2MSB;
        break;
    case BAD_BIG_OTHER:
        elf_for_machine(spec, EM_S390, ELFCLASS64, ELFDATA2MSB);
        break;
    case BAD_TYPE_EXEC:
        spec->type = ET_EXEC;
        break;
    case BAD_TYPE_REL:
        spec->type = ET_REL;
        break;
    case BAD_VERSION:
        spec->version = 2;
        break;
    case BAD_IDENT_VERSION:
        spec->ident_version = 0;
        break;
    case BAD_OSABI:
        spec->osabi = ELFOSABI_FREEBSD;
        break;
    case GOOD_OSABI_GNU:
        spec->osabi = ELFOSABI_GNU;
        break;
    case BAD_ABIVERSION:
        spec->abiversion = 1;
        break;
    case GOOD_ABIVERSION:
        spec->osabi = ELFOSABI_GNU;
        spec->abiversion = (uint8_t)gen_below(g, 6);
        break;
    case BAD_PADDING:
        spec->ident_pad = true;
        break;
    case BAD_PHENTSIZE:
        spec->phentsize = 32;
        break;
    case BAD_NO_DYNAMIC:
        spec->no_dynamic = true;
        break;
    case BAD_EMPTY_DYNAMIC:
        spec->empty_dynamic = true;
        break;
    case BAD_PIE:
        gen_add_dyn(g, spec, DT_FLAGS_1, NULL, DF_1_PIE);
        break;
    case BAD_ABI_TAG_OS:
        abi_tag(g, spec, 1, 2);
        break;
    case BAD_ABI_TAG_NEW:
        abi_tag(g, spec, 0, 99);
        break;
    case GOOD_ABI_TAG_OLD:
        abi_tag(g, spec, 0, 2);
        break;
    case GOOD_ABI_TAG:
        abi_tag(g, spec, 0, 3);
        break;
    case BAD_OTHER_IDENT:
        spec->machine = EM_386;
        spec->osabi = ELFOSABI_FREEBSD;
        break;
    case N_FAULTS:
    default:
        break;
    }
}

/* Seldom: a start with filters that are found often ends in an assertion of the loader. */
static void add_filter(struct gen *g, struct elf_spec *spec)
{
    if (gen_chance(g, 3))
        gen_add_dyn(g, spec, gen_chance(g, 60) ? DT_AUXILIARY : DT_FILTER, gen_request(g), 0);
}

struct elf_spec *gen_library(struct gen *g, const char *name)
{
    struct elf_spec *spec = arena_alloc(g->arena, sizeof(*spec));

    *spec = elf_library();
    if (gen_chance(g, 80))
        gen_add_dyn(g, spec, DT_SONAME, gen_chance(g, 92) ? name : gen_name(g), 0);
    gen_add_paths(g, spec, false);
    add_filter(g, spec);
    for (size_t n = gen_below(g, 4); n > 1; n--)
        gen_add_dyn(g, spec, DT_NEEDED, gen_request(g), 0);
    return spec;
}
