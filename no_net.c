/*
 * What reaches other machines, elsewhere: stormlint links this in place of the commands that do, and
 * of what undoes their packing. libcurl, the HTTP server and what these bring along are some thirty libraries; loading them took
 * longer than most commands take altogether. stormlint-net is the same program with them: it lies
 * beside this one and is started in its place, with the same arguments.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "scanner/cache_scan.h"
#include "scanner/crypto.h"
#include "scanner/unpack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char net[] = "stormlint-net";

/* The path of stormlint-net, in `path`. 0 or -errno. */
static int find_net(char path[static PATH_MAX], struct err *err)
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash;

    if (n < 0 || n >= PATH_MAX)
        return err_set(err, n < 0 ? errno : ENAMETOOLONG,
                       "'%s' lies beside this program, which cannot be told: /proc/self/exe: %s",
                       net, strerror(n < 0 ? errno : ENAMETOOLONG));
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof(net) > PATH_MAX)
        return err_set(err, ENAMETOOLONG, "'%s': no place for '%s' beside it", path, net);
    memcpy(slash + 1, net, sizeof(net));
    return 0;
}

/* The arguments that this process was started with, whoever has parsed them meanwhile. */
static int own_arguments(struct arena *arena, char ***ret_argv, struct err *err)
{
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    struct str text = {.arena = arena};
    char **argv = NULL, part[4096];
    size_t count = 0;
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0)
        str_add_n(&text, part, (size_t)n);
    if (fd >= 0)
        close(fd);
    if (n < 0 || !text.len)
        return err_set(err, EIO, "/proc/self/cmdline cannot be read: no '%s' is started", net);
    for (size_t at = 0; at < text.len; at += strlen(text.text + at) + 1) {
        argv = arena_grow(arena, argv, count, sizeof(*argv));
        argv[count++] = text.text + at;
    }
    argv = arena_grow(arena, argv, count, sizeof(*argv));
    argv[count] = NULL;
    *ret_argv = argv;
    return 0;
}

/* Returns only when that fails. */
static int become_net(struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char path[PATH_MAX];
    char **argv = NULL;
    int r = find_net(path, err);

    if (r == 0)
        r = own_arguments(&arena, &argv, err);
    if (r < 0)
        return r;
    (void)execv(path, argv);
    return err_set(
        err, errno,
        "'%s', which reaches other machines and unpacks: %s; it belongs beside stormlint", path,
        strerror(errno));
}

static int start_elsewhere(void *name, struct arena *arena, struct err *err)
{
    (void)arena;
    (void)become_net(err);
    log_error("'%s': %s", (const char *)name, err->text);
    return EXIT_FAILED;
}

#define ELSEWHERE(name, summary)                                                                   \
    {                                                                                              \
        name, summary, .work = start_elsewhere, .size = sizeof(name), .start = (name)              \
    }
const struct command cmd_hydra = ELSEWHERE("hydra", SUMMARY_HYDRA);
const struct command cmd_pull = ELSEWHERE("pull", SUMMARY_PULL);
const struct command cmd_serve = ELSEWHERE("serve", SUMMARY_SERVE);

/* Who names a key wants a binary cache. */
int public_key_read(const char *text, struct arena *arena, struct public_key *ret_key,
                    struct err *err)
{
    (void)text;
    (void)arena;
    (void)ret_key;
    return become_net(err);
}

int cache_scan(struct db *db, const struct scan_options *scan, const struct cache_options *cache,
               struct cache_scan_result *ret_result, struct err *err)
{
    (void)db;
    (void)scan;
    (void)cache;
    (void)ret_result;
    return become_net(err);
}

int unpack_file(FILE *from, enum packing packing, uint64_t limit, FILE **ret_file, struct err *err)
{
    const bool again =
        lseek(fileno(from), 0, SEEK_CUR) >= 0; /* can it be read from its beginning? */

    (void)packing;
    (void)limit;
    (void)ret_file;
    (void)fclose(from);
    return again ? become_net(err)
                 : err_set(err, ESPIPE, "packed, and no file: unpack it, or give the file's name");
}
