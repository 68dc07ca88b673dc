/*
 * Criteria that look at the edits alone: references, size, versions.
 */
#include "base/str.h"
#include "planner/criteria.h"

#include <string.h>

/* ---- store paths named by strings */

struct packages {
    struct arena *arena;
    const struct policy *policy;
    const char **item;
    size_t n;
};

static bool has_package(const struct packages *p, const char *package)
{
    size_t i;

    for (i = 0; i < p->n; i++)
        if (!strcmp(p->item[i], package))
            return true;
    return false;
}

/* Every store path in a ':'-list, or one path. */
static void add_paths(struct packages *p, const char *text)
{
    const char **component, *package;
    size_t n = run_path_split(p->arena, text, &component), i;

    for (i = 0; i < n; i++)
        if ((package = policy_package(p->policy, p->arena, component[i])) &&
            !has_package(p, package)) {
            p->item = arena_grow(p->arena, p->item, p->n, sizeof(*p->item));
            p->item[p->n++] = package;
        }
}

static void add_object(struct packages *p, const struct object *object)
{
    size_t i;

    add_paths(p, object->interp);
    add_paths(p, object->runpath);
    add_paths(p, object->rpath);
    for (i = 0; i < object->n_needs; i++)
        add_paths(p, object->need[i].name);
}

static void add_note(struct packages *p, const struct note *note)
{
    const char *at = (const char *)note->bytes, *end = at + note->size;
    const char **element;
    size_t n, i;

    for (; at && at < end; at += strlen(at) + 1) {
        n = run_path_split(p->arena, at, &element);
        for (i = 0; i < n; i++)
            add_paths(p, *element[i] ? element[i] + 1 : "");
    }
}

static void add_edits(struct packages *p, const struct edits *edits)
{
    size_t i, k;

    for (i = 0; i < edits->n; i++) {
        const struct edit *e = &edits->item[i];

        add_paths(p, e->run_path);
        for (k = 0; k < e->n_needed; k++)
            add_paths(p, e->needed[k]);
        for (k = 0; k < e->n_links; k++)
            add_paths(p, e->link[k].target);
        if (e->kind == EDIT_NOTE || e->kind == EDIT_CLOSURE)
            add_note(p, &e->note);
        add_paths(p, e->audit);
    }
}

int judge_references(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    struct packages before = {.arena = judge->arena, .policy = s->policy};
    struct packages after = before, closure = before;
    size_t i, n_new = 0, n_outside = 0;

    (void)err;
    add_object(&before, s->object);
    for (i = 0; i < s->trace->n_loaded; i++)
        if (s->trace->loaded[i].object) {
            add_object(&closure, s->trace->loaded[i].object);
            add_paths(&closure, s->member[i].package);
        }
    add_edits(&after, judge->edits);
    for (i = 0; i < after.n; i++) {
        if (has_package(&before, after.item[i]) || str_same(after.item[i], s->package))
            continue;
        n_new++;
        if (has_package(&closure, after.item[i]))
            continue;
        n_outside++;
        judgement_add(ret,
                      (struct evidence){.object = after.item[i], .note = "not in its closure"});
    }
    ret->verdict = n_outside ? VERDICT_WARN : VERDICT_PASS;
    if (s->policy->max_references && n_new > s->policy->max_references) {
        ret->verdict = VERDICT_FAIL;
        ret->reason = arena_printf(judge->arena,
                                   "%zu store paths are newly referenced, the policy "
                                   "allows %u",
                                   n_new, s->policy->max_references);
        return 0;
    }
    if (n_new == 0)
        ret->reason = "no store path is newly referenced";
    else
        ret->reason = arena_printf(
            judge->arena, "%zu store path%s newly referenced, %s; allowedReferences: %s", n_new,
            n_new == 1 ? " is" : "s are",
            n_outside ? "some of them outside the closure" : "all reachable from it before",
            s->policy->allowed || s->policy->disallowed ? "kept" : "not told");
    return 0;
}

/* ---- size */

struct growth {
    size_t links, directories, target_bytes; /* of farms */
    size_t string_bytes, entries;            /* of files: string table, dynamic section */
};

/* The farm's own, and those below it; the folder above is the package's, and farms share it. */
static size_t count_directories(const struct edit *farm)
{
    const char *last = "", *at;
    size_t i, k, n = 1;

    /* links are sorted: those of one sub-directory follow each other */
    for (i = 0; i < farm->n_links; i++) {
        for (k = 0; last[k] && farm->link[i].name[k] == last[k]; k++)
            ;
        for (at = farm->link[i].name + k; (at = strchr(at, '/')); at++)
            n++;
        last = farm->link[i].name;
    }
    return n;
}

static bool has_need(const struct object *object, const char *name)
{
    size_t i;

    for (i = 0; i < object->n_needs; i++)
        if (!strcmp(object->need[i].name, name))
            return true;
    return false;
}

static void measure(const struct edit *e, const struct object *object, const char *old_path,
                    struct growth *g)
{
    size_t i;

    switch (e->kind) {
    case EDIT_FARM:
        g->links += e->n_links;
        g->directories += count_directories(e);
        for (i = 0; i < e->n_links; i++)
            g->target_bytes += strlen(e->link[i].target);
        break;
    case EDIT_NEEDED:
        for (i = 0; i < e->n_needed; i++)
            if (!has_need(object, e->needed[i]))
                g->string_bytes += strlen(e->needed[i]) + 1;
        g->entries += e->n_needed > object->n_needs ? e->n_needed - object->n_needs : 0;
        break;
    case EDIT_RUN_PATH:
        if (strlen(e->run_path) > strlen(old_path))
            g->string_bytes += strlen(e->run_path) + 1;
        g->entries += *old_path == '\0';
        break;
    case EDIT_NOTE:
        g->string_bytes += e->note.size;
        break;
    case EDIT_CLOSURE:
        g->string_bytes += e->note.size + strlen(e->audit) + 1;
        g->entries++;
        break;
    case EDIT_VERNEED: /* the strings are those of the needed list */
    case N_EDIT_KINDS:
        break;
    }
}

struct edits_cost edits_cost(const struct subject *s, const struct edits *edits)
{
    const size_t entry = s->object->class == ELFCLASS32 ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
    struct growth g = {0};
    size_t i;

    for (i = 0; i < edits->n; i++)
        measure(&edits->item[i], s->object, old_run_path(s), &g);
    return (struct edits_cost){
        .bytes = g.target_bytes + g.string_bytes + g.entries * entry,
        .inodes = g.links + g.directories,
    };
}

int judge_size(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    struct growth g = {0};
    const struct edits_cost cost = edits_cost(s, judge->edits);
    size_t i;

    (void)err;
    for (i = 0; i < judge->edits->n; i++)
        measure(&judge->edits->item[i], s->object, old_run_path(s), &g);
    ret->verdict = (s->policy->max_inodes && cost.inodes > s->policy->max_inodes) ||
                           (s->policy->max_bytes && cost.bytes > s->policy->max_bytes)
                       ? VERDICT_FAIL
                       : VERDICT_PASS;
    ret->reason = arena_printf(
        judge->arena,
        "%zu inode%s (%zu link%s, %zu director%s; targets %zu byte%s); the program's strings grow "
        "by %zu byte%s, its dynamic section by %zu entr%s",
        g.links + g.directories, str_count(g.links + g.directories, "", "s"), g.links,
        str_count(g.links, "", "s"), g.directories, str_count(g.directories, "y", "ies"),
        g.target_bytes, str_count(g.target_bytes, "", "s"), g.string_bytes,
        str_count(g.string_bytes, "", "s"), g.entries, str_count(g.entries, "y", "ies"));
    return 0;
}

/* ---- versions */

/* The needed list and a version's file name after the edits. */
static bool is_needed_after(const struct subject *s, const struct edits *edits, const char *file)
{
    const struct edit *needed = edits_find(edits, EDIT_NEEDED, s->path);
    const struct edit *renamed = edits_find(edits, EDIT_VERNEED, s->path);
    size_t i;

    for (i = 0; renamed && i < renamed->n_renames; i++)
        if (!strcmp(renamed->renames[i].from, file)) {
            file = renamed->renames[i].to;
            break;
        }
    if (!needed)
        return has_need(s->object, file);
    for (i = 0; i < needed->n_needed; i++)
        if (!strcmp(needed->needed[i], file))
            return true;
    return false;
}

int judge_version_needs(struct judge *judge, struct judgement *ret, struct err *err)
{
    const struct subject *s = judge->subject;
    const char *last = "";
    size_t i, n = 0;

    (void)err;
    for (i = 0; i < s->object->n_verneed; i++) {
        const char *file = s->object->verneed[i].file;

        if (!file || !strcmp(file, last))
            continue;
        last = file;
        n++;
        if (is_needed_after(s, judge->edits, file))
            continue;
        judgement_add(
            ret, (struct evidence){.soname = file,
                                   .before = has_need(s->object, file) ? "needed" : "not needed",
                                   .after = "not needed"});
        if (has_need(s->object, file))
            ret->verdict = VERDICT_FAIL;
        else if (ret->verdict == VERDICT_PASS)
            ret->verdict = VERDICT_WARN; /* it was like that */
    }
    if (n == 0)
        ret->verdict = VERDICT_NOT_APPLICABLE;
    ret->reason = ret->verdict == VERDICT_FAIL ? "the loader would stop at its version check"
                  : ret->verdict == VERDICT_WARN
                      ? "a file it wants a version from was no needed name "
                        "before either"
                  : n == 0 ? "it wants no versions"
                           : arena_printf(judge->arena,
                                          "all %zu files it wants versions "
                                          "from are needed names",
                                          n);
    return 0;
}
