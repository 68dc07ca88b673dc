#include "cli/scanning.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int take_jobs(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    enum { READERS_MAX = 64 };
    uint64_t n;

    if (!flag_number(text, READERS_MAX, &n))
        return err_set(err, EINVAL, "'%s' is no number of threads (0 to %d)", text, READERS_MAX);
    *(unsigned *)into = (unsigned)n;
    return 0;
}

const struct flag scanning_rows[] = {
    {"root", "DIR", "The tree under DIR plays /", INTO(struct scan_options, root)},
    {"store", "DIR", "The directory of packages (default: /nix/store)",
     INTO(struct scan_options, store)},
    {"jobs", "N", "Threads that read; default: as many as processors",
     CALL_ON(struct scan_options, readers, take_jobs), .letter = 'j'},
    {0},
};

static int make_parents(struct arena *arena, const char *path, struct err *err)
{
    char *copy = arena_strdup(arena, path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            return err_set(err, errno, "cannot make directory '%s': %s", copy, strerror(errno));
        *slash = '/';
    }
    return 0;
}

/* The root as an absolute path; so the store, when it is given from where we are. */
static int make_absolute(struct arena *arena, struct scan_options *scan, struct err *err)
{
    char real[PATH_MAX], *store;
    size_t len;

    if (!realpath(scan->root, real))
        return err_set(err, errno, "root '%s': %s", scan->root, strerror(errno));
    scan->root = arena_strdup(arena, real);
    if (scan->store[0] != '/') {
        if (strcmp(scan->root, "/") != 0)
            return err_set(err, EINVAL, "store '%s': in another root it has to be absolute",
                           scan->store);
        if (!realpath(scan->store, real))
            return err_set(err, errno, "store '%s': %s", scan->store, strerror(errno));
        scan->store = real;
    }
    store = arena_strdup(arena, scan->store);
    for (len = strlen(store); len > 1 && store[len - 1] == '/';)
        store[--len] = '\0';
    scan->store = store;
    return 0;
}

int scanning_open(const struct options *options, struct scan_options *scan, struct arena *arena,
                  struct db **ret_db, struct err *err)
{
    const char *path = options_db(options, arena);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int r;

    if (!scan->root)
        scan->root = "/";
    if (!scan->store)
        scan->store = "/nix/store";
    if (scan->readers == (unsigned)READERS_UNSAID)
        scan->readers = cpus > 1 ? (unsigned)cpus : 1;
    r = make_absolute(arena, scan, err);
    if (r == 0)
        r = make_parents(arena, path, err);
    return r < 0 ? r : db_open(path, DB_WRITE, ret_db, err);
}
