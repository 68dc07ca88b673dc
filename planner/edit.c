#include "planner/edit.h"
#include "base/str.h"
#include "resolver/decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[N_EDIT_KINDS] = {
    [EDIT_FARM] = "farm",       [EDIT_NEEDED] = "needed", [EDIT_RUN_PATH] = "run-path",
    [EDIT_VERNEED] = "verneed", [EDIT_NOTE] = "note",     [EDIT_CLOSURE] = "closure",
};

const char *edit_kind_name(enum edit_kind kind)
{
    return kind_names[kind];
}

int edit_kind_find(const char *name)
{
    int i;

    for (i = 0; i < N_EDIT_KINDS; i++)
        if (!strcmp(kind_names[i], name))
            return i;
    return -1;
}

static struct edit *add(struct edits *edits, struct arena *arena, enum edit_kind kind,
                        const char *path)
{
    struct edit *edit;

    edits->item = arena_grow(arena, edits->item, edits->n, sizeof(*edits->item));
    edit = &edits->item[edits->n++];
    *edit = (struct edit){.kind = kind, .path = path};
    return edit;
}

void edit_needed(struct edits *edits, struct arena *arena, const char *path, const char **needed,
                 size_t n_needed)
{
    struct edit *edit = add(edits, arena, EDIT_NEEDED, path);

    edit->needed = needed;
    edit->n_needed = n_needed;
}

void edit_run_path(struct edits *edits, struct arena *arena, const char *path, const char *run_path)
{
    add(edits, arena, EDIT_RUN_PATH, path)->run_path = run_path;
}

void edit_verneed(struct edits *edits, struct arena *arena, const char *path,
                  struct rename *renames, size_t n_renames)
{
    struct edit *edit = add(edits, arena, EDIT_VERNEED, path);

    edit->renames = renames;
    edit->n_renames = n_renames;
}

void edit_note(struct edits *edits, struct arena *arena, const char *path, struct note note)
{
    add(edits, arena, EDIT_NOTE, path)->note = note;
}

void edit_closure(struct edits *edits, struct arena *arena, const char *path, struct note note,
                  const char *audit)
{
    struct edit *edit = add(edits, arena, EDIT_CLOSURE, path);

    edit->note = note;
    edit->audit = audit;
}

static int by_name(const void *a, const void *b)
{
    const struct farm_link *x = a, *y = b;

    return strcmp(x->name, y->name);
}

void edit_farm(struct edits *edits, struct arena *arena, const char *directory,
               struct farm_link *link, size_t n_links)
{
    struct edit *edit = add(edits, arena, EDIT_FARM, directory);

    if (n_links > 1)
        qsort(link, n_links, sizeof(*link), by_name);
    edit->link = link;
    edit->n_links = n_links;
}

struct copier {
    struct arena *arena;
    struct intern *texts; /* NULL: each text has its own copy */
};

static const char *keep(const struct copier *c, const char *text)
{
    if (!text)
        return NULL;
    return c->texts ? intern(c->texts, text)->text : arena_strdup(c->arena, text);
}

static struct edit edit_copy(const struct copier *c, const struct edit *from)
{
    struct edit e = *from;
    size_t i;

    e.path = keep(c, e.path);
    e.run_path = keep(c, e.run_path);
    e.audit = keep(c, e.audit);
    e.needed = arena_calloc(c->arena, e.n_needed, sizeof(*e.needed));
    for (i = 0; i < e.n_needed; i++)
        e.needed[i] = keep(c, from->needed[i]);
    e.renames = arena_calloc(c->arena, e.n_renames, sizeof(*e.renames));
    for (i = 0; i < e.n_renames; i++)
        e.renames[i] =
            (struct rename){keep(c, from->renames[i].from), keep(c, from->renames[i].to)};
    e.link = arena_calloc(c->arena, e.n_links, sizeof(*e.link));
    for (i = 0; i < e.n_links; i++)
        e.link[i] = (struct farm_link){keep(c, from->link[i].name), keep(c, from->link[i].target)};
    if (e.note.bytes)
        e.note.bytes = arena_memdup(c->arena, e.note.bytes, e.note.size);
    return e;
}

struct edits edits_copy(const struct edits *edits, struct arena *arena, struct intern *texts)
{
    const struct copier c = {arena, texts};
    struct edits copy = {.item = arena_calloc(arena, edits->n, sizeof(*copy.item)), .n = edits->n};
    size_t i;

    for (i = 0; i < edits->n; i++)
        copy.item[i] = edit_copy(&c, &edits->item[i]);
    return copy;
}

const struct edit *edits_find(const struct edits *edits, enum edit_kind kind, const char *path)
{
    size_t i;

    for (i = 0; i < edits->n; i++)
        if (edits->item[i].kind == kind && (!path || !strcmp(edits->item[i].path, path)))
            return &edits->item[i];
    return NULL;
}

/* ---- laying them over a world */

static int apply_farm(const struct edit *edit, struct world *overlay, struct arena *arena,
                      struct err *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < edit->n_links && r == 0; i++)
        r = overlay_link(overlay, str_join(arena, edit->path, edit->link[i].name),
                         edit->link[i].target, err);
    return r;
}

static int change_needed(struct object *object, const struct edit *edit, struct arena *arena,
                         struct err *err)
{
    size_t i;

    for (i = 0; i < object->n_needs; i++)
        if (object->need[i].kind != NEED_NEEDED)
            return err_set(err, EINVAL, "'%s' has DT_AUXILIARY or DT_FILTER: its needed list stays",
                           edit->path);
    object->need = arena_calloc(arena, edit->n_needed + 1, sizeof(*object->need));
    object->n_needs = edit->n_needed;
    for (i = 0; i < edit->n_needed; i++)
        object->need[i] = (struct need){.kind = NEED_NEEDED, .name = edit->needed[i]};
    return 0;
}

static void rename_verneed(struct object *object, const struct edit *edit, struct arena *arena)
{
    size_t i, k;

    object->verneed =
        arena_memdup(arena, object->verneed, object->n_verneed * sizeof(*object->verneed));
    for (i = 0; i < object->n_verneed; i++)
        for (k = 0; k < edit->n_renames; k++)
            if (str_same(object->verneed[i].file, edit->renames[k].from)) {
                object->verneed[i].file = edit->renames[k].to;
                break;
            }
}

/*
 * The reader where it is to be, if it is not there yet: what the loader looks at, for the machine
 * of the program.
 */
static int place_reader(const struct edit *edit, const struct object *program,
                        struct world *overlay, struct arena *arena, struct err *err)
{
    struct object *reader;

    if (!edit->note.bytes || *edit->audit != '/' ||
        world_walk(overlay, NULL, edit->audit).error == 0)
        return 0;
    reader = arena_calloc(arena, 1, sizeof(*reader));
    *reader = (struct object){
        .class = program->class,
        .data = program->data,
        .ident_version = EV_CURRENT,
        .ident_pad_zero = true,
        .type = ET_DYN,
        .machine = program->machine,
        .version = EV_CURRENT,
        .machine_flags = program->machine_flags,
        .phentsize = program->phentsize,
        .phnum = 6,
        .size = 8192,
        .mode = 0100555,
        .has_dynamic = true,
        .soname = RESOLVER_SONAME,
        .load_align = 4096,
    };
    return overlay_file(overlay, edit->audit, reader, err);
}

/* A resolution note holds for the needed list and the run path that it was made for. */
static bool makes_stale(const struct edits *edits, const struct edit *edit)
{
    return (edit->kind == EDIT_NEEDED || edit->kind == EDIT_RUN_PATH) &&
           !edits_find(edits, EDIT_NOTE, edit->path);
}

static int apply_file(const struct edits *edits, const struct edit *edit, struct world *overlay,
                      struct arena *arena, struct err *err)
{
    struct place at = world_walk(overlay, NULL, edit->path);
    const struct object *facts;
    struct object *changed;
    int r = 0;

    if (at.error)
        return err_set(err, at.error, "'%s' cannot be edited: it is not there", edit->path);
    facts = world_object(overlay, at.node);
    if (!facts)
        return err_set(err, ENOEXEC, "'%s' cannot be edited: it is not an ELF file", edit->path);
    changed = arena_memdup(arena, facts, sizeof(*facts));
    if (makes_stale(edits, edit))
        changed->resolution = (struct note){0};
    switch (edit->kind) {
    case EDIT_NEEDED:
        r = change_needed(changed, edit, arena, err);
        break;
    case EDIT_RUN_PATH:
        changed->runpath = edit->run_path;
        changed->rpath = NULL;
        break;
    case EDIT_VERNEED:
        rename_verneed(changed, edit, arena);
        break;
    case EDIT_NOTE:
        changed->resolution = edit->note;
        break;
    case EDIT_CLOSURE:
        changed->closure = edit->note;
        changed->audit = *edit->audit ? edit->audit : NULL;
        r = place_reader(edit, changed, overlay, arena, err);
        break;
    case EDIT_FARM:
    case N_EDIT_KINDS:
        break;
    }
    return r < 0 ? r : overlay_object(overlay, edit->path, changed, err);
}

int edits_apply(const struct edits *edits, struct world *overlay, struct arena *arena,
                struct err *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < edits->n && r == 0; i++)
        r = edits->item[i].kind == EDIT_FARM
                ? apply_farm(&edits->item[i], overlay, arena, err)
                : apply_file(edits, &edits->item[i], overlay, arena, err);
    return r;
}
