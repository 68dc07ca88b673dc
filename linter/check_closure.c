/*
 * Closure notes (docs/closure-note.md): can they be read, are they about this program, and do they
 * give the answers of a start without them?
 */
#include "linter/check.h"
#include "resolver/decide.h"

/* What is wrong with the note's bytes; NULL: nothing, or there is no note. */
const char *closure_note_problem(const struct object *object)
{
    struct closure_note note;

    return !object->closure.bytes ||
                   closure_open(&note, object->closure.bytes, object->closure.size)
               ? NULL
               : "its closure note is malformed, or of a version not known here";
}

static bool is_about(const struct object *object)
{
    struct closure_note note;

    return closure_open(&note, object->closure.bytes, object->closure.size) &&
           note_is_about(&note, object);
}

/* Is the module that DT_AUDIT names the reader of closure notes? */
bool has_resolver(struct check *check, const struct object *object)
{
    const struct place at = object->audit && *object->audit == '/'
                                ? world_walk(check->closure->world, NULL, object->audit)
                                : (struct place){.error = 2};
    const struct object *module = at.error ? NULL : world_object(check->closure->world, at.node);

    return module && str_same(module->soname, RESOLVER_SONAME);
}

/* What a start loads, audit modules left out; false: it cannot be told. */
static bool start_in(struct check *check, struct world *world, struct trace *ret_trace)
{
    const struct start start = {.program = check->object->path};
    struct loader *loader = loader_new(world, lint_cpu(check->lint), lint_cwd(check->lint), false);
    struct err err;
    const int r = loader_run(loader, &start, check->arena, ret_trace, &err);

    if (r == 0)
        trace_drop_modules(ret_trace, check->arena);
    loader_free(loader);
    return r == 0;
}

static const char *path_at(struct check *check, const struct trace *trace, size_t i)
{
    if (i >= trace->n_loaded)
        return "nothing";
    return trace->loaded[i].node ? world_path(check->arena, trace->loaded[i].node)
                                 : trace->loaded[i].path;
}

static void compare(struct check *check, const struct trace *with, const struct trace *without)
{
    const size_t n = with->n_loaded > without->n_loaded ? with->n_loaded : without->n_loaded;

    for (size_t i = 0; i < n; i++) {
        const char *a = path_at(check, with, i), *b = path_at(check, without, i);
        struct finding *f;

        if (!strcmp(a, b))
            continue;
        f = report_object(check, check->object, NULL,
                          "with its closure note it loads '%s' where it would load '%s'",
                          shown(check, a), shown(check, b));
        evidence(check, f, "number %zu of what is loaded, with the note: %s", i, a);
        evidence(check, f, "without it: %s", b);
        return;
    }
}

void closure_note_stale(struct check *check)
{
    const struct object *o = check->object->object;
    struct world *bare;
    struct object *plain;
    struct trace with, without;
    struct err err;

    if (!o->closure.bytes || !o->interp || closure_note_problem(o))
        return;
    if (!is_about(o)) {
        report_object(check, check->object, NULL,
                      "its closure note was made for another run path or other needed names, and "
                      "is not read");
        return;
    }
    bare = world_overlay(check->closure->world);
    plain = arena_memdup(check->arena, o, sizeof(*o));
    plain->closure = (struct note){0};
    plain->audit = NULL;
    if (overlay_object(bare, check->object->path, plain, &err) == 0 &&
        start_in(check, check->closure->world, &with) && start_in(check, bare, &without))
        compare(check, &with, &without);
    world_close(bare);
}

void closure_note_without_reader(struct check *check)
{
    const struct object *o = check->object->object;

    if (o->closure.bytes && !has_resolver(check, o))
        report_object(check, check->object, NULL, "it has a closure note, and %s%s%s",
                      o->audit ? "'" : "no DT_AUDIT", o->audit ? shown(check, o->audit) : "",
                      o->audit ? "', which DT_AUDIT names, does not read it" : " names its reader");
}
