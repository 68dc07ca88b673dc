/*
 * Any text as an audit file: an audit or an error that says where. What was read is written, read
 * and written again: the same bytes; it does not differ from itself.
 */
#include "audit/diff.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The bytes as a file; what is returned lasts as long as *ret_fd. */
static const char *file_of(const void *bytes, size_t size, char path[64], int *ret_fd)
{
    *ret_fd = memfd_create("audit", MFD_CLOEXEC);
    if (*ret_fd < 0 || write(*ret_fd, bytes, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, 64, "/proc/self/fd/%d", *ret_fd);
    return path;
}

static char *written(const struct audit *audit, size_t *ret_size)
{
    char *bytes = NULL;
    FILE *to = open_memstream(&bytes, ret_size);
    struct err err = {0};

    if (!to || audit_write(audit, to, &err) < 0)
        abort();
    (void)fclose(to);
    return bytes;
}

static int each_plan(void *data, json_t *plan, struct err *err)
{
    (void)data;
    (void)plan;
    (void)err;
    return 0;
}

static void same_again(const struct audit *audit, struct arena *arena)
{
    size_t size, size_again;
    char *bytes = written(audit, &size), *again, path[64];
    struct audit read;
    struct err err = {0};
    int fd;

    if (audit_read(file_of(bytes, size, path, &fd), arena, &read, &err) < 0)
        abort();
    again = written(&read, &size_again);
    if (size != size_again || memcmp(bytes, again, size) != 0)
        abort();
    close(fd);
    free(bytes);
    free(again);
}

static void same_as_itself(const struct audit *audit, struct arena *arena)
{
    const struct diff_limits limits = DIFF_LIMITS;
    struct diff diff;

    diff_make(audit, audit, &limits, arena, &diff);
    if (diff.n_programs || diff.n_new || diff.n_fixed || diff.n_over)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit audit = {0};
    struct err err = {0};
    char path[64];
    int fd;

    (void)file_of(data, size, path, &fd);
    (void)audit_is_one(path);
    if (audit_read(path, &arena, &audit, &err) < 0) {
        if (!err.text[0])
            abort();
    } else {
        audit.n_plans = 0; /* counted, but not kept: those are read one by one */
        same_again(&audit, &arena);
        same_as_itself(&audit, &arena);
        if (audit_read_plans(path, each_plan, NULL, &err) < 0 && !err.text[0])
            abort();
    }
    close(fd);
    return 0;
}
