/*
 * Trees: small file systems as data, for tests.
 *
 * A tree comes from a recorded case (JSON, see tests/loader/README), from a text file
 * (tests/mktree.c) or from the generator of random ones, and can become a world for the loader
 * model, real files below some directory, or JSON again. What a tree does not list does not exist.
 *
 * Everything lives in the tree's arena. Parents of an entry are added as needed (mode 755).
 */
#pragma once

#include "base/json.h"
#include "loader/world.h"
#include "tests/elf/elf_writer.h"

enum entry_kind { ENTRY_DIR, ENTRY_FILE, ENTRY_LINK, ENTRY_HARD_LINK };

struct entry {
    enum entry_kind kind;
    const char *path;   /* absolute */
    const char *target; /* of links: text; of hard links: an earlier entry's path */
    uint32_t mode;      /* permissions and set-id bits; 0: 755 */
    uint32_t uid;       /* owner */

    /* Files: an ELF description, or bytes. */
    const struct elf_spec *elf;
    const char *bytes;
    size_t size;
    const char *copy_of; /* a file of the machine, copied when the tree is written */
    bool is_loader;
};

struct tree {
    struct arena *arena;
    struct entry *entry;
    size_t n_entries;
};

/* Add an entry; a path that is there already is replaced. Returns it, for more to be set. */
struct entry *tree_add(struct tree *tree, enum entry_kind kind, const char *path);
struct entry *tree_add_link(struct tree *tree, const char *path, const char *target);
struct entry *tree_add_text(struct tree *tree, const char *path, const char *text);
struct entry *tree_add_elf(struct tree *tree, const char *path, const struct elf_spec *spec);

/* The entry of exactly this path, NULL: none. */
struct entry *tree_find(const struct tree *tree, const char *path);

/* ---- tests/tree_json.c: the form of the recorded cases */

MUST_CHECK int tree_read_json(struct arena *arena, const json_t *json, struct tree *ret_tree,
                              struct err *err);
json_t *tree_json(const struct tree *tree);

/* The dynamic tag of a name, in capitals or not ("RUNPATH", "needed"). False: unknown. */
bool tree_tag(const char *name, int64_t *ret_tag);

/* ---- tests/tree_text.c: for people */

/*
 * One entry a line, words without spaces (\x20 is one), # begins a comment:
 *
 *	dir     /w 700
 *	program /bin/app needed=liba.so runpath=/s/a/lib [interp=/lib64/ld-linux-x86-64.so.2]
 *	library /s/a/lib/liba.so soname=liba.so needed=libc.so flags_1=0x800 machine=aarch64 mode=4755
 *	library /lib/ld.so soname=ld-linux-x86-64.so.2 string=2.36 string=/lib/	(constants)
 *	library /s/a/lib/libb.so import=dlopen string=libc.so.1 dlopen=[{"soname":["libd.so.1"]}]
 *	library /s/a/lib/libc.so version=libd.so:V1 version=V2 stack=exec trailing=5000
 *	library /s/a/lib/libe.so resolution=libd.so|=/s/d/lib/libd.so|	(the note; '|' a zero)
 *	link    /s/a/lib/libx.so liba.so
 *	hard    /s/b/liba.so /s/a/lib/liba.so
 *	text    /etc/ld.so.preload libp.so\x0a
 *	copy    /lib64/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2	(a file of the machine)
 */
MUST_CHECK int tree_read_text(struct arena *arena, const char *path, struct tree *ret_tree,
                              struct err *err);

/* ---- tests/tree_world.c: for the loader model */

/*
 * A world of the tree. The loader's file gets `ldso`, which must outlive the world, as the tree.
 * `uid` looks. /proc is there when the tree has it.
 */
struct world *tree_world(const struct tree *tree, const struct ldso *ldso, uint32_t uid);

/* The facts that the scanner would read from the file of a description. */
struct object *tree_object(struct arena *arena, const struct elf_spec *spec);

/* ---- tests/tree_disk.c: for real loaders */

/* Make everything below directory `root`, which must exist and be empty. */
MUST_CHECK int tree_write(const struct tree *tree, const char *root, struct err *err);
