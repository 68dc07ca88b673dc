#include "scanner/unpack_file.h"

#include "scanner/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unpacking {
    FILE *from;
    struct unpack *unpack;
    const void *in; /* of `block`: what was read and not used yet */
    size_t n_in;
    struct err *err;
    unsigned char block[64 * 1024];
};

static ssize_t failed(int code)
{
    errno = code < 0 ? -code : code;
    return -1;
}

/* Whether there is more to unpack; -1: reading failed. */
static int fill(struct unpacking *u)
{
    u->in = u->block;
    u->n_in = fread(u->block, 1, sizeof(u->block), u->from);
    if (u->n_in == 0 && ferror(u->from))
        return (int)failed(err_set(u->err, errno, "%s", strerror(errno)));
    return u->n_in > 0;
}

static ssize_t read_some(void *cookie, char *out, size_t size)
{
    struct unpacking *u = cookie;
    int64_t n = 0;
    int more = 1;

    while (more > 0) {
        n = unpack_some(u->unpack, &u->in, &u->n_in, out, size, u->err);
        if (n)
            return n > 0 ? (ssize_t)n : failed((int)n);
        more = fill(u);
    }
    if (more < 0)
        return -1;
    more = unpack_end(u->unpack, u->err);
    return more < 0 ? failed(more) : 0;
}

static int release(void *cookie)
{
    struct unpacking *u = cookie;

    (void)fclose(u->from);
    unpack_free(u->unpack);
    free(u);
    return 0;
}

int unpack_file(FILE *from, enum packing packing, uint64_t limit, FILE **ret_file, struct err *err)
{
    static const cookie_io_functions_t functions = {.read = read_some, .close = release};
    struct unpacking *u = calloc(1, sizeof(*u));
    FILE *file;
    int r;

    if (!u)
        abort();
    *u = (struct unpacking){.from = from, .unpack = unpack_new(), .err = err};
    u->in = u->block;
    r = unpack_start(u->unpack, packing, limit, err);
    file = r == 0 ? fopencookie(u, "r", functions) : NULL;
    if (!file) {
        (void)release(u);
        return r < 0 ? r : err_set(err, errno, "%s", strerror(errno));
    }
    *ret_file = file;
    return 0;
}
