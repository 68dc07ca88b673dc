/*
 * Synthetic closures with the shapes of the article of June 2026, which compares remedies on two
 * programs. Published are the numbers of libraries and directories, and the failed opens as built
 * and with a farm for the program. Nothing else is known, and nothing else goes in here:
 *
 *	program -> direct libraries; its run path: all directories; library i lies in i mod d
 *	library i -> library i + direct (if there is one) and libc; its run path: some directories
 *
 * A name is found in the middle of a run path on average. So the farm for the program saves
 * (d - 1) / 2 failed opens of each direct name: that tells how many are direct. What is left are
 * the directories for CPUs and the names of the others: that tells how long their run paths are.
 * The two published sums therefore agree by construction, as far as the averages hold; what farms
 * for all, lifting and notes leave is then a prediction.
 */
#include "base/str.h"
#include "planner/compare.h"

#include <errno.h>
#include <string.h>

static const struct article rows[] = {
    {"magick", 91, 35, 1225, 213, 0},
    {"devenv", 83, 12, 486, 392, 88},
    {0},
};

enum { CPU_DIRECTORIES = 2 }; /* looked for in each directory: those of x86-64-v3 */

/* How many libraries the program needs itself. */
static size_t count_direct(const struct article *a)
{
    return 2 * (size_t)(a->built - a->leaf_farm) / (a->n_directories - 1);
}

/* How many directories a library's run path has. */
static size_t count_searched(const struct article *a)
{
    const size_t misses = a->leaf_farm - CPU_DIRECTORIES * a->n_directories;
    const size_t n = 1 + 2 * misses / (a->n_libraries - count_direct(a));

    return n < a->n_directories ? n : a->n_directories;
}

const struct article *articles(void)
{
    return rows;
}

/* ---- a world of nothing */

static int no_child(struct world *world UNUSED, const struct node *dir UNUSED,
                    const struct name *name UNUSED, struct node *ret_node UNUSED)
{
    return -ENOENT;
}

static int no_list(struct world *world UNUSED, struct node *dir UNUSED,
                   void (*each)(void *data, const char *name) UNUSED, void *data UNUSED)
{
    return 0;
}

static int no_bytes(struct world *world UNUSED, const struct node *file UNUSED, size_t max UNUSED,
                    struct arena *arena UNUSED, char **ret_bytes UNUSED, size_t *ret_len UNUSED)
{
    return -EIO;
}

static const struct world_ops nothing = {.child = no_child, .list = no_list, .bytes = no_bytes};

/* ---- objects */

#define STORE  "/nix/store/"
#define LOADER STORE "00000000000000000000000000000001-glibc-2.40/lib/ld-linux-x86-64.so.2"
#define LIBC   STORE "00000000000000000000000000000001-glibc-2.40/lib"

struct maker {
    struct arena *arena;
    struct world *world;
    const struct article *article;
    int r;
    struct err *err;
};

static const char *directory(struct maker *m, size_t i)
{
    i %= m->article->n_directories;
    return arena_printf(m->arena, STORE "1111111111111111111111111111%02zu%02zu-dir%zu-1.0/lib",
                        i / 10, i % 10, i);
}

static struct object *object_new(struct maker *m)
{
    struct object *o = arena_alloc(m->arena, sizeof(*o));

    *o = (struct object){.class = ELFCLASS64,
                         .data = ELFDATA2LSB,
                         .ident_version = EV_CURRENT,
                         .ident_pad_zero = true,
                         .type = ET_DYN,
                         .machine = EM_X86_64,
                         .version = EV_CURRENT,
                         .phentsize = sizeof(Elf64_Phdr),
                         .phnum = 8,
                         .size = 16384,
                         .mode = 0100555,
                         .has_dynamic = true};
    return o;
}

static void need(struct maker *m, struct object *o, const char *name)
{
    o->need = arena_grow(m->arena, o->need, o->n_needs, sizeof(*o->need));
    o->need[o->n_needs++] = (struct need){.kind = NEED_NEEDED, .name = name};
}

static void add(struct maker *m, const char *path, const struct object *object)
{
    if (m->r == 0)
        m->r = overlay_file(m->world, path, object, m->err);
}

static const char *name_of(struct maker *m, size_t i)
{
    return arena_printf(m->arena, "lib%zu.so", i);
}

static void add_loader(struct maker *m)
{
    static const char *dirs[] = {LIBC "/"};
    static const struct ldso facts = {.libc = LIBC_GLIBC,
                                      .version = "2.40",
                                      .system_dirs = dirs,
                                      .n_system_dirs = 1,
                                      .lib = "lib",
                                      .source = "file"};
    struct object *loader = object_new(m), *libc = object_new(m);

    loader->soname = "ld-linux-x86-64.so.2";
    loader->ldso = &facts;
    add(m, LOADER, loader);
    libc->soname = "libc.so.6";
    need(m, libc, loader->soname);
    add(m, LIBC "/libc.so.6", libc);
}

static void add_library(struct maker *m, size_t i)
{
    const size_t needed = i + count_direct(m->article), d = m->article->n_directories;
    const size_t searched = count_searched(m->article), before = i % searched;
    struct object *o = object_new(m);
    struct str path = {.arena = m->arena};
    size_t k;

    o->soname = name_of(m, i);
    if (needed < m->article->n_libraries - 1) {
        need(m, o, name_of(m, needed));
        for (k = 0; k < searched; k++) /* what it needs lies in the one after `before` others */
            str_printf(&path, "%s:", directory(m, needed + d - before + k));
    }
    need(m, o, "libc.so.6");
    str_add(&path, LIBC);
    o->runpath = path.text;
    add(m, arena_printf(m->arena, "%s/%s", directory(m, i), o->soname), o);
}

static const char *add_program(struct maker *m)
{
    const char *path =
        arena_printf(m->arena, STORE "22222222222222222222222222222222-%s-1.0/bin/%s",
                     m->article->name, m->article->name);
    struct object *o = object_new(m);
    struct str run_path = {.arena = m->arena};
    size_t i;

    o->interp = LOADER;
    for (i = 0; i < count_direct(m->article); i++)
        need(m, o, name_of(m, i));
    need(m, o, "libc.so.6");
    for (i = 0; i < m->article->n_directories; i++)
        str_printf(&run_path, "%s:", directory(m, i));
    str_add(&run_path, LIBC);
    o->runpath = run_path.text;
    add(m, path, o);
    return path;
}

int article_world(const struct article *article, struct arena *arena, struct world **ret_world,
                  const char **ret_program, struct err *err)
{
    struct world *under = world_new(&nothing, NULL, 0, 0);
    struct maker m = {
        .arena = arena, .world = world_overlay(under), .article = article, .err = err};
    size_t i;

    add_loader(&m);
    for (i = 0; i < article->n_libraries - 1; i++) /* libc is one of them */
        add_library(&m, i);
    *ret_program = add_program(&m);
    if (m.r < 0) {
        article_close(m.world);
        return m.r;
    }
    *ret_world = m.world;
    return 0;
}

void article_close(struct world *world)
{
    struct world *under = world->under;

    world_close(world);
    world_close(under);
}
