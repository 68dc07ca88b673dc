/*
 * The index, as commands use it: opened, shown as a world, asked for programs by name.
 */
#pragma once

#include "cli/options.h"
#include "loader/storm.h"

struct indexed {
    struct db *db;
    struct setting setting;
};

/* The index of the options. */
MUST_CHECK int indexed_open(struct options *options, struct indexed *ret_indexed, struct err *err);
void indexed_release(struct indexed *indexed);

/*
 * What an argument means in the index: a path with a slash itself, else the programs of that name.
 * -ENOENT: there is none.
 */
MUST_CHECK int indexed_find(struct indexed *indexed, const char *arg, struct arena *arena,
                            const char ***ret_path, size_t *ret_n, struct err *err);
