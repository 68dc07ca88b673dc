#include "tests/scene.h"

#include "tests/ldso_name.h"

#include <stdlib.h>
#include <string.h>

const char scene_interp[] = "/lib64/ld-linux-x86-64.so.2";

void scene_open(struct scene *s, struct arena *arena, const char *runpath)
{
    static const struct elf_dyn soname = {DT_SONAME, "ld-linux-x86-64.so.2", 0};

    *s = (struct scene){.arena = arena, .tree.arena = arena};
    s->dynamic[0] = (struct elf_dyn){DT_NEEDED, "liba.so", 0};
    s->dynamic[1] = (struct elf_dyn){DT_NEEDED, "libb.so", 0};
    s->dynamic[2] = (struct elf_dyn){DT_RUNPATH, runpath, 0};
    s->program = elf_program(scene_interp);
    s->program.dynamic = s->dynamic;
    s->program.n_dynamic = 3;
    s->loader = elf_library();
    s->loader.dynamic = &soname;
    s->loader.n_dynamic = 1;
    tree_add_elf(&s->tree, scene_interp, &s->loader)->is_loader = true;
    tree_add_elf(&s->tree, "/prog", &s->program);
    tree_add(&s->tree, ENTRY_DIR, "/proc");
}

void scene_library(struct scene *s, const char *path)
{
    struct elf_spec *spec = arena_alloc(s->arena, sizeof(*spec));

    *spec = elf_library();
    tree_add_elf(&s->tree, path, spec);
}

struct lines scene_run(struct scene *s, int version, struct trace *ret_trace)
{
    const struct start start = {
        .program = s->args ? scene_interp : "/prog",
        .record = true,
        .ld_args = s->args,
        .n_ld_args = s->n_args,
        .dlopens = s->dlopens,
        .n_dlopens = s->n_dlopens,
    };
    const char *name = arena_printf(s->arena, "glibc-2.%d-debian", version);
    struct lines lines = {.arena = s->arena};
    struct loader *loader;
    struct ldso ldso;
    struct cpu cpu;
    struct err err;
    bool intel;

    if (ldso_by_name(s->arena, name, scene_interp, &ldso, &intel, &err) < 0 ||
        cpu_find("x86-64-v1", &cpu, &err) < 0)
        abort();
    scene_close(s);
    s->world = tree_world(&s->tree, &ldso, 0);
    if (s->kernel)
        s->world->kernel = s->kernel;
    loader = loader_new(s->world, &cpu, "/", s->secure);
    if (loader_run(loader, &start, s->arena, ret_trace, &err) < 0)
        abort();
    lines_of_trace(&lines, ret_trace, s->dlopens, s->n_dlopens);
    loader_free(loader);
    return lines;
}

void scene_close(struct scene *s)
{
    if (s->world)
        world_close(s->world);
    s->world = NULL;
}

bool scene_has(const struct lines *lines, const char *line)
{
    for (size_t i = 0; i < lines->n; i++)
        if (!strcmp(lines->line[i], line))
            return true;
    return false;
}
