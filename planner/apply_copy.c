#include "base/str.h"
#include "planner/apply_internal.h"
#include "planner/elf_edit.h"
#include "scanner/elf_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30, MAX_XATTRS = 64 * 1024 };

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
            return files_fail(err, path);
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
            return files_fail(err, path);
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
        return files_fail(err, path);
    if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(to, old->st_uid, old->st_gid) < 0)
        return err_set(err, errno,
                       "'%s' belongs to user %u and group %u, which the new file could not be "
                       "given: %s",
                       path, old->st_uid, old->st_gid, strerror(errno));
    if (fchmod(to, old->st_mode & 07777) < 0)
        return files_fail(err, path);
    n = flistxattr(from, names, sizeof(names));
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
        const ssize_t size = fgetxattr(from, name, value, sizeof(value));

        if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) < 0)
            return err_set(err, errno, "'%s': its attribute '%s' could not be copied: %s", path,
                           name, strerror(errno));
    }
    if (n < 0 && errno != ENOTSUP)
        return files_fail(err, path);
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
        CLEANUP(files_close) int fd = -1;
        struct err ignored;
        unsigned char *bytes = NULL;

        if (!other->changed || other->subject->node->dev != node->dev ||
            other->subject->node->ino != node->ino || other->applied.new_size != edited->size)
            continue;
        fd = open(other->temp, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read_all(fd, other->temp, &arena, edited->size, &bytes, &ignored) < 0 ||
            memcmp(bytes, edited->bytes, edited->size) != 0 || link(other->temp, t->temp) < 0)
            continue;
        files_note_undo(apply, UNDO_REMOVE, t->temp, NULL);
        t->changed = other->changed;
        return true;
    }
    return false;
}

static int write_copy(struct apply *apply, struct target *t, int old, const struct stat *st,
                      const struct elf_edited *edited, struct err *err)
{
    CLEANUP(files_close) int fd = -1;
    int r;

    if (unlink(t->temp) < 0 && errno != ENOENT)
        return files_fail(err, t->temp);
    if (st->st_nlink > 1 && share_copy(apply, t, edited))
        return 0;
    fd = open(t->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return files_fail(err, t->temp);
    files_note_undo(apply, UNDO_REMOVE, t->temp, NULL);
    r = write_all(fd, t->temp, edited->bytes, edited->size, err);
    if (r == 0)
        r = copy_attributes(old, fd, st, t->subject->path, err);
    if (r == 0 && fsync(fd) < 0)
        r = files_fail(err, t->temp);
    return r < 0 ? r : read_back(apply, t, fd, edited, st, err);
}

int copy_prepare(struct apply *apply, struct target *t, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct elf_change change = change_of(t);
    const char *source =
        apply->options->copies
            ? arena_printf(apply->arena, "%s%s",
                           strcmp(apply->options->root, "/") ? apply->options->root : "",
                           t->subject->path)
            : disk_path(apply, t, t->subject->path);
    CLEANUP(files_close) int fd = open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct elf_edited edited = {0};
    unsigned char *bytes = NULL;
    struct stat st;
    int r = 0;

    t->disk = disk_path(apply, t, t->subject->path);
    t->temp = arena_printf(apply->arena, "%s.%s.stormlint", files_directory(apply, t->disk),
                           str_base(t->disk));
    if (fd < 0 || fstat(fd, &st) < 0)
        return files_fail(err, source);
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE)
        return err_set(err, EINVAL, "'%s': not a regular file, or too large", source);
    r = check_links(apply, t, &st, err);
    if (r == 0 && apply->options->copies)
        r = files_make_directories(apply, files_directory(apply, t->disk), err);
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
