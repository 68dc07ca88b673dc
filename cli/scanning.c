#include "cli/scanning.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int scanning_open(struct options *options, struct scan_options *scan, struct db **ret_db,
                  struct err *err)
{
    const char *path = options_db(options);
    int r = make_absolute(&options->arena, scan, err);

    if (r == 0)
        r = make_parents(&options->arena, path, err);
    return r < 0 ? r : db_open(path, DB_WRITE, ret_db, err);
}

unsigned scanning_readers(const char *arg, const struct argp_state *state)
{
    enum { READERS_MAX = 64 };
    char *end;
    const long n = strtol(arg, &end, 10);

    if (*end || end == arg || n < 0 || n > READERS_MAX)
        argp_error(state, "'%s' is no number of threads (0 to %d)", arg, READERS_MAX);
    return (unsigned)n;
}
