/*
 * Make a described tree on disk, real ELF files and all.
 *
 *	mktree TREE DIR
 *
 * TREE is a text file, one entry a line (tests/tree.h), or the JSON of a recorded case, whose
 * first record's tree is made. DIR is made if need be.
 */
#include "base/str.h"
#include "tests/tree.h"

#include <stdio.h>
#include <sys/stat.h>

enum { JSON_MAX = 64 * 1024 * 1024 };

static int read_tree(struct arena *arena, const char *path, struct tree *ret_tree, struct err *err)
{
    json_t *file;
    int r;

    if (!str_ends(path, ".json"))
        return tree_read_text(arena, path, ret_tree, err);
    r = json_read_file(path, JSON_MAX, &file, err);
    if (r < 0)
        return r;
    r = tree_read_json(arena,
                       json_object_get(json_array_get(json_object_get(file, "records"), 0), "tree"),
                       ret_tree, err);
    json_decref(file);
    return r;
}

int main(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct tree tree;
    struct err err;

    if (argc != 3) {
        fputs("Usage: mktree TREE DIR\n", stderr);
        return 2;
    }
    (void)mkdir(argv[2], 0755);
    if (read_tree(&arena, argv[1], &tree, &err) < 0 || tree_write(&tree, argv[2], &err) < 0) {
        fprintf(stderr, "mktree: %s: %s\n", argv[1], err.text);
        return 1;
    }
    return 0;
}
