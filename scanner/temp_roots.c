#include "scanner/temp_roots.h"

#include "base/arena.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp_roots {
    struct arena arena;
    const char *path;
    int fd;
};

/* The state directory of the store that programs call `store`; as scanner/nix_db.c finds it. */
static const char *state_of(struct arena *arena, const char *root, const char *store)
{
    const char *slash = strrchr(store, '/');

    return arena_printf(arena, "%s%.*s/var/nix", strcmp(root, "/") ? root : "",
                        slash ? (int)(slash - store) : 0, store);
}

/*
 * A collector holds gc.lock exclusively while it works, and has read the roots by then. Shared, it
 * keeps one from beginning until ours are written. Returns a descriptor, or -1.
 */
static int keep_collectors_out(struct arena *arena, const char *state)
{
    const int fd = open(arena_printf(arena, "%s/gc.lock", state), O_RDWR | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        const ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Each path ended by a zero; readers wait for the exclusive lock to become a shared one. */
static bool write_roots(int fd, struct arena *arena, const char *store, const char *const *base,
                        size_t n)
{
    struct str text = {.arena = arena};
    struct stat st;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        str_printf(&text, "%s/%s", store, base[i]);
        str_add_n(&text, "\0", 1);
    }
    return ftruncate(fd, 0) == 0 && write_all(fd, text.text ? text.text : "", text.len) &&
           flock(fd, LOCK_SH) == 0;
}

struct temp_roots *temp_roots_hold(const char *root, const char *store, const char *const *base,
                                   size_t n)
{
    struct temp_roots *roots = calloc(1, sizeof(*roots));
    const char *state;
    int lock;
    bool held;

    if (!roots)
        abort();
    state = state_of(&roots->arena, root, store);
    roots->path = arena_printf(&roots->arena, "%s/temproots/%d", state, (int)getpid());
    lock = keep_collectors_out(&roots->arena, state);
    roots->fd = lock < 0 ? -1 : open(roots->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    held = roots->fd >= 0 && write_roots(roots->fd, &roots->arena, store, base, n);
    if (lock >= 0)
        (void)close(lock);
    if (held)
        return roots;
    temp_roots_drop(roots);
    return NULL;
}

void temp_roots_drop(struct temp_roots *roots)
{
    if (!roots)
        return;
    if (roots->fd >= 0) {
        (void)unlink(roots->path);
        (void)close(roots->fd);
    }
    arena_release(&roots->arena);
    free(roots);
}
