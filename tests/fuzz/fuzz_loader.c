/*
 * The generator of random samples with its choices taken from the input, and the loader model over
 * what comes out: it ends, and says the same when asked again.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/ldso_name.h"
#include "tests/lines.h"
#include "tests/sample.h"

#include <stdlib.h>

static void run(struct loader *loader, const struct sample *s, struct lines *to)
{
    const struct start start = {
        .program = s->program,
        .env = s->env,
        .n_env = s->n_env,
        .record = true,
        .ld_args = s->args,
        .n_ld_args = s->n_args,
        .dlopens = s->dlopens,
        .n_dlopens = s->n_dlopens,
    };
    struct trace trace;
    struct err err;

    if (loader_run(loader, &start, to->arena, &trace, &err) == 0)
        lines_of_trace(to, &trace, s->dlopens, s->n_dlopens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kind {
        const char *name, *interp;
        int version;
    } kinds[] = {
        {"glibc-2.31-debian", "/lib64/ld-linux-x86-64.so.2", 31},
        {"glibc-2.36-debian", "/lib64/ld-linux-x86-64.so.2", 36},
        {"glibc-2.42-nix", "/s/g/lib/ld-linux-x86-64.so.2", 42},
        {"glibc-2.42-ldcache-nix", "/s/g/lib/ld-linux-x86-64.so.2", 42},
        {"musl-1.2.5", "/lib/ld-musl-x86_64.so.1", 0},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct sample_settings settings = {.loader_file = "/none", .any_user = true};
    struct lines first = {.arena = &arena}, again = {.arena = &arena};
    const struct kind *kind;
    const struct elf_spec spec = elf_library();
    struct sample sample;
    struct loader *loader;
    struct world *world;
    struct ldso ldso;
    struct cpu cpu;
    struct err err;
    bool intel;
    size_t at;

    if (size < 2)
        return 0;
    kind = &kinds[data[0] % ARRAY_LEN(kinds)];
    if (ldso_by_name(&arena, kind->name, kind->interp, &ldso, &intel, &err) < 0 ||
        cpu_find(data[1] & 1 ? "x86-64-v4:intel" : "x86-64-v3", &cpu, &err) < 0)
        abort();
    settings.interp = kind->interp;
    settings.ldso = &ldso;
    settings.version = kind->version;
    settings.choices = data + 2;
    settings.n_choices = size - 2;
    sample_make(&arena, 1, &settings, &sample);
    for (size_t i = 0; i < sample.tree.n_entries; i++)
        if (sample.tree.entry[i].is_loader)
            sample.tree.entry[i].elf = &spec;
    world = tree_world(&sample.tree, &ldso, sample.uid);
    loader = loader_new(world, &cpu, sample.cwd, sample.secure);
    run(loader, &sample, &first);
    run(loader, &sample, &again);
    if (!lines_same(&first, &again, &at))
        abort();
    loader_free(loader);
    world_close(world);
    return 0;
}
