/*
 * Scenes: a program that needs liba.so and libb.so in a small tree, started by the model under
 * whatever release of glibc, for unit tests of single rules.
 *
 *	scene_open(&s, &arena, "/a:/b");
 *	scene_library(&s, "/a/liba.so");
 *	lines = scene_run(&s, 36, &trace);
 *	scene_close(&s);
 */
#pragma once

#include "tests/lines.h"
#include "tests/tree.h"

enum { SCENE_MAX_DYN = 4 };
extern const char scene_interp[];

struct scene {
    struct arena *arena;
    struct tree tree;
    struct elf_spec program, loader;
    struct elf_dyn dynamic[SCENE_MAX_DYN]; /* needed, needed, run path, free for use */
    const char *const *args;               /* of an explicit start */
    size_t n_args;
    const struct dlopen_call *dlopens; /* once it has started */
    size_t n_dlopens;
    bool secure;
    uint32_t kernel;     /* 0: newer than any file asks for */
    struct world *world; /* of the last run: traces borrow from it */
};

/* `arena` keeps everything; the scene must stay where it is. */
void scene_open(struct scene *scene, struct arena *arena, const char *runpath);

/* A library without any needs at that path. */
void scene_library(struct scene *scene, const char *path);

/*
 * The start under Debian's glibc 2.`version`; ends the process when it cannot be set up. The trace
 * is good until the next run.
 */
struct lines scene_run(struct scene *scene, int version, struct trace *ret_trace);
void scene_close(struct scene *scene);

bool scene_has(const struct lines *lines, const char *line);
