#include "loader/syspath.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

static int find_object(struct world *world, const char *path, struct node **ret_node,
                       struct err *err)
{
    const struct place at = world_walk(world, NULL, path);

    if (at.error)
        return err_set(err, at.error, "'%s': %s", path, strerror(at.error));
    if (at.node->kind != NODE_FILE)
        return err_set(err, ENOEXEC, "'%s': not a regular file", path);
    if (!world_object(world, at.node))
        return err_set(err, at.node->object_error ? at.node->object_error : ENOEXEC, "'%s': %s",
                       path,
                       at.node->object_error ? strerror(at.node->object_error) : "not an ELF file");
    *ret_node = at.node;
    return 0;
}

/*
 * As the loader writes them: every directory with each of its sub-directories in the order of its
 * search, without the final slash, equal ones too.
 */
static const char *joined(struct arena *arena, const struct profile *p)
{
    struct str out = {.arena = arena};

    for (size_t i = 0; i < p->n_system_dirs; i++)
        for (size_t k = 0; k < p->n_caps; k++) {
            str_printf(&out, "%s%s%s", out.len ? ":" : "", p->system_dirs[i], p->caps[k]);
            if (out.text[out.len - 1] == '/' && strcmp(p->system_dirs[i], "/") != 0)
                out.text[--out.len] = '\0';
        }
    return out.text;
}

static const char *hexadecimal(struct arena *arena, const struct note *note)
{
    struct str out = {.arena = arena};

    for (uint32_t i = 0; note->bytes && i < note->size; i++)
        str_printf(&out, "%02x", note->bytes[i]);
    return out.text;
}

int syspath_read(struct world *world, const char *path, const struct cpu *cpu, struct arena *arena,
                 struct syspath *ret_syspath, struct err *err)
{
    struct syspath s = {0};
    struct node *node;
    int r = find_object(world, path, &node, err);

    if (r == 0 && node->object->interp) {
        path = arena_strdup(arena, node->object->interp);
        r = find_object(world, path, &node, err);
    }
    if (r < 0)
        return r;
    if (!node->object->ldso)
        return err_set(err, ENOEXEC, "'%s': not a dynamic loader, and it names none", path);
    if (node->object->machine != cpu->machine)
        return err_set(err, EINVAL, "'%s' is not a loader for %s", path, cpu->name);
    s.loader = world_path(arena, node);
    profile_make(arena, node->object, path, s.loader, cpu, &s.profile);
    if (s.profile.libc == LIBC_MUSL)
        return err_set(err, ENOTSUP, "'%s': musl's loader prints no search path", path);
    if (s.profile.n_system_dirs == 0)
        return err_set(err, ENOTSUP, "'%s': its directories cannot be told", path);
    s.value = joined(arena, &s.profile);
    s.build_id = hexadecimal(arena, &node->object->build_id);
    *ret_syspath = s;
    return 0;
}
