#include "base/str.h"
#include "planner/apply_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From a directory to a path, both absolute and without links. */
static const char *relative(struct arena *arena, const char *directory, const char *path)
{
    struct str out = {.arena = arena};
    size_t same = 0, i;

    for (i = 0; directory[i] && directory[i] == path[i]; i++)
        if (path[i] == '/')
            same = i + 1;
    if (directory[i] == '\0' && path[i] == '/')
        same = i + 1;
    for (const char *at = directory + same; at < directory + strlen(directory); at++)
        if (*at == '/' || at == directory + same)
            str_add(&out, "../");
    str_add(&out, path + same);
    return out.text;
}

/* Links stay inside their package by name; what lies in another is named in full. */
static const char *link_text(struct apply *apply, const struct target *t, const char *link,
                             const char *target)
{
    const char *directory = files_directory(apply, link);

    if (!t->dir || !str_starts(target, t->dir) || target[strlen(t->dir)] != '/')
        return target;
    return relative(apply->arena, arena_strndup(apply->arena, directory, strlen(directory) - 1),
                    target);
}

static int replace_link(struct apply *apply, const char *path, const char *text, const char *old,
                        struct err *err)
{
    const char *temp = arena_printf(apply->arena, "%s.stormlint", path);

    if (unlink(temp) < 0 && errno != ENOENT)
        return files_fail(err, temp);
    if (symlink(text, temp) < 0)
        return files_fail(err, temp);
    if (rename(temp, path) < 0) {
        const int r = files_fail(err, path);

        (void)unlink(temp);
        return r;
    }
    files_note_undo(apply, UNDO_LINK, path, old);
    return 0;
}

static int make_link(struct apply *apply, const char *path, const char *text, struct err *err)
{
    char old[4097];
    ssize_t n = readlink(path, old, sizeof(old) - 1);

    if (n >= 0) {
        old[n] = '\0';
        return strcmp(old, text) == 0
                   ? 0
                   : replace_link(apply, path, text, arena_strdup(apply->arena, old), err);
    }
    if (errno != ENOENT)
        return files_fail(err, path);
    if (symlink(text, path) < 0)
        return files_fail(err, path);
    files_note_undo(apply, UNDO_REMOVE, path, NULL);
    apply->n_links++;
    return 0;
}

int farm_make(struct apply *apply, const struct target *t, const struct edit *farm, struct err *err)
{
    const char *last = NULL;
    int r = 0;

    for (size_t i = 0; i < farm->n_links && r == 0; i++) {
        const char *link = str_join(apply->arena, farm->path, farm->link[i].name);
        const char *path = disk_path(apply, t, link), *directory = files_directory(apply, path);

        directory = arena_strndup(apply->arena, directory, strlen(directory) - 1);
        if (!last || strcmp(last, directory) != 0) {
            if (last && files_sync_directory(last, err) < 0)
                return -err->code;
            r = files_make_directories(apply, directory, err);
            last = directory;
        }
        if (r == 0)
            r = make_link(apply, path, link_text(apply, t, link, farm->link[i].target), err);
    }
    return r == 0 && last ? files_sync_directory(last, err) : r;
}
