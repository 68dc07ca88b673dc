#include "tests/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(struct err *err, const char *path)
{
    return err_set(err, errno, "'%s': %s", path, strerror(errno));
}

static int write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size) {
        const ssize_t n = write(fd, at, size);

        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int copy_all(int fd, const char *from)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (in < 0)
        return -1;
    while ((n = sendfile(fd, in, NULL, 1 << 30)) > 0)
        ;
    close(in);
    return n < 0 ? -1 : 0;
}

static int write_file(const struct tree *tree, const struct entry *entry, const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    int r;

    if (fd < 0)
        return -1;
    if (entry->copy_of) {
        r = copy_all(fd, entry->copy_of);
    } else if (entry->elf) {
        const struct elf_image image = elf_write(tree->arena, entry->elf);

        r = write_all(fd, image.bytes, image.size);
    } else {
        r = write_all(fd, entry->bytes, entry->size);
    }
    return close(fd) < 0 ? -1 : r;
}

static int write_entry(const struct tree *tree, const struct entry *entry, const char *root,
                       const char *path)
{
    switch (entry->kind) {
    case ENTRY_DIR:
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
    case ENTRY_FILE:
        return write_file(tree, entry, path);
    case ENTRY_LINK:
        return symlink(entry->target, path);
    case ENTRY_HARD_LINK:
        return link(arena_printf(tree->arena, "%s%s", root, entry->target), path);
    default:
        errno = EINVAL;
        return -1;
    }
}

int tree_write(const struct tree *tree, const char *root, struct err *err)
{
    for (size_t i = 0; i < tree->n_entries; i++) {
        const struct entry *entry = &tree->entry[i];
        const char *path = arena_printf(tree->arena, "%s%s", root, entry->path);

        if (write_entry(tree, entry, root, path) < 0)
            return failed(err, path);
    }
    /* owners and modes last, and from the leaves up: a directory may forbid what is in it */
    for (size_t i = tree->n_entries; i-- > 0;) {
        const struct entry *entry = &tree->entry[i];
        const char *path = arena_printf(tree->arena, "%s%s", root, entry->path);

        if (entry->kind != ENTRY_DIR && entry->kind != ENTRY_FILE)
            continue;
        if (entry->uid && chown(path, entry->uid, entry->uid) < 0)
            return failed(err, path);
        if (chmod(path, entry->mode) < 0)
            return failed(err, path);
    }
    return 0;
}
