#include "base/str.h"
#include "planner/apply_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int files_fail(struct err *err, const char *path)
{
    const int code = errno;

    return err_set(err, code, "'%s': %s", path, strerror(code));
}

void files_note_undo(struct apply *apply, enum undo_kind kind, const char *path, const char *other)
{
    apply->undo = arena_grow(apply->arena, apply->undo, apply->n_undos, sizeof(*apply->undo));
    apply->undo[apply->n_undos++] = (struct undo){kind, path, other};
}

void files_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

/* ---- places */

/* Copies lie as in their package; what is in none lies as beside its program. */
static const char *copy_path(const struct apply *apply, const struct target *t, const char *path)
{
    const char *program = t->subject->path;
    const size_t len = t->dir ? strlen(t->dir) + 1 : (size_t)(str_base(program) - program);

    return str_join(apply->arena, apply->options->copies, path + len);
}

const char *disk_path(const struct apply *apply, const struct target *t, const char *path)
{
    const struct apply_options *o = apply->options;

    if (o->copies)
        return copy_path(apply, t, path);
    return strcmp(o->root, "/") == 0 ? path : arena_printf(apply->arena, "%s%s", o->root, path);
}

const char *files_directory(const struct apply *apply, const char *path)
{
    return arena_strndup(apply->arena, path, (size_t)(str_base(path) - path));
}

int files_sync_directory(const char *path, struct err *err)
{
    CLEANUP(files_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    /* some file systems cannot; then there is nothing more to be had */
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EROFS))
        return files_fail(err, path);
    return 0;
}

int files_make_directories(struct apply *apply, const char *path, struct err *err)
{
    const char *text = arena_printf(apply->arena, "%s/", path);

    for (const char *at = strchr(text + 1, '/'); at; at = strchr(at + 1, '/')) {
        const char *part = arena_strndup(apply->arena, text, (size_t)(at - text));

        if (mkdir(part, 0755) == 0) {
            files_note_undo(apply, UNDO_DIRECTORY, part, NULL);
            if (files_sync_directory(files_directory(apply, part), err) < 0)
                return -err->code;
        } else if (errno != EEXIST) {
            return files_fail(err, part);
        }
    }
    return 0;
}

/* ---- one at a time */

static int lock_directory(struct apply *apply, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return files_fail(err, path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        (void)close(fd);
        return err_set(err, EBUSY, "'%s': another apply is at work here", path);
    }
    apply->lock = arena_grow(apply->arena, apply->lock, apply->n_locks, sizeof(*apply->lock));
    apply->lock[apply->n_locks++] = fd;
    return 0;
}

int files_lock(struct apply *apply, struct err *err)
{
    const struct apply_options *o = apply->options;
    int r = 0;

    if (o->copies) {
        r = files_make_directories(apply, o->copies, err);
        return r < 0 ? r : lock_directory(apply, o->copies, err);
    }
    for (size_t i = 0; i < o->n_outputs && r == 0; i++)
        r = lock_directory(apply,
                           strcmp(o->root, "/") == 0
                               ? o->output[i].dir
                               : arena_printf(apply->arena, "%s%s", o->root, o->output[i].dir),
                           err);
    return r;
}

void files_unlock(struct apply *apply)
{
    while (apply->n_locks)
        (void)close(apply->lock[--apply->n_locks]);
}

/* ---- names change */

static int exchange(const char *a, const char *b)
{
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* Where the file system cannot exchange: the old file gets a name of its own first. */
static int rename_over(struct apply *apply, const struct target *t, struct err *err)
{
    const char *old = arena_printf(apply->arena, "%s-old", t->temp);

    if (unlink(old) < 0 && errno != ENOENT)
        return files_fail(err, old);
    if (link(t->disk, old) < 0)
        return files_fail(err, t->disk);
    files_note_undo(apply, UNDO_REMOVE, old, NULL);
    if (rename(t->temp, t->disk) < 0)
        return files_fail(err, t->disk);
    if (rename(old, t->temp) < 0)
        return files_fail(err, old);
    files_note_undo(apply, UNDO_EXCHANGE, t->disk, t->temp);
    return 0;
}

int files_exchange(struct apply *apply, struct target *t, struct err *err)
{
    int r = 0;

    if (exchange(t->temp, t->disk) == 0)
        files_note_undo(apply, UNDO_EXCHANGE, t->disk, t->temp);
    else if (errno == ENOENT && apply->options->copies)
        r = rename(t->temp, t->disk) < 0 ? files_fail(err, t->disk)
                                         : (files_note_undo(apply, UNDO_REMOVE, t->disk, NULL), 0);
    else if (errno == EINVAL || errno == ENOSYS)
        r = rename_over(apply, t, err);
    else
        r = files_fail(err, t->disk);
    return r < 0 ? r : files_sync_directory(files_directory(apply, t->disk), err);
}

/* ---- and back */

static int undo_one(const struct apply *apply, const struct undo *u)
{
    const char *temp;

    switch (u->kind) {
    case UNDO_REMOVE:
        return unlink(u->path) < 0 && errno != ENOENT ? -errno : 0;
    case UNDO_DIRECTORY:
        return rmdir(u->path) < 0 && errno != ENOTEMPTY && errno != ENOENT ? -errno : 0;
    case UNDO_EXCHANGE:
        return exchange(u->path, u->other) < 0 && rename(u->other, u->path) < 0 ? -errno : 0;
    case UNDO_LINK:
        temp = arena_printf(apply->arena, "%s.stormlint", u->path);
        return symlink(u->other, temp) < 0 || rename(temp, u->path) < 0 ? -errno : 0;
    }
    return 0;
}

int files_undo(struct apply *apply, struct err *err)
{
    int failed = 0;

    while (apply->n_undos) {
        const struct undo *u = &apply->undo[--apply->n_undos];
        const int r = undo_one(apply, u);

        if (r < 0 && !failed)
            failed = err_set(err, -r, "'%s' could not be put back: %s", u->path, strerror(-r));
    }
    return failed;
}

void files_finish(struct apply *apply)
{
    for (size_t i = 0; i < apply->n_targets; i++) {
        if (!apply->target[i].temp)
            continue;
        (void)unlink(apply->target[i].temp);
        (void)unlink(arena_printf(apply->arena, "%s-old", apply->target[i].temp));
    }
    apply->n_undos = 0;
}
