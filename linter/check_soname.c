/*
 * Sonames: missing, odd, and twice.
 */
#include "linter/check.h"

#include <stdlib.h>

static bool is_lib_name(const char *name)
{
    return str_starts(name, "lib") && (str_ends(name, ".so") || is_versioned(name));
}

void check_soname_missing(struct check *check)
{
    const struct lint_object *o = check->object;
    const char *name = str_base(o->path);

    if (o->object->soname || !is_library(o->object) || !is_public(o) || !is_lib_name(name))
        return;
    report_object(check, o, NULL, "%s has no DT_SONAME", shown(check, name));
}

void check_soname_file_mismatch(struct check *check)
{
    const struct lint_object *o = check->object;
    const char *soname = o->object->soname;
    struct component beside = {.text = "."};

    if (!soname || !*soname || strchr(soname, '/') || !is_library(o->object) || !is_public(o) ||
        !is_lib_name(str_base(o->path)))
        return;
    beside.at.node = o->node->parent;
    if (!component_find(check, &beside, soname))
        report_object(check, o, shown(check, soname),
                      "DT_SONAME is %s, but no file beside it has that name", shown(check, soname));
}

void check_soname_absolute(struct check *check)
{
    const char *soname = check->object->object->soname;

    if (soname && strchr(soname, '/'))
        report_object(check, check->object, subject_path(check, soname),
                      "DT_SONAME is the path '%s'", shown(check, soname));
}

/* ---- in one process */

/* What was found by LD_LIBRARY_PATH, which is there to go before what is meant. */
static const bool *put_first(struct check *check)
{
    const struct trace *t = check->trace;
    bool *first = arena_calloc(check->arena, t->n_loaded, sizeof(*first));

    for (size_t i = 0; i < t->n_requests; i++)
        if (t->request[i].answer >= 0 && t->request[i].stage == STAGE_LIBRARY_PATH)
            first[t->request[i].answer] = true;
    return first;
}

/*
 * Somebody asks for a name, is given what is in memory under it, and by itself would have got
 * another file.
 */
static void clash(struct check *check, const struct lint_object *asker, size_t need,
                  const struct loaded *given)
{
    const char *name = asker->object->need[need].name;
    const struct node *meant = need_answer(check, asker, need);
    const char *soname = given->soname ? given->soname : name;
    struct finding *f;

    if (!meant || !given->node || same_build(meant, given->node))
        return;
    if (given->object && given->object->ldso)
        return; /* which loader it is, nobody's run path decides */
    f = report_object(check, check->object, shown(check, soname),
                      "%s is meant to have '%s' of %s, and gets that of %s",
                      shown(check, asker->path), shown(check, name),
                      shown(check, world_path(check->arena, meant)),
                      shown(check, world_path(check->arena, given->node)));
    evidence(check, f, "in memory: %s", world_path(check->arena, given->node));
    evidence(check, f, "meant: %s", world_path(check->arena, meant));
    evidence(check, f, "asked by: %s", asker->path);
}

/* Of one soname, in their order. */
static int by_loaded_soname(const void *a, const void *b)
{
    const struct loaded *x = *(const struct loaded *const *)a;
    const struct loaded *y = *(const struct loaded *const *)b;
    const int r = strcmp(x->soname, y->soname);

    return r ? r : (x > y) - (x < y);
}

/* Two files of one soname, both in memory. */
static void both_loaded(struct check *check)
{
    const struct trace *t = check->trace;
    const struct loaded **list = arena_calloc(check->arena, t->n_loaded, sizeof(*list)), *a = NULL;
    size_t n = 0;

    for (size_t i = 0; i < t->n_loaded; i++)
        if (t->loaded[i].soname && t->loaded[i].node)
            list[n++] = &t->loaded[i];
    if (n > 1)
        qsort(list, n, sizeof(*list), by_loaded_soname);
    for (size_t i = 0; i < n; i++) {
        const struct loaded *b = list[i];
        struct finding *f;

        if (!a || strcmp(a->soname, b->soname) != 0)
            a = b;
        if (a->node == b->node)
            continue;
        f = report_object(check, check->object, shown(check, b->soname),
                          "%s is in memory twice: '%s' and '%s'", shown(check, b->soname),
                          shown(check, a->path), shown(check, b->path));
        evidence(check, f, "%s", a->path);
        evidence(check, f, "%s", b->path);
    }
}

void check_soname_clash_in_process(struct check *check)
{
    const struct trace *t = check->trace;
    size_t *asked = arena_calloc(check->arena, t->n_loaded, sizeof(*asked));
    const bool *first = put_first(check); /* is another rule's, and meant */

    both_loaded(check);
    for (size_t i = 0; i < t->n_requests; i++) {
        const struct request *r = &t->request[i];
        const struct lint_object *asker =
            r->asker >= 0 && r->phase == 0 && r->kind <= REQUEST_FILTER
                ? loaded_object(check, &t->loaded[r->asker])
                : NULL;

        if (!asker || !asker->need)
            continue;
        if (asked[r->asker] < asker->object->n_needs && r->answer >= 0 && !first[r->answer])
            clash(check, asker, asked[r->asker], &t->loaded[r->answer]);
        asked[r->asker]++;
    }
}

/* ---- in the closure */

int offers_order(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    const int r = strcmp(x->soname, y->soname);

    return r ? r : strcmp(x->object->path, y->object->path);
}

static bool in_sub_directory(const struct lint_object *o, const char *name)
{
    const char *at = strstr(o->path, name);

    return at && at > o->path && at[-1] == '/';
}

bool is_offered(const struct lint_object *o)
{
    return o->package && o->object->soname && is_library(o->object) &&
           is_versioned(o->object->soname) && !in_sub_directory(o, "glibc-hwcaps/") &&
           !in_sub_directory(o, "stubs/") && !in_sub_directory(o, ".build-id/");
}

/* same_build(), of files that are not at hand. */
static bool offers_same(const struct offer *a, const struct offer *b)
{
    return (a->dev == b->dev && a->ino == b->ino) || same_id(a->build_id, b->build_id);
}

static bool are_rivals(const struct offer *a, const struct offer *b)
{
    return a->object->package != b->object->package && machines_equal(a->machine, b->machine) &&
           !offers_same(a, b);
}

void check_soname_clash_in_closure(struct check *check)
{
    const struct offers *offers = lint_offers(check->lint, true);

    for (size_t i = 0, end; i < offers->n; i = end) {
        const struct offer *first = &offers->item[i], *other = NULL;
        struct finding *f;

        for (end = i + 1; end < offers->n && !strcmp(offers->item[end].soname, first->soname);
             end++)
            if (!other && are_rivals(first, &offers->item[end]))
                other = &offers->item[end];
        if (!other)
            continue;
        f = report_object(check, first->object, shown(check, first->soname),
                          "%s has another build in %s", shown(check, first->soname),
                          shown(check, other->object->path));
        for (size_t k = i; k < end; k++)
            evidence(check, f, "%s", offers->item[k].object->path);
    }
}

static const struct offer *find_offer(const struct offers *offers, const char *soname)
{
    size_t low = 0, high = offers->n;

    while (low < high) {
        const size_t mid = (low + high) / 2;

        if (strcmp(offers->item[mid].soname, soname) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < offers->n && !strcmp(offers->item[low].soname, soname) ? &offers->item[low] : NULL;
}

void check_embedded_library_copy(struct check *check)
{
    const struct offers *public = lint_offers(check->lint, true);
    const struct offers *private = lint_offers(check->lint, false);

    for (size_t i = 0; i < private->n; i++) {
        const struct lint_object *o = private->item[i].object;
        const struct offer *offer = find_offer(public, private->item[i].soname);
        struct finding *f;

        if (!offer || offer->object->package == o->package ||
            !machines_equal(offer->machine, private->item[i].machine) ||
            strcmp(offer->object->package->name.pname, o->package->name.pname) == 0)
            continue;
        f = report_object(check, o, shown(check, offer->soname),
                          "a private copy of %s, which %s offers", shown(check, offer->soname),
                          shown(check, offer->object->package->path));
        evidence(check, f, "%s", offer->object->path);
    }
}
