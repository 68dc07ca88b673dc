#include "base/str.h"
#include "loader/world.h"
#include "scanner/elf_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct live {
    char *root; /* without a final slash: "" for "/" */
};

/*
 * The host's path of a node. World paths hold no links, so apart from `root` none is followed;
 * the final component is protected by O_NOFOLLOW or lstat.
 */
static char *host_path(struct arena *arena, const struct world *world, const struct node *node)
{
    const struct live *live = world->data;

    return arena_printf(arena, "%s%s", live->root, world_path(arena, node));
}

static void closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static int read_link(struct world *world, const char *path, const char **ret_target)
{
    char target[PATH_MAX];
    const ssize_t len = readlink(path, target, sizeof(target) - 1);

    if (len < 0)
        return -errno;
    *ret_target = arena_strndup(world->arena, target, (size_t)len);
    return 0;
}

static int live_child(struct world *world, const struct node *dir, const struct name *name,
                      struct node *ret_node)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *path = str_join(&arena, host_path(&arena, world, dir), name->text);
    struct stat st;

    if (lstat(path, &st) < 0)
        return -errno;
    ret_node->kind = S_ISDIR(st.st_mode)   ? NODE_DIR
                     : S_ISREG(st.st_mode) ? NODE_FILE
                     : S_ISLNK(st.st_mode) ? NODE_LINK
                                           : NODE_OTHER;
    ret_node->dev = st.st_dev;
    ret_node->ino = st.st_ino;
    ret_node->mode = st.st_mode;
    ret_node->uid = st.st_uid;
    ret_node->gid = st.st_gid;
    ret_node->size = (uint64_t)st.st_size;
    return ret_node->kind == NODE_LINK ? read_link(world, path, &ret_node->target) : 0;
}

/* Open a regular file, and nothing else, without ever waiting for it. */
static int open_file(struct world *world, const struct node *file, struct stat *ret_st)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(closep)
    int fd = open(host_path(&arena, world, file),
                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const int opened = fd;

    if (fd < 0 || fstat(fd, ret_st) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode))
        return -EINVAL;
    fd = -1;
    return opened;
}

static int live_object(struct world *world, const struct node *file,
                       const struct object **ret_object)
{
    struct err err = {0};
    struct stat st;
    CLEANUP(closep) int fd = open_file(world, file, &st);
    int r;

    if (fd < 0)
        return fd;
    r = elf_read(&(struct elf_source){.fd = fd, .size = (uint64_t)st.st_size, .mode = st.st_mode},
                 world->arena, ret_object, &err);
    if (r != -ENOEXEC)
        return r;
    *ret_object = NULL;
    return 0;
}

static int live_bytes(struct world *world, const struct node *file, size_t max, struct arena *arena,
                      char **ret_bytes, size_t *ret_len)
{
    struct stat st;
    CLEANUP(closep) int fd = open_file(world, file, &st);
    size_t len, have = 0;
    char *bytes;

    if (fd < 0)
        return fd;
    len = (uint64_t)st.st_size < max ? (size_t)st.st_size : max;
    bytes = arena_alloc(arena, len + 1);
    while (have < len) {
        const ssize_t n = read(fd, bytes + have, len - have);

        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    *ret_bytes = bytes;
    *ret_len = have;
    return 0;
}

static void dir_closep(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static int live_list(struct world *world, struct node *dir,
                     void (*each)(void *data, const char *name), void *data)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(dir_closep) DIR *stream = opendir(host_path(&arena, world, dir));
    const struct dirent *entry;

    if (!stream)
        return -errno;
    while ((errno = 0, entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(data, entry->d_name);
    return -errno;
}

static void live_close(struct world *world)
{
    struct live *live = world->data;

    free(live->root);
    free(live);
}

/* "6.1.0-18-amd64" as the loader takes it apart: up to three numbers, the last at most 255. */
static uint32_t kernel_release(void)
{
    struct utsname name;
    unsigned part[3] = {0};

    if (uname(&name) < 0 || sscanf(name.release, "%5u.%5u.%5u", &part[0], &part[1], &part[2]) < 1)
        return UINT32_MAX;
    return part[0] << 16 | (part[1] & 0xff) << 8 | (part[2] > 255 ? 255 : part[2]);
}

static const struct world_ops live_ops = {
    .child = live_child,
    .object = live_object,
    .bytes = live_bytes,
    .list = live_list,
    .close = live_close,
};

int world_live(const char *root, uint32_t uid, uint32_t gid, struct world **ret_world,
               struct err *err)
{
    struct live *live;
    struct stat st;
    char *real = realpath(root, NULL);

    if (!real)
        return err_set(err, errno, "root directory '%s': %s", root, strerror(errno));
    if (stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
        free(real);
        return err_set(err, ENOTDIR, "root directory '%s': not a directory", root);
    }
    live = calloc(1, sizeof(*live));
    if (!live)
        abort();
    if (strcmp(real, "/") == 0)
        *real = '\0';
    live->root = real;
    *ret_world = world_new(&live_ops, live, uid, gid);
    (*ret_world)->kernel = kernel_release();
    (*ret_world)->root->mode = st.st_mode;
    (*ret_world)->root->uid = st.st_uid;
    (*ret_world)->root->gid = st.st_gid;
    if (*real == '\0')
        (*ret_world)->has_proc = access("/proc/self/exe", F_OK) == 0;
    return 0;
}
