/*
 * The driver link: the one directory of a run path that the system fills.
 */
#include "linter/check.h"

#include "linter/danger.h"
#include "linter/farm.h"
#include "loader/declared.h"

/* Libraries that come with the kernel's driver, and from nowhere else. */
static bool is_driver_library(const char *name)
{
    return danger_is("cuda-driver", DANGER_BY_SONAME, name) ||
           danger_is("glvnd-vendor", DANGER_BY_SONAME, name);
}

/*
 * Libraries that the driver link may bring another build of. Not libGLdispatch: it is the part of
 * libglvnd that all of a process share, and comes with it.
 */
static bool is_switchable(const char *name)
{
    if (str_starts(name, "libGLdispatch.so") || str_starts(name, "libGLU.so"))
        return false;
    return is_driver_library(name) || danger_is("glvnd", DANGER_BY_SONAME, name) ||
           danger_is("gbm-vulkan-cl", DANGER_BY_SONAME, name);
}

/* Which of its needed names are, and how many. */
static const bool *switchable(struct check *check, size_t *ret_n)
{
    const struct object *o = check->object->object;
    bool *is = arena_calloc(check->arena, o->n_needs, sizeof(*is));

    *ret_n = 0;
    for (size_t i = 0; i < o->n_needs; i++) {
        is[i] = is_switchable(o->need[i].name);
        *ret_n += is[i];
    }
    return is;
}

/* Where the first driver link stands; n_components: nowhere. */
static size_t driver_link_at(const struct check *check)
{
    size_t i = 0;

    while (i < check->n_components && !is_driver_link(check->component[i].expanded))
        i++;
    return i;
}

/* The wrapper's LD_LIBRARY_PATH may have it, too. */
static bool wrapper_has_driver_link(const struct check *check)
{
    const char *list = wrapper_library_path(check->object->wrapper);

    for (size_t len; list && *list; list += len + (list[len] == ':')) {
        len = strcspn(list, ":");
        if (is_driver_link(arena_strndup(check->arena, list, len)))
            return true;
    }
    return false;
}

void check_driver_link_missing(struct check *check)
{
    const struct object *o = check->object->object;
    struct declared_list declared;
    struct finding *f;

    if (!is_dynamic(o) || driver_link_at(check) < check->n_components ||
        wrapper_has_driver_link(check))
        return;
    for (size_t i = 0; i < o->n_needs; i++)
        if (is_driver_library(o->need[i].name))
            report_object(check, check->object, shown(check, o->need[i].name),
                          "it needs the driver's %s, and has no driver link in its run path",
                          shown(check, o->need[i].name));
    declared_read(check->arena, o, &declared);
    for (size_t i = 0; i < declared.n; i++)
        for (size_t k = 0; k < declared.item[i].n_names; k++) {
            const char *name = declared.item[i].name[k];

            if (!is_driver_library(name))
                continue;
            f = report_object(check, check->object, shown(check, name),
                              "it may dlopen the driver's %s, and has no driver link in its run "
                              "path",
                              shown(check, name));
            if (f && declared.item[i].source == DLOPEN_CONSTANT)
                f->confidence = CONFIDENCE_GUESS;
        }
}

static bool lies_below(const struct node *node, const struct node *dir)
{
    for (; node; node = node->parent)
        if (node == dir)
            return true;
    return false;
}

/* Is it this component that the loader takes the name from? */
static bool is_taken_from(struct check *check, const struct component *c, size_t need)
{
    const struct lint_object *o = check->object;
    const struct node *answer = o->need ? need_answer(check, o, need) : NULL;
    const struct node *node = component_find(check, c, o->object->need[need].name);

    if (!o->need) /* no loader is known that could be asked */
        return node != NULL;
    return answer && !c->at.error && (node == answer || lies_below(answer, c->at.node));
}

void check_driver_link_not_first(struct check *check)
{
    const struct object *o = check->object->object;
    const size_t link = driver_link_at(check);
    const struct component *at_link = check->component + link;
    size_t n = 0;
    const bool *wanted = link < check->n_components ? switchable(check, &n) : NULL;

    if (n == 0 || is_too_much(check, n))
        return;
    for (size_t i = 0; i < o->n_needs; i++)
        for (size_t k = 0; wanted[i] && k < check->n_dirs && check->dir[k] < at_link; k++) {
            struct finding *f;

            if (!is_taken_from(check, check->dir[k], i))
                continue;
            f = report_object(check, check->object, shown(check, o->need[i].name),
                              "%s is found in '%s', before the driver link",
                              shown(check, o->need[i].name), shown(check, check->dir[k]->expanded));
            evidence(check, f, "%s", check->dir[k]->expanded);
            break;
        }
}

void check_farm_hides_driver(struct check *check)
{
    const struct object *o = check->object->object;
    const size_t link = driver_link_at(check);
    const struct component *at_link = check->component + link;
    size_t n = 0;
    const bool *wanted = link < check->n_components ? switchable(check, &n) : NULL;

    if (n == 0 || is_too_much(check, n))
        return;
    for (size_t k = 0; k < check->n_dirs && check->dir[k] < at_link; k++) {
        const struct component *c = check->dir[k];

        if (!is_farm(check, c->at.node))
            continue;
        for (size_t i = 0; i < o->n_needs; i++)
            if (wanted[i] && component_find(check, c, o->need[i].name))
                report_object(check, check->object, shown(check, o->need[i].name),
                              "the farm '%s' answers for %s ahead of the driver link",
                              shown(check, c->expanded), shown(check, o->need[i].name));
    }
}
