/*
 * Marks of packages that nobody registers: has anything in them changed?
 */
#include "scanner/store_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 200 };

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return mix(h, 0);
}

/* Sums do not depend on the order in which a directory is read. */
static uint64_t mark_of(int dir_fd, const char *name, uint64_t path, int depth)
{
    struct stat st;
    uint64_t sum;
    struct dirent *e;
    DIR *dir;
    int fd;

    path = mix_text(path, name);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return mix(path, (uint64_t)errno);
    sum = mix(path, st.st_mode);
    sum = mix(sum, st.st_ino);
    sum = mix(sum, (uint64_t)st.st_size);
    sum = mix(sum, (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
    if (!S_ISDIR(st.st_mode) || depth > DEPTH_MAX)
        return sum;
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return mix(sum, (uint64_t)errno);
    }
    while ((e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            sum += mark_of(fd, e->d_name, path, depth + 1);
    (void)closedir(dir);
    return sum;
}

uint64_t package_mark(int store_fd, const char *base)
{
    const uint64_t mark = mark_of(store_fd, base, 0, 0) & INT64_MAX;

    return mark ? mark : 1;
}
