#include "base/str.h"
#include "planner/apply_internal.h"
#include "planner/elf_edit.h"
#include "scanner/elf_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30, MAX_XATTRS = 64 * 1024 };

static int fail(struct err *err, const char *path)
{
    const int code = errno;

    return err_set(err, code, "'%s': %s", path, strerror(code));
}

static void note_undo(struct apply *apply, enum undo_kind kind, const char *path, const char *other)
{
    apply->undo = arena_grow(apply->arena, apply->undo, apply->n_undos, sizeof(*apply->undo));
    apply->undo[apply->n_undos++] = (struct undo){kind, path, other};
}

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

/* ---- places */

const char *disk_path(const struct apply *apply, const struct target *t, const char *path)
{
    const struct apply_options *o = apply->options;

    if (o->copies)
        return str_join(apply->arena, o->copies,
                        t->dir && str_starts(path, t->dir) ? path + strlen(t->dir) + 1
                                                           : str_base(path));
    return strcmp(o->root, "/") == 0 ? path : arena_printf(apply->arena, "%s%s", o->root, path);
}

static const char *directory_of(const struct apply *apply, const char *path)
{
    return arena_strndup(apply->arena, path, (size_t)(str_base(path) - path));
}

static int sync_directory(const char *path, struct err *err)
{
    CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    /* some file systems cannot; then there is nothing more to be had */
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EROFS))
        return fail(err, path);
    return 0;
}

/* The directory and what is missing above it. */
static int make_directories(struct apply *apply, const char *path, struct err *err)
{
    const char *text = arena_printf(apply->arena, "%s/", path);

    for (const char *at = strchr(text + 1, '/'); at; at = strchr(at + 1, '/')) {
        const char *part = arena_strndup(apply->arena, text, (size_t)(at - text));

        if (mkdir(part, 0755) == 0) {
            note_undo(apply, UNDO_DIRECTORY, part, NULL);
            if (sync_directory(directory_of(apply, part), err) < 0)
                return -err->code;
        } else if (errno != EEXIST) {
            return fail(err, part);
        }
    }
    return 0;
}

/* ---- one at a time */

static int lock_directory(struct apply *apply, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return fail(err, path);
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
        r = make_directories(apply, o->copies, err);
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

/* ---- the edited copy */

static struct elf_change change_of(const struct target *t)
{
    struct elf_change change = {0};

    for (size_t i = 0; i < t->edits.n; i++) {
        const struct edit *e = &t->edits.item[i];

        switch (e->kind) {
        case EDIT_NEEDED:
            change.needed = e->needed;
            change.n_needed = e->n_needed;
            break;
        case EDIT_RUN_PATH:
            change.run_path = e->run_path;
            break;
        case EDIT_VERNEED:
            change.renames = e->renames;
            change.n_renames = e->n_renames;
            break;
        case EDIT_NOTE:
            change.note = e->note.size ? NOTE_SET : NOTE_REMOVE;
            change.descriptor = e->note;
            break;
        case EDIT_CLOSURE:
            change.closure = e->note.size ? NOTE_SET : NOTE_REMOVE;
            change.closure_descriptor = e->note;
            change.audit = e->audit;
            change.renew = t->policy->renew;
            break;
        case EDIT_FARM:
        case N_EDIT_KINDS:
            break;
        }
    }
    /* a note was made for the needed list and run path that go */
    if ((change.needed || change.run_path) && change.note == NOTE_LEAVE)
        change.note = NOTE_REMOVE;
    return change;
}

static int read_all(int fd, const char *path, struct arena *arena, uint64_t size,
                    unsigned char **ret_bytes, struct err *err)
{
    unsigned char *bytes = arena_alloc(arena, size + 1);

    for (uint64_t at = 0; at < size;) {
        const ssize_t n = pread(fd, bytes + at, size - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(err, path);
        if (n == 0)
            return err_set(err, EIO, "'%s': it has become shorter", path);
        at += (uint64_t)n;
    }
    *ret_bytes = bytes;
    return 0;
}

static int write_all(int fd, const char *path, const unsigned char *bytes, uint64_t size,
                     struct err *err)
{
    for (uint64_t at = 0; at < size;) {
        const ssize_t n = write(fd, bytes + at, size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(err, path);
        at += (uint64_t)n;
    }
    return 0;
}

/* Owner, mode and extended attributes of the old file for the new one. */
static int copy_attributes(int from, int to, const struct stat *old, const char *path,
                           struct err *err)
{
    char names[4096], value[MAX_XATTRS];
    struct stat now;
    ssize_t n;

    if (fstat(to, &now) < 0)
        return fail(err, path);
    if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(to, old->st_uid, old->st_gid) < 0)
        return err_set(err, errno,
                       "'%s' belongs to user %u and group %u, which the new file could not be "
                       "given: %s",
                       path, old->st_uid, old->st_gid, strerror(errno));
    if (fchmod(to, old->st_mode & 07777) < 0)
        return fail(err, path);
    n = flistxattr(from, names, sizeof(names));
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
        const ssize_t size = fgetxattr(from, name, value, sizeof(value));

        if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) < 0)
            return err_set(err, errno, "'%s': its attribute '%s' could not be copied: %s", path,
                           name, strerror(errno));
    }
    if (n < 0 && errno != ENOTSUP)
        return fail(err, path);
    return 0;
}

/* The names of a file are edited together, or not at all: one left behind would be another file. */
static int check_links(const struct apply *apply, const struct target *t, const struct stat *st,
                       struct err *err)
{
    const struct node *node = t->subject->node;
    nlink_t here = 0;

    if (apply->options->copies || st->st_nlink == 1)
        return 0;
    for (size_t i = 0; i < apply->n_targets; i++) {
        const struct target *other = &apply->target[i];

        here += other->edits.n && other->subject->node->dev == node->dev &&
                other->subject->node->ino == node->ino;
    }
    return here == st->st_nlink
               ? 0
               : err_set(err, EMLINK,
                         "'%s' has %lu names (hard links), and only %lu of them are in the plan: "
                         "the others would stay as they are",
                         t->subject->path, (unsigned long)st->st_nlink, (unsigned long)here);
}

/* Read the copy back: its facts, from the disk. */
static int read_back(struct apply *apply, struct target *t, int fd, const struct elf_edited *edited,
                     const struct stat *st, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_source source = {.fd = fd, .size = edited->size, .mode = st->st_mode};
    unsigned char *bytes = NULL;
    int r = read_all(fd, t->temp, &arena, edited->size, &bytes, err);

    if (r == 0 && memcmp(bytes, edited->bytes, edited->size) != 0)
        r = err_set(err, EIO, "'%s': what was read back is not what was written", t->temp);
    if (r == 0)
        r = elf_read(&source, apply->arena, &t->changed, err);
    return r;
}

/* Another name of the same file, whose copy has the same bytes: this becomes a name of that. */
static bool share_copy(struct apply *apply, struct target *t, const struct elf_edited *edited)
{
    const struct node *node = t->subject->node;

    for (struct target *other = apply->target; other < t; other++) {
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(close_fd) int fd = -1;
        struct err ignored;
        unsigned char *bytes = NULL;

        if (!other->changed || other->subject->node->dev != node->dev ||
            other->subject->node->ino != node->ino || other->applied.new_size != edited->size)
            continue;
        fd = open(other->temp, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read_all(fd, other->temp, &arena, edited->size, &bytes, &ignored) < 0 ||
            memcmp(bytes, edited->bytes, edited->size) != 0 || link(other->temp, t->temp) < 0)
            continue;
        note_undo(apply, UNDO_REMOVE, t->temp, NULL);
        t->changed = other->changed;
        return true;
    }
    return false;
}

static int write_copy(struct apply *apply, struct target *t, int old, const struct stat *st,
                      const struct elf_edited *edited, struct err *err)
{
    CLEANUP(close_fd) int fd = -1;
    int r;

    if (unlink(t->temp) < 0 && errno != ENOENT)
        return fail(err, t->temp);
    if (st->st_nlink > 1 && share_copy(apply, t, edited))
        return 0;
    fd = open(t->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(err, t->temp);
    note_undo(apply, UNDO_REMOVE, t->temp, NULL);
    r = write_all(fd, t->temp, edited->bytes, edited->size, err);
    if (r == 0)
        r = copy_attributes(old, fd, st, t->subject->path, err);
    if (r == 0 && fsync(fd) < 0)
        r = fail(err, t->temp);
    return r < 0 ? r : read_back(apply, t, fd, edited, st, err);
}

int files_prepare(struct apply *apply, struct target *t, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_change change = change_of(t);
    const char *source =
        apply->options->copies
            ? arena_printf(apply->arena, "%s%s",
                           strcmp(apply->options->root, "/") ? apply->options->root : "",
                           t->subject->path)
            : disk_path(apply, t, t->subject->path);
    CLEANUP(close_fd) int fd = open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct elf_edited edited = {0};
    unsigned char *bytes = NULL;
    struct stat st;
    int r = 0;

    t->disk = disk_path(apply, t, t->subject->path);
    t->temp = arena_printf(apply->arena, "%s.%s.stormlint", directory_of(apply, t->disk),
                           str_base(t->disk));
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(err, source);
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE)
        return err_set(err, EINVAL, "'%s': not a regular file, or too large", source);
    r = check_links(apply, t, &st, err);
    if (r == 0 && apply->options->copies)
        r = make_directories(apply, directory_of(apply, t->disk), err);
    if (r == 0)
        r = read_all(fd, source, &arena, (uint64_t)st.st_size, &bytes, err);
    if (r == 0 && elf_edit(bytes, (uint64_t)st.st_size, &change, &arena, &edited, err) < 0)
        r = err_set(err, err->code, "'%s' cannot be edited: %s", t->subject->path,
                    arena_strdup(&arena, err->text));
    if (r == 0)
        r = write_copy(apply, t, fd, &st, &edited, err);
    if (r < 0)
        return r;
    t->applied.old_size = (uint64_t)st.st_size;
    t->applied.new_size = edited.size;
    t->applied.how = edited.in_place ? "in place" : edited.segment;
    return 0;
}

/* ---- farms */

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
    const char *directory = directory_of(apply, link);

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
        return fail(err, temp);
    if (symlink(text, temp) < 0)
        return fail(err, temp);
    if (rename(temp, path) < 0) {
        const int r = fail(err, path);

        (void)unlink(temp);
        return r;
    }
    note_undo(apply, UNDO_LINK, path, old);
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
        return fail(err, path);
    if (symlink(text, path) < 0)
        return fail(err, path);
    note_undo(apply, UNDO_REMOVE, path, NULL);
    apply->n_links++;
    return 0;
}

int files_farm(struct apply *apply, const struct target *t, const struct edit *farm,
               struct err *err)
{
    const char *last = NULL;
    int r = 0;

    for (size_t i = 0; i < farm->n_links && r == 0; i++) {
        const char *link = str_join(apply->arena, farm->path, farm->link[i].name);
        const char *path = disk_path(apply, t, link), *directory = directory_of(apply, path);

        directory = arena_strndup(apply->arena, directory, strlen(directory) - 1);
        if (!last || strcmp(last, directory) != 0) {
            if (last && sync_directory(last, err) < 0)
                return -err->code;
            r = make_directories(apply, directory, err);
            last = directory;
        }
        if (r == 0)
            r = make_link(apply, path, link_text(apply, t, link, farm->link[i].target), err);
    }
    return r == 0 && last ? sync_directory(last, err) : r;
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
        return fail(err, old);
    if (link(t->disk, old) < 0)
        return fail(err, t->disk);
    note_undo(apply, UNDO_REMOVE, old, NULL);
    if (rename(t->temp, t->disk) < 0)
        return fail(err, t->disk);
    if (rename(old, t->temp) < 0)
        return fail(err, old);
    note_undo(apply, UNDO_EXCHANGE, t->disk, t->temp);
    return 0;
}

int files_exchange(struct apply *apply, struct target *t, struct err *err)
{
    int r = 0;

    if (exchange(t->temp, t->disk) == 0)
        note_undo(apply, UNDO_EXCHANGE, t->disk, t->temp);
    else if (errno == ENOENT && apply->options->copies)
        r = rename(t->temp, t->disk) < 0 ? fail(err, t->disk)
                                         : (note_undo(apply, UNDO_REMOVE, t->disk, NULL), 0);
    else if (errno == EINVAL || errno == ENOSYS)
        r = rename_over(apply, t, err);
    else
        r = fail(err, t->disk);
    return r < 0 ? r : sync_directory(directory_of(apply, t->disk), err);
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
