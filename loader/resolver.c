/*
 * A start with the resolver: the audit module that reads notes on stock glibc
 * (docs/closure-note.md). Its decisions are not modelled, they are run: resolver/ is linked in and
 * sees the world instead of the file system.
 */
#include "loader/internal.h"

#include <errno.h>
#include <string.h>

static enum seen verify_head(const struct run *run, const struct node *node,
                             const struct object *object)
{
    const bool big_endian = object && object->data == ELFDATA2MSB;
    struct seen_head head;

    if (node->kind != NODE_FILE || !object || object->size < SEEN_SIZE)
        return SEEN_UNSURE;
    head = (struct seen_head){
        .class = object->class,
        .data = object->data,
        .version = object->ident_version,
        .osabi = object->osabi,
        .type = big_endian ? __builtin_bswap16(object->type) : object->type,
        .machine = big_endian ? __builtin_bswap16(object->machine) : object->machine,
    };
    return resolver_judge(run->setup->profile.machine, &head);
}

/* What the module's look at a path is here: one open, recorded like those of ld.so. */
static enum seen look(void *data, const char *path, bool verify)
{
    struct run *run = data;
    const struct place at = loader_walk(run->loader, path);
    const int error = open_error(run, at);

    if (at.assumed)
        run_assume(run, "'%s' is outside what was looked at, and taken as absent", path);
    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = STAGE_NOTE,
                                .outcome = error ? OUTCOME_FAILED : OUTCOME_INFO,
                                .error = error,
                                .path = run_path(run, path, "", "")});
    if (error)
        return error == ENOENT || error == ENOTDIR ? SEEN_ABSENT : SEEN_UNSURE;
    return verify ? verify_head(run, at.node, world_object(run->world, at.node)) : SEEN_THERE;
}

/* What the module makes of the program's notes. NULL: it reads one; else why it does not. */
static const char *read_notes(struct resolver *r, const struct object *object)
{
    const char *why = NULL;

    (void)resolution_open(&r->own, object->resolution.bytes, object->resolution.size);
    if (!object->closure.bytes) {
        why = "the program has no note";
    } else if (!closure_open(&r->closure, object->closure.bytes, object->closure.size)) {
        why = "the closure note is malformed, or of another version";
    } else if (!note_is_about(&r->closure, object)) {
        why = "the closure note was made for another run path or other needed names";
        r->closure.rows.at = NULL;
    }
    return r->own.at ? NULL : why;
}

static bool is_switched_off(const struct run *run)
{
    for (size_t i = 0; i < run->start->n_env; i++)
        if (strcmp(run->start->env[i], RESOLVER_SWITCH) == 0)
            return true;
    return false;
}

void resolver_start(struct run *run)
{
    const struct object *object = run->main->image->object;
    struct resolver *r = arena_calloc(run->arena, 1, sizeof(*r));
    const char *library_path = run_env(run, "LD_LIBRARY_PATH", false), *why;

    if (run->loader->secure)
        why = "a set-id program";
    else if (run->explicit)
        why = "ld.so was run by hand";
    else if (is_switched_off(run))
        why = "the environment says " RESOLVER_SWITCH;
    else
        why = read_notes(r, object);
    run->trace->resolver = why                  ? arena_printf(run->arena, "off: %s", why)
                           : r->closure.rows.at ? "reads the closure note"
                                                : "reads the program's resolution note";
    if (why)
        return;
    r->look = look;
    r->data = run;
    r->machine = run->setup->profile.machine;
    r->library_path = library_path && *library_path ? library_path : NULL;
    r->inherits = object->rpath && !object->runpath;
    run->resolver = r;
}

void resolver_saw(struct run *run, const struct image *image)
{
    if (run->resolver && image->object->rpath && !image->object->runpath)
        run->resolver->inherits = true;
}

const struct name *resolver_path(struct run *run, const struct lib *lib, const struct name *name)
{
    const struct object *object = lib->image ? lib->image->object : NULL;
    struct asker asker = {.is_program = lib->is_main};
    const char *path;

    if (!object)
        return NULL;
    run->effort +=
        (run->main->image->object->closure.size + run->main->image->object->resolution.size) / 16;
    asker.path = lib->is_main ? CLOSURE_PROGRAM : lib->image->path->text;
    asker.rpath = object->rpath != NULL;
    asker.runpath = object->runpath != NULL;
    path = resolver_answer(run->resolver, &asker, name->text);
    return path ? intern(run->names, path) : NULL;
}
