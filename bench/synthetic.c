/*
 * A synthetic index of a large store, the same at every run.
 *
 *	synthetic INDEX [PACKAGES [LIBRARIES]]	defaults: 100000 packages with 9 libraries each
 *
 * The shape is that of a real store: one package is glibc; a first few hundred form the base that
 * everybody needs, each needing some before it; every package holds one program and its libraries,
 * and depends on some of the base and a few recent ones. Programs name their dependencies' lib
 * directories in their run path, as a wide link leaves them. No file of it exists.
 */
#include "base/str.h"
#include "scanner/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 400, DEPENDENCIES = 8 };
#define STORE "/nix/store"

struct shape {
    uint64_t random;
    uint32_t n_libraries;
    uint32_t dependency[DEPENDENCIES];
    size_t n_dependencies;
};

static uint32_t below(struct shape *s, uint32_t n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((s->random >> 33) % n);
}

static const char *package_name(struct arena *arena, uint32_t i)
{
    return arena_printf(arena, "%032u-%s%u-1.%u", i, i ? "package" : "glibc-2.40-", i, i % 7);
}

static void choose_dependencies(struct shape *s, uint32_t package)
{
    const uint32_t base = package < BASE ? package : BASE;

    s->n_dependencies = 0;
    for (uint32_t i = 0; package > 1 && i < DEPENDENCIES; i++) {
        /* the earlier a package, the more need it: the lower of two choices */
        const uint32_t a = 1 + below(s, base), b = 1 + below(s, base);
        const uint32_t choice = a < b ? a : b;
        bool known = choice >= package;

        for (size_t k = 0; k < s->n_dependencies; k++)
            known |= s->dependency[k] == choice;
        if (!known)
            s->dependency[s->n_dependencies++] = choice;
    }
}

static const char *run_path(struct shape *s, struct arena *arena, uint32_t package)
{
    struct str path = {.arena = arena};

    str_printf(&path, STORE "/%s/lib", package_name(arena, package));
    for (size_t i = 0; i < s->n_dependencies; i++)
        str_printf(&path, ":" STORE "/%s/lib", package_name(arena, s->dependency[i]));
    str_printf(&path, ":" STORE "/%s/lib", package_name(arena, 0));
    return path.text;
}

static struct object *object_new(struct arena *arena, size_t n_needs)
{
    struct object *o = arena_alloc(arena, sizeof(*o));

    *o = (struct object){
        .class = ELFCLASS64,
        .data = ELFDATA2LSB,
        .ident_version = EV_CURRENT,
        .ident_pad_zero = true,
        .type = ET_DYN,
        .machine = EM_X86_64,
        .version = EV_CURRENT,
        .phentsize = sizeof(Elf64_Phdr),
        .phnum = 9,
        .size = 60000,
        .mode = 0100555,
        .has_dynamic = true,
        .load_align = 4096,
        .need = arena_calloc(arena, n_needs, sizeof(*o->need)),
    };
    return o;
}

static void need(struct object *o, const char *name)
{
    o->need[o->n_needs++] = (struct need){NEED_NEEDED, name};
}

static const char *library_name(struct arena *arena, uint32_t package, uint32_t i)
{
    return package ? arena_printf(arena, "lib%u-%u.so.1", package, i) : "libc.so.6";
}

/* Library `i` of a package: some need its elder, some a library of a dependency, all need libc. */
static struct object *library(struct shape *s, struct arena *arena, uint32_t package, uint32_t i)
{
    struct object *o = object_new(arena, DEPENDENCIES + 2);

    o->soname = library_name(arena, package, i);
    if (package == 0)
        return o;
    o->runpath = run_path(s, arena, package);
    if (i > 0 && below(s, 2))
        need(o, library_name(arena, package, i - 1));
    for (size_t k = 0; k < s->n_dependencies; k++)
        if (below(s, DEPENDENCIES) == 0)
            need(o, library_name(arena, s->dependency[k], below(s, 2)));
    need(o, "libc.so.6");
    return o;
}

static struct object *program(struct shape *s, struct arena *arena, uint32_t package)
{
    struct object *o = object_new(arena, DEPENDENCIES + 2);

    o->interp = arena_printf(arena, STORE "/%s/lib/ld-linux-x86-64.so.2", package_name(arena, 0));
    o->runpath = run_path(s, arena, package);
    o->flags_1 = DF_1_PIE;
    need(o, library_name(arena, package, below(s, 2)));
    for (size_t i = 0; i < s->n_dependencies; i++)
        if (below(s, 2))
            need(o, library_name(arena, s->dependency[i], below(s, 3)));
    need(o, "libc.so.6");
    return o;
}

static struct object *loader(struct arena *arena)
{
    static const char *dirs[1];
    static struct ldso ldso = {.libc = LIBC_GLIBC, .version = "2.40", .lib = "lib"};
    struct object *o = object_new(arena, 1);

    dirs[0] = arena_printf(arena, STORE "/%s/lib/", package_name(arena, 0));
    ldso.system_dirs = dirs;
    ldso.n_system_dirs = 1;
    ldso.cache = arena_printf(arena, STORE "/%s/etc/ld.so.cache", package_name(arena, 0));
    ldso.preload = "/etc/ld-nix.so.preload";
    o->soname = "ld-linux-x86-64.so.2";
    o->ldso = &ldso;
    return o;
}

static void add_object(struct arena *arena, struct str *entries, struct walked_dir *dir,
                       const char *name, const struct object *object)
{
    str_add_n(entries, "e", 1);
    str_add_n(entries, name, strlen(name) + 1);
    dir->object = arena_grow(arena, dir->object, dir->n_objects, sizeof(*dir->object));
    dir->object[dir->n_objects++] =
        (struct walked_object){.name = name, .object = object, .nlink = 1};
}

static void seal(struct walked_dir *dir, const struct str *entries)
{
    dir->entries = entries->text;
    dir->entries_size = entries->len;
}

static struct package_facts *facts(struct shape *s, uint32_t package)
{
    struct package_facts *f = calloc(1, sizeof(*f));
    struct str bin, lib, top;

    if (!f)
        abort();
    bin = lib = top = (struct str){.arena = &f->arena};
    choose_dependencies(s, package);
    f->base = package_name(&f->arena, package);
    f->state = PACKAGE_SCANNED;
    f->kind = "dir";
    f->n_dirs = 3;
    f->dir = arena_calloc(&f->arena, f->n_dirs, sizeof(*f->dir));
    f->dir[0].path = "";
    f->dir[1].path = "bin";
    f->dir[2].path = "lib";
    str_add_n(&top, "dbin\0dlib", sizeof("dbin\0dlib"));
    add_object(&f->arena, &bin, &f->dir[1], arena_printf(&f->arena, "program%u", package),
               package ? program(s, &f->arena, package) : library(s, &f->arena, 0, 0));
    for (uint32_t i = 0; i < (package ? s->n_libraries : 1); i++)
        add_object(&f->arena, &lib, &f->dir[2], library_name(&f->arena, package, i),
                   library(s, &f->arena, package, i));
    if (package == 0)
        add_object(&f->arena, &lib, &f->dir[2], "ld-linux-x86-64.so.2", loader(&f->arena));
    seal(&f->dir[0], &top);
    seal(&f->dir[1], &bin);
    seal(&f->dir[2], &lib);
    f->objects = f->dir[1].n_objects + f->dir[2].n_objects;
    f->files = f->objects;
    return f;
}

static int note_whole(struct index *index, int64_t store, struct err *err)
{
    const struct part all = {.place = "synthetic", .shards = 1, .shard = 1};
    bool changed;

    return index_note_part(index, store, &all, &changed, err);
}

static int write_all(struct index *index, uint32_t n_packages, uint32_t n_libraries,
                     struct err *err)
{
    struct shape shape = {.random = 1, .n_libraries = n_libraries};
    uint64_t changed;
    int64_t store;
    int r = index_store(index, STORE, "/", &store, &changed, err);

    for (uint32_t i = 0; r == 0 && i < n_packages; i++) {
        struct package_facts *f = facts(&shape, i);
        int64_t id;

        r = index_add_package(index, store, f->base, NULL, &id, err);
        if (r == 0)
            r = index_write_package(index, id, f, NULL, false, err);
        if (r == 0 && i % 1000 == 0)
            r = index_tick(index, err);
        package_facts_free(f);
    }
    if (r == 0)
        r = note_whole(index, store, err);
    if (r == 0)
        r = index_bump(index, err);
    return r == 0 ? index_flush(index, err) : r;
}

int main(int argc, char **argv)
{
    CLEANUP(db_closep) struct db *db = NULL;
    CLEANUP(index_closep) struct index *index = NULL;
    const uint32_t packages = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
    const uint32_t libraries = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 9;
    struct err err;
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: synthetic INDEX [PACKAGES [LIBRARIES]]\n");
        return 2;
    }
    r = db_open(argv[1], DB_WRITE, &db, &err);
    if (r == 0)
        r = index_open(db, &index, &err);
    if (r == 0)
        r = write_all(index, packages, libraries, &err);
    if (r < 0)
        fprintf(stderr, "synthetic: %s\n", err.text);
    return r < 0 ? 4 : 0;
}
