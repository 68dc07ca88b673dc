/* What there is in an index: its packages, and the names that its objects need. */
#include "base/str.h"
#include "planner/whole_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* ---- packages */

struct found {
    const char *path;
    uint32_t n_objects;
};

struct finding {
    const struct policy *policy;
    const struct maintainer *whose;
    struct arena *arena, scratch;
    struct found *found; /* neighbours differ */
    size_t n;
};

/* Objects come package by package. */
static void add_object(void *data, const char *path)
{
    struct finding *f = data;
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *package = policy_package(f->policy, &scratch, path);

    if (!package || (f->whose && !maintainer_has(f->whose, package)))
        return;
    if (f->n == 0 || strcmp(f->found[f->n - 1].path, package) != 0) {
        f->found = arena_grow(&f->scratch, f->found, f->n, sizeof(*f->found));
        f->found[f->n++] = (struct found){.path = arena_strdup(f->arena, package)};
    }
    f->found[f->n - 1].n_objects++;
}

static int by_path(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static void take_over(const struct finding *f, struct whole_list *list)
{
    list->package = arena_calloc(f->arena, f->n, sizeof(*list->package));
    list->n_objects = arena_calloc(f->arena, f->n, sizeof(*list->n_objects));
    for (size_t i = 0; i < f->n; i++) {
        const struct found *found = &f->found[i];

        if (list->n == 0 || strcmp(list->package[list->n - 1], found->path) != 0)
            list->package[list->n++] = found->path;
        list->n_objects[list->n - 1] += found->n_objects;
    }
}

static int larger_first(const void *a, const void *b, void *data)
{
    const struct whole_list *list = data;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (list->n_objects[x] != list->n_objects[y])
        return list->n_objects[x] > list->n_objects[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

int whole_list(struct db *db, const struct policy *policy, struct maintainer *whose,
               struct arena *arena, struct whole_list *ret_list, struct err *err)
{
    struct finding f = {.policy = policy, .whose = whose, .arena = arena};
    struct whole_list list = {0};
    int r = whose ? maintainer_index(db, whose, err) : 0;

    if (r == 0)
        r = index_objects(db, add_object, &f, err);
    if (f.n > 1)
        qsort(f.found, f.n, sizeof(*f.found), by_path);
    take_over(&f, &list);
    arena_release(&f.scratch);
    list.turn = arena_calloc(arena, list.n, sizeof(*list.turn));
    for (uint32_t i = 0; i < list.n; i++)
        list.turn[i] = i;
    if (list.n > 1)
        qsort_r(list.turn, list.n, sizeof(*list.turn), larger_first, &list);
    *ret_list = list;
    return r;
}

/* ---- names */

struct names {
    struct arena *arena;
    const char **name;
    size_t n;
};

static void add_name(void *data, const char *name)
{
    struct names *names = data;

    names->name = arena_grow(names->arena, names->name, names->n, sizeof(*names->name));
    names->name[names->n++] = arena_strdup(names->arena, str_base(name));
}

int whole_needed(struct db *db, struct arena *arena, struct name_set *ret_set, struct err *err)
{
    struct names names = {.arena = arena};
    const int r = index_needed(db, add_name, &names, err);
    size_t kept = 0;

    if (names.n > 1)
        qsort(names.name, names.n, sizeof(*names.name), by_bytes);
    for (size_t i = 0; i < names.n; i++)
        if (i == 0 || strcmp(names.name[i], names.name[kept - 1]) != 0)
            names.name[kept++] = names.name[i];
    *ret_set = (struct name_set){names.name, kept};
    return r;
}
