#include "server/asset.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASSET_MAX = 4 * 1024 * 1024, ASSET_PATH_MAX = 200 };

const char *asset_type(const char *path)
{
    static const struct type {
        const char *suffix, *type;
    } types[] =
        {
            {".html", "text/html; charset=utf-8"},
            {".css", "text/css; charset=utf-8"},
            {".js", "text/javascript; charset=utf-8"},
            {".mjs", "text/javascript; charset=utf-8"},
            {".json", "application/json"},
            {".svg", "image/svg+xml"},
            {".png", "image/png"},
            {".ico", "image/x-icon"},
            {".txt", "text/plain; charset=utf-8"},
            {".map", "application/json"},
        },
      *type;

    for_each (type, types)
        if (str_ends(path, type->suffix))
            return type->type;
    return "application/octet-stream";
}

/* Names of our own files: no way out of the folder, no hidden ones. */
static bool is_harmless(const char *path)
{
    for (const char *c = path; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              strchr("._-/@", *c)))
            return false;
    return *path && *path != '/' && *path != '.' && !strstr(path, "/.") && !strstr(path, "//") &&
           strlen(path) <= ASSET_PATH_MAX;
}

static int read_asset(const char *dir, const char *path, struct arena *arena,
                      struct asset *ret_asset, struct err *err)
{
    const int fd = open(str_join(arena, dir, path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char *bytes;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > ASSET_MAX) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ENOENT, "there is no such file");
    }
    bytes = arena_alloc(arena, (size_t)st.st_size + 1);
    n = read(fd, bytes, (size_t)st.st_size);
    (void)close(fd);
    if (n < 0)
        return err_set(err, EIO, "the file cannot be read");
    *ret_asset = (struct asset){.path = path, .bytes = bytes, .len = (size_t)n};
    return 0;
}

int asset_find(const char *dir, const char *path, struct arena *arena, struct asset *ret_asset,
               struct err *err)
{
    if (!is_harmless(path))
        return err_set(err, ENOENT, "there is no such file");
    if (dir)
        return read_asset(dir, path, arena, ret_asset, err);
    for (const struct asset *asset = assets; asset->path; asset++)
        if (!strcmp(asset->path, path)) {
            *ret_asset = *asset;
            return 0;
        }
    return err_set(err, ENOENT, "there is no such file");
}
