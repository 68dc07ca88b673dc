#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spill {
    int fd;
    const char *dir;
    uint64_t size;
};

static int open_in(const char *dir)
{
    char path[4096];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || snprintf(path, sizeof(path), "%s/stormlint-XXXXXX", dir) >= (int)sizeof(path))
        return fd;
    fd = mkostemp(path, O_CLOEXEC); /* a file system that has no files without names */
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int spill_file(const char **ret_dir)
{
    const char *asked = getenv("TMPDIR");
    const char *const dirs[] = {asked && *asked ? asked : _PATH_VARTMP, _PATH_TMP};
    int fd = open_in(*ret_dir = dirs[0]);

    if (fd < 0 && dirs[0] != asked)
        fd = open_in(*ret_dir = dirs[1]);
    return fd < 0 ? -errno : fd;
}

int spill_open(struct spill **ret_spill, struct err *err)
{
    struct spill *spill = calloc(1, sizeof(*spill));

    if (!spill)
        abort();
    spill->fd = spill_file(&spill->dir);
    if (spill->fd < 0) {
        const int code = -spill->fd;

        (void)err_set(err, code, "no temporary file in '%s' (TMPDIR names another directory): %s",
                      spill->dir, strerror(code));
        free(spill);
        return -code;
    }
    *ret_spill = spill;
    return 0;
}

void spill_close(struct spill *spill)
{
    if (!spill)
        return;
    (void)close(spill->fd);
    free(spill);
}

void spill_closep(struct spill **spill)
{
    spill_close(*spill);
}

int spill_add(struct spill *spill, const void *bytes, size_t size, uint64_t *ret_at,
              struct err *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(spill->fd, (const char *)bytes + done, size - done, (off_t)(spill->size + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, n < 0 ? errno : EIO,
                           "the temporary file in '%s' (TMPDIR names another directory) cannot "
                           "grow beyond %llu MiB: %s",
                           spill->dir, (unsigned long long)((spill->size + done) >> 20),
                           strerror(n < 0 ? errno : EIO));
        done += (size_t)n;
    }
    *ret_at = spill->size;
    spill->size += size;
    return 0;
}

int spill_read(struct spill *spill, uint64_t at, void *ret_bytes, size_t size, struct err *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pread(spill->fd, (char *)ret_bytes + done, size - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, n < 0 ? errno : EIO,
                           "the temporary file in '%s' cannot be read: %s", spill->dir,
                           n < 0 ? strerror(errno) : "it is shorter than what was written");
        done += (size_t)n;
    }
    return 0;
}
