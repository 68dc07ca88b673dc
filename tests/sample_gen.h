/*
 * Inside the generator of random samples: what its files share (tests/sample.h).
 *
 *	sample.c	pools, the tree, the start
 *	sample_text.c	run paths, requests: strings with tokens in them
 *	sample_object.c	libraries, good and bad ones
 *	sample_files.c	what directories hold; the files that a loader reads
 */
#pragma once

#include "tests/sample.h"

enum { MAX_DIRS = 24, MAX_NAMES = 16, MAX_OBJECTS = 64 };

/*
 * The generator: pools of directories and of library names, and what it has made so far. Paths
 * are drawn from the pools again and again, so that things meet.
 */
struct gen {
    struct arena *arena;
    struct tree *tree;
    const struct sample_settings *settings;
    uint64_t state;
    size_t n_chosen;           /* of settings->choices */
    const char *dir[MAX_DIRS]; /* without trailing slash; some do not exist */
    size_t n_dirs;
    const char *name[MAX_NAMES];
    size_t n_names;
    const char *file[MAX_OBJECTS]; /* good libraries, targets for links */
    size_t n_files;
    const char *origin; /* the program's own path */
    bool plain_modes;   /* files the loader reads are for everybody */
};

/* Random numbers: the same on every machine. `percent` of 100; below n. */
uint64_t gen_next(struct gen *g);
size_t gen_below(struct gen *g, size_t n);
bool gen_chance(struct gen *g, unsigned percent);

#define PICK(g, table) ((table)[gen_below(g, ARRAY_LEN(table))])

/* From the pools; a directory may be "" (the root). */
const char *gen_dir(struct gen *g);
const char *gen_name(struct gen *g);

/* ---- sample_text.c */

/* One component of a run path or LD_LIBRARY_PATH, and up to `max` of them. */
const char *gen_component(struct gen *g);
const char *gen_path_list(struct gen *g, size_t max, const char *separators);

/* What stands in a DT_NEEDED, an LD_PRELOAD: mostly a plain name. */
const char *gen_request(struct gen *g);

/* Several of them. */
const char *gen_request_list(struct gen *g, size_t max, const char *separators);

/* ---- sample_object.c */

/* Things that can be wrong with a library, and with which the loader ends or goes on. */
enum fault {
    BAD_CLASS,
    BAD_MACHINE,
    BAD_BIG_ENDIAN,
    BAD_BIG_OTHER,
    BAD_TYPE_EXEC,
    BAD_TYPE_REL,
    BAD_VERSION,
    BAD_IDENT_VERSION,
    BAD_OSABI,
    GOOD_OSABI_GNU,
    BAD_ABIVERSION,
    GOOD_ABIVERSION,
    BAD_PADDING,
    BAD_PHENTSIZE,
    BAD_NO_DYNAMIC,
    BAD_EMPTY_DYNAMIC,
    BAD_PIE,
    BAD_ABI_TAG_OS,
    BAD_ABI_TAG_NEW,
    GOOD_ABI_TAG_OLD,
    GOOD_ABI_TAG,
    BAD_OTHER_IDENT,
    N_FAULTS,
};

/* A library of that name with whatever it may need. */
struct elf_spec *gen_library(struct gen *g, const char *name);
void gen_break(struct gen *g, struct elf_spec *spec, enum fault fault);

/* One entry at a random place of the dynamic section; run paths and flags. */
void gen_add_dyn(struct gen *g, struct elf_spec *spec, int64_t tag, const char *text,
                 uint64_t value);
void gen_add_paths(struct gen *g, struct elf_spec *spec, bool program);

/* ---- sample_files.c */

/* Make a directory of the pool, or what is there in its place, with files in it. */
void gen_fill_dir(struct gen *g, const char *dir);
void gen_preload_file(struct gen *g);
void gen_cache(struct gen *g);
