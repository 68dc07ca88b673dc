/*
 * Criteria that are data of a strategy, or facts of strings and files.
 */
#include "base/str.h"
#include "planner/criteria.h"
#include "planner/gates.h"
#include "planner/traits.h"

#include <string.h>

int judge_cross(struct judge *judge, struct judgement *ret, struct err *err)
{
    (void)err;
    ret->verdict = VERDICT_PASS;
    ret->reason = traits_of(judge->method)->cross;
    return 0;
}

int judge_needs(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    const struct traits *traits = traits_of(judge->method);

    (void)err;
    ret->verdict = VERDICT_PASS;
    ret->reason = traits->needs ? traits->needs : "nothing that is not there everywhere";
    if (METHOD_BIT(judge->method) & METHODS_CLOSURE) {
        judgement_add(ret, (struct evidence){.object = s->policy->resolver ? s->policy->resolver
                                                                           : s->object->interp,
                                             .note = s->policy->resolver
                                                         ? "the policy has it"
                                                         : "the policy has no resolver"});
        ret->verdict = s->policy->resolver ? VERDICT_PASS : VERDICT_WARN;
    } else if (METHOD_BIT(judge->method) & METHODS_NOTE) {
        const bool reads = s->trace->profile.reader != READER_NONE;

        judgement_add(ret, (struct evidence){.object = s->object->interp,
                                             .note = reads ? "it reads resolution notes"
                                                           : "it does not read resolution notes"});
        ret->verdict = reads || s->policy->reader != READER_NONE ? VERDICT_PASS : VERDICT_WARN;
    } else if (METHOD_BIT(judge->method) & METHODS_ABSOLUTE)
        judgement_add(
            ret, (struct evidence){.object = s->object->interp, .note = s->trace->profile.text});
    return 0;
}

int judge_maintenance(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct traits *traits = traits_of(judge->method);

    (void)err;
    ret->verdict = traits->easy ? VERDICT_PASS : VERDICT_WARN;
    ret->reason = traits->maintenance;
    return 0;
}

/* The gates that belong to this criterion were open, or nobody would ask: say so once more. */
int judge_rewrite_safety(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct gate *gate;
    const char *reason;

    (void)err;
    ret->verdict = VERDICT_PASS;
    ret->reason = "nothing about the file is known to break in editors";
    for (gate = gates(); gate->id; gate++) {
        if (strcmp(gate->criterion, "rewrite-safety") != 0 ||
            !(reason = gate->check(judge->subject, judge->method)))
            continue;
        ret->verdict = VERDICT_FAIL;
        ret->reason = reason;
        return 0;
    }
    return 0;
}

/* ---- initial file systems: needed names are searched in run paths by a script */

struct found {
    struct arena *arena;
    struct node **file;
    size_t n;
};

static void add_found(struct found *found, struct node *node)
{
    found->file = arena_grow(found->arena, found->file, found->n, sizeof(*found->file));
    found->file[found->n++] = node;
}

static bool is_found(const struct found *found, const struct node *node)
{
    size_t i;

    for (i = 0; i < found->n; i++)
        if (found->file[i]->dev == node->dev && found->file[i]->ino == node->ino)
            return true;
    return false;
}

static const char *directory_of(struct arena *arena, const struct node *node)
{
    const char *path = world_path(arena, node);

    return arena_strndup(arena, path, (size_t)(str_base(path) - path) - 1);
}

/* The directories of a run path, as a script sees them: no loader, no cache. */
static size_t look_in(struct world *world, struct arena *arena, const struct object *object,
                      const char *origin, struct node ***ret_dir)
{
    const char **component;
    size_t n = run_path_split(arena, object->runpath ? object->runpath : object->rpath, &component);
    struct node **dir = arena_calloc(arena, n + 1, sizeof(struct node *));
    size_t i, n_dirs = 0;

    for (i = 0; i < n; i++) {
        const char *path = str_starts(component[i], "$ORIGIN")
                               ? arena_printf(arena, "%s%s", origin, component[i] + 7)
                               : component[i];
        struct place at = world_walk(world, NULL, path);

        if (*path == '/' && at.error == 0 && at.node->kind == NODE_DIR)
            dir[n_dirs++] = at.node;
    }
    *ret_dir = dir;
    return n_dirs;
}

static struct node *look_up(struct world *world, struct node *const *dir, size_t n,
                            const char *name)
{
    const struct name *interned;
    size_t i;

    if (strchr(name, '/'))
        return NULL; /* joined to a directory it is nowhere */
    interned = intern(world->names, name);
    for (i = 0; i < n; i++) {
        struct place at;

        if (world_rejects(world, dir[i], interned))
            continue;
        at = world_at(world, dir[i], interned);
        if (at.error == 0 && at.node->kind == NODE_FILE)
            return at.node;
    }
    return NULL;
}

/* Walk needed names from a file on. Names that are found nowhere are evidence. */
static size_t walk_needed(const struct subject *s, struct world *world, struct node *from,
                          struct judgement *ret)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct found found = {.arena = &scratch};
    size_t at, k, n_missing = 0, n_dirs;
    struct node **dir;

    add_found(&found, from);
    for (at = 0; at < found.n; at++) {
        const struct object *object = world_object(world, found.file[at]);

        if (!object)
            continue;
        n_dirs = look_in(world, &scratch, object, directory_of(&scratch, found.file[at]), &dir);
        for (k = 0; k < object->n_needs; k++) {
            const char *name = object->need[k].name;
            struct node *node = look_up(world, dir, n_dirs, name);

            if (node && !is_found(&found, node))
                add_found(&found, node);
            /* the loader and libc's parts are copied by name */
            if (node || is_loader_name(s->trace, name) ||
                danger_is("glibc-family", DANGER_BY_SONAME, name))
                continue;
            n_missing++;
            if (ret)
                judgement_add(ret,
                              (struct evidence){.object = world_path(&scratch, found.file[at]),
                                                .soname = name,
                                                .note = "found in no directory of its run path"});
        }
    }
    return n_missing;
}

size_t initrd_missing(const struct subject *s)
{
    struct place at = world_walk(s->world, NULL, s->path);

    return at.error ? 0 : walk_needed(s, s->world, at.node, NULL);
}

int judge_initrd(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    struct world *after = judge->rig.world;
    struct place at = world_walk(after, NULL, s->path);
    size_t before, n;

    (void)err;
    ret->scenario = "every needed name looked for in the directories of the run path, file by file";
    if (at.error) {
        ret->verdict = VERDICT_NOT_APPLICABLE;
        ret->reason = "the file is not there";
        return 0;
    }
    before = judge->trial->initrd_missing;
    n = walk_needed(s, after, at.node, ret);
    ret->verdict = n > before ? VERDICT_FAIL : VERDICT_PASS;
    if (n == 0 && before == 0)
        ret->reason = "every needed name is found by the run path of who needs it";
    else
        ret->reason =
            arena_printf(judge->arena, "%zu needed names are found by no run path (%zu as built)%s",
                         n, before, n > before ? ": copying tools stop, or leave them out" : "");
    return 0;
}

/* ---- rewriting of hashes */

static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdfghijklmnpqrsvwxyz") == 32 && text[32] == '-';
}

/* Store paths in a text: how many, and those that no rewriting of hashes can find. */
static size_t count_paths(struct judge *judge, const char *text, struct judgement *ret)
{
    const struct policy *p = judge->subject->policy;
    const char *at;
    size_t i, n = 0;

    for (i = 0; text && i < p->n_stores; i++)
        for (at = strstr(text, p->store[i]); at; at = strstr(at + 1, p->store[i])) {
            const char *name = at + strlen(p->store[i]);

            if (*name++ != '/')
                continue;
            n++;
            if (!is_hash(name))
                judgement_add(ret, (struct evidence){
                                       .object = arena_strndup(judge->arena, at, strcspn(at, ":")),
                                       .note = "no hash that could be rewritten"});
        }
    return n;
}

int judge_graft_safe(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct edits *edits = judge->edits;
    const bool lifted = METHOD_BIT(judge->method) & METHODS_LIFTED;
    size_t i, k, n = 0;

    (void)err;
    for (i = 0; i < edits->n; i++) {
        const struct edit *e = &edits->item[i];
        const char *at = (const char *)e->note.bytes, *end = at ? at + e->note.size : NULL;

        n += count_paths(judge, e->run_path, ret);
        for (k = 0; k < e->n_needed; k++)
            n += count_paths(judge, e->needed[k], ret);
        for (k = 0; k < e->n_links; k++)
            n += count_paths(judge, e->link[k].target, ret);
        for (; at && at < end; at += strlen(at) + 1)
            n += count_paths(judge, at, ret);
    }
    ret->verdict = ret->n_evidence ? VERDICT_FAIL : lifted ? VERDICT_WARN : VERDICT_PASS;
    ret->reason = arena_printf(
        judge->arena, "%zu store paths in strings and links, %s%s", n,
        ret->n_evidence ? "of which some have no hash to be rewritten"
                        : "all plain and of a length that rewriting keeps",
        lifted ? "; the list of names is a copy of the graph: a graft that needs other libraries "
                 "gets them last, and what it no longer needs is loaded all the same"
               : "");
    return 0;
}
