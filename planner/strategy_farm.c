/*
 * farm: a directory of links in the program's own package, in front of its run path.
 *
 *	own      links for what the program itself needs; its needed list stays
 *	lifted   links for the whole start-up closure, and the program needs all of it itself, in
 *	         load order: a name that is already loaded is never searched again
 *
 * The new run path:
 *
 *	FRONT : FARM : TAIL : OLD
 *
 * FRONT are directories outside the store that every one of these names passed before it was found
 * (a driver directory must keep its first say), TAIL the directories of what must not be found
 * through the farm, OLD what was there: dlopen by name and preloads by name still need it.
 */
#include "base/str.h"
#include "planner/strategy.h"

#include <string.h>

/* ---- the tail: directories as built of what stays out of the farm */

struct tail {
    const char *directory;
    const char **name; /* found in it */
    size_t n;
};

struct tails {
    struct tail *item;
    size_t n;
};

static void add_tail(struct arena *arena, struct tails *tails, const char *directory,
                     const char *name)
{
    struct tail *t;
    size_t i;

    for (i = 0; i < tails->n && strcmp(tails->item[i].directory, directory) != 0; i++)
        ;
    if (i == tails->n) {
        tails->item = arena_grow(arena, tails->item, tails->n, sizeof(*tails->item));
        tails->item[tails->n++] = (struct tail){.directory = directory};
    }
    t = &tails->item[i];
    t->name = arena_grow(arena, t->name, t->n, sizeof(*t->name));
    t->name[t->n++] = name;
}

/* Stable: those that were asked for first come first among equals. */
static void sort_tails(struct tails *tails)
{
    size_t i, k;

    for (i = 1; i < tails->n; i++)
        for (k = i; k > 0 && tails->item[k - 1].n < tails->item[k].n; k--) {
            const struct tail t = tails->item[k];

            tails->item[k] = tails->item[k - 1];
            tails->item[k - 1] = t;
        }
}

/* Does a directory have a file of a name that is to be found in a later one? */
static bool hides_later(const struct subject *s, const struct tails *tails)
{
    size_t i, k, n;

    for (i = 0; i < tails->n; i++)
        for (k = i + 1; k < tails->n; k++)
            for (n = 0; n < tails->item[k].n; n++)
                if (world_walk(s->world, NULL,
                               str_join(s->arena, tails->item[i].directory, tails->item[k].name[n]))
                        .error == 0)
                    return true;
    return false;
}

/* Each name fails in every directory before its own: the one with the most names comes first. */
static void order_tails(const struct subject *s, struct tails *tails)
{
    struct tails sorted = {arena_memdup(s->arena, tails->item, tails->n * sizeof(*tails->item)),
                           tails->n};

    sort_tails(&sorted);
    if (!hides_later(s, &sorted))
        *tails = sorted;
}

/* ---- links */

struct links {
    struct farm_link *item;
    size_t n;
};

static void add_link(struct arena *arena, struct links *links, const char *name, const char *target)
{
    links->item = arena_grow(arena, links->item, links->n, sizeof(*links->item));
    links->item[links->n++] = (struct farm_link){name, target};
}

/* The file that a name asked by a file is answered with on another level; NULL: by none. */
static const struct loaded *answer_on(const struct trace *trace, const struct wanted *w)
{
    size_t i;

    for (i = 0; i < trace->n_requests; i++)
        if (trace->request[i].kind == REQUEST_NEEDED && trace->request[i].answer >= 0 &&
            !strcmp(trace->request[i].name, w->name))
            return &trace->loaded[trace->request[i].answer];
    return NULL;
}

/*
 * The answers of one name, a level each, lowest first. Returns NULL, or why there is none. Marks
 * the levels whose answer is another than the one below: they need a sub-directory.
 */
static const char *find_answers(const struct subject *s, const struct wanted *w,
                                const struct loaded **answer, bool *variant)
{
    size_t i;

    for (i = 0; i < s->n_levels; i++) {
        answer[i] = answer_on(&s->level[i].trace, w);
        if (!answer[i] || !answer[i]->node)
            return arena_printf(s->arena, "%s has no answer on %s", w->name, s->level[i].cpu.name);
        if (i == 0 || same_file(answer[i - 1], answer[i]))
            continue;
        if (s->level[i].trace.profile.n_levels == 0)
            return arena_printf(s->arena, "%s depends on the CPU in a way a farm cannot mirror",
                                w->name);
        variant[i] = true;
    }
    return NULL;
}

/*
 * The links of all names. The lowest level's answer is linked under the plain name. Where one name
 * has a build for a level, that level's sub-directory gets links for all of them: it exists then,
 * so that the loader looks into it for every name, and should not do so in vain.
 */
static const char *make_links(const struct subject *s, const struct wanted *wanted, size_t n,
                              struct links *links)
{
    const struct loaded *answer[MAX_LEVELS];
    bool variant[MAX_LEVELS] = {0};
    const char *why_not;
    size_t i, k;

    for (i = 0; i < n; i++)
        if (!keep_out_of_farm(s, &wanted[i]) &&
            (why_not = find_answers(s, &wanted[i], answer, variant)))
            return why_not;
    for (i = 0; i < n; i++) {
        if (keep_out_of_farm(s, &wanted[i]))
            continue;
        (void)find_answers(s, &wanted[i], answer, variant);
        for (k = 0; k < s->n_levels; k++)
            if (k == 0 || variant[k])
                add_link(s->arena, links,
                         k ? str_join(s->arena, s->level[k].trace.profile.caps[0], wanted[i].name)
                           : wanted[i].name,
                         world_path(s->arena, answer[k]->node));
    }
    return NULL;
}

/* ---- the run path */

static const char *join_run_path(const struct subject *s, const char *const *front, size_t n_front,
                                 const struct tails *tails)
{
    struct str out = {.arena = s->arena};
    const char *old = old_run_path(s);
    size_t i;

    for (i = 0; i < n_front; i++)
        str_printf(&out, "%s:", front[i]);
    str_add(&out, s->farm);
    for (i = 0; i < tails->n; i++)
        str_printf(&out, ":%s", tails->item[i].directory);
    if (*old)
        str_printf(&out, ":%s", old);
    return out.text;
}

/* ---- the place */

/*
 * A farm that lies elsewhere than its path says (a package's "nix-support" can be a link) would be
 * another package's: removed when that is, and no part of this one's closure. NULL: it does not.
 */
static const char *misplaced(const struct subject *s)
{
    const char *end =
        s->farm + (s->package ? strlen(s->package) : (size_t)(str_base(s->path) - s->path) - 1);

    while (*end) {
        const char *part;
        struct place at;

        end += 1 + strcspn(end + 1, "/");
        part = arena_strndup(s->arena, s->farm, (size_t)(end - s->farm));
        at = world_walk(s->world, NULL, part);
        if (at.error)
            return NULL; /* to be made */
        if (strcmp(world_path(s->arena, at.node), part) != 0 || at.node->kind != NODE_DIR)
            return arena_printf(
                s->arena, "'%s' is no directory of its own: a farm would lie in '%s'",
                str_escape(s->arena, part), str_escape(s->arena, world_path(s->arena, at.node)));
    }
    return NULL;
}

/* ---- the proposal */

static int propose(const struct subject *s, enum scope scope, struct edits *ret_edits,
                   const char **ret_why_not, struct err *err UNUSED)
{
    struct wanted *wanted;
    size_t n = wanted_list(s, scope, &wanted), i;
    const char **needed = arena_calloc(s->arena, n + 1, sizeof(*needed));
    const char **front;
    struct tails tails = {0};
    struct links links = {0};
    size_t n_front = 0;

    for (i = 0; i < n; i++) {
        needed[i] = wanted[i].name;
        if (keep_out_of_farm(s, &wanted[i]) && wanted[i].opened && !strchr(wanted[i].name, '/'))
            add_tail(s->arena, &tails, opened_directory(s->arena, s->trace, wanted[i].opened),
                     wanted[i].name);
    }
    order_tails(s, &tails);
    *ret_why_not = misplaced(s);
    if (!*ret_why_not)
        *ret_why_not = make_links(s, wanted, n, &links);
    if (!*ret_why_not && links.n == 0)
        *ret_why_not = "no name could be answered by a farm";
    if (!*ret_why_not)
        *ret_why_not = front_directories(s, wanted, n, &front, &n_front);
    if (*ret_why_not)
        return 0;
    edit_farm(ret_edits, s->arena, s->farm, links.item, links.n);
    if (scope == SCOPE_LIFTED)
        edit_needed(ret_edits, s->arena, s->path, needed, n);
    edit_run_path(ret_edits, s->arena, s->path, join_run_path(s, front, n_front, &tails));
    return 0;
}

const struct strategy strategy_farm_own = {
    .name = "farm",
    .scope = SCOPE_OWN,
    .summary = "a directory of links to the libraries it needs itself, first in its run path",
    .propose = propose,
};

const struct strategy strategy_farm_lifted = {
    .name = "farm",
    .scope = SCOPE_LIFTED,
    .summary = "it needs its whole start-up closure by name, found in a directory of links",
    .propose = propose,
};
