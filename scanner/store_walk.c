#include "scanner/store_walk.h"

#include "base/str.h"
#include "scanner/elf_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEAD_ELF = 4096,   /* of an ELF file: most program headers and strings are there */
    DEPTH_MAX = 200,   /* directories below each other, each with an open descriptor */
    PATH_SIZE = 16384, /* longest path below a package */
    DENTS_SIZE = 64 * 1024,
};

/* Never block on what a path has become, never follow a link, never become a terminal's owner. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

struct walker {
    const char *store;
    struct elf_scratch *scratch;
    struct entries entries;
    struct package_facts *facts; /* of the walk going on */
    char path[PATH_SIZE];        /* below the package, of the directory at hand */
    size_t path_len;
    unsigned char head[HEAD_ELF];
    char dents[DENTS_SIZE] __attribute__((aligned(8)));
};

struct walker *walker_new(const char *store)
{
    struct walker *w = calloc(1, sizeof(*w));

    if (!w)
        abort();
    w->store = store;
    w->scratch = elf_scratch_new();
    return w;
}

void walker_free(struct walker *w)
{
    if (!w)
        return;
    elf_scratch_free(w->scratch);
    free(w->entries.bytes);
    free(w);
}

static void add_problem(struct walker *w, const char *name, bool unread, const char *text)
{
    facts_add_problem(w->facts, w->path, name, unread, text);
}

static void add_unread(struct walker *w, const char *name, int error)
{
    add_problem(w, name, true, strerror(error));
}

/* ---- one regular file */

static enum entry_kind read_elf(struct walker *w, int fd, const char *name, size_t head_len,
                                struct gathered *g)
{
    struct package_facts *f = w->facts;
    struct elf_source source = {.fd = fd, .head = w->head, .scratch = w->scratch};
    struct walked_object found = {.name = arena_strdup(&f->arena, name)};
    struct stat st;
    struct err err;
    ssize_t n;
    int r;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return ENTRY_OTHER;
    n = pread(fd, w->head, HEAD_ELF, 0);
    source.head_len = n > 0 ? (size_t)n : head_len;
    source.size = (uint64_t)st.st_size;
    source.mode = st.st_mode;
    if (source.head_len > source.size)
        source.head_len = (size_t)source.size;
    r = elf_read(&source, &f->arena, &found.object, &err);
    if (r < 0) {
        add_problem(w, name, true, r == -ENOEXEC ? "changed while it was read" : err.text);
        return ENTRY_UNREAD;
    }
    if (found.object->problem)
        add_problem(w, name, false, found.object->problem);
    found.dev = st.st_dev;
    found.ino = st.st_ino;
    found.nlink = st.st_nlink;
    facts_add_object(f, g, &found);
    return ENTRY_ELF;
}

static void walk_file(struct walker *w, int dir_fd, const char *name, struct gathered *g)
{
    const int fd = openat(dir_fd, name, OPEN_FLAGS);
    enum entry_kind kind = ENTRY_FILE;
    const char *entry_name = w->facts->kind[0] == 'f' ? "" : name;
    char size[24], *text = NULL;
    ssize_t n;

    w->facts->files++;
    if (fd < 0) {
        add_unread(w, entry_name, errno);
        entries_add(&w->entries, ENTRY_UNREAD, entry_name, NULL);
        return;
    }
    n = pread(fd, w->head, FACTS_HEAD, 0);
    if (n < 0) {
        add_unread(w, entry_name, errno);
        kind = ENTRY_UNREAD;
    } else {
        kind = facts_judge_head(w->facts, w->head, (size_t)n);
    }
    if (kind == ENTRY_ELF)
        kind = read_elf(w, fd, entry_name, (size_t)n, g);
    if (kind == ENTRY_SHORT) {
        (void)snprintf(size, sizeof(size), "%zd", n);
        text = size;
    }
    entries_add(&w->entries, kind, entry_name, text);
    (void)close(fd);
}

/* ---- links */

static void walk_link(struct walker *w, int dir_fd, const char *name, struct gathered *g)
{
    char target[PATH_MAX];
    const ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

    if (n < 0) {
        add_unread(w, name, errno);
        entries_add(&w->entries, ENTRY_OTHER, name, NULL);
        return;
    }
    target[n] = '\0';
    facts_add_link(w->facts, g, w->store, name, target);
    entries_add(&w->entries, ENTRY_LINK, name, target);
}

/* ---- directories */

/* Names of sub-directories, to be walked when the directory itself is done. */
struct names {
    const char **name;
    size_t n;
};

static unsigned char entry_type(int dir_fd, const struct dirent64 *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type;
    if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

static void walk_entry(struct walker *w, int dir_fd, const struct dirent64 *e, struct gathered *g,
                       struct names *subdirs)
{
    struct arena *a = &w->facts->arena;

    switch (entry_type(dir_fd, e)) {
    case DT_DIR:
        subdirs->name = arena_grow(a, subdirs->name, subdirs->n, sizeof(*subdirs->name));
        subdirs->name[subdirs->n++] = arena_strdup(a, e->d_name);
        entries_add(&w->entries, ENTRY_DIR, e->d_name, NULL);
        break;
    case DT_REG:
        walk_file(w, dir_fd, e->d_name, g);
        break;
    case DT_LNK:
        walk_link(w, dir_fd, e->d_name, g);
        break;
    default:
        entries_add(&w->entries, ENTRY_OTHER, e->d_name, NULL);
    }
}

static bool is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* All entries but the sub-directories' content. 0 or -errno. */
static int walk_entries(struct walker *w, int dir_fd, struct gathered *g, struct names *subdirs)
{
    ssize_t n;

    w->entries.len = 0;
    while ((n = getdents64(dir_fd, w->dents, sizeof(w->dents))) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(w->dents + at);

            if (!is_dot(e->d_name))
                walk_entry(w, dir_fd, e, g, subdirs);
            at += e->d_reclen;
        }
    return n < 0 ? -errno : 0;
}

static void keep_dir(struct walker *w, int dir_fd, const char *entries, size_t size,
                     const struct gathered *g)
{
    struct stat st;
    uint64_t changed = 0;

    if (fstat(dir_fd, &st) == 0)
        changed = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    facts_keep(w->facts, w->path, entries, size, g, changed);
}

static bool walk_subdir(struct walker *w, int dir_fd, const char *name, int depth);

/* The directory open at `dir_fd`, whose path is w->path. Is it, or one below it, worth keeping? */
static bool walk_dir(struct walker *w, int dir_fd, int depth)
{
    struct package_facts *f = w->facts;
    struct gathered g = {0};
    struct names subdirs = {0};
    const int r = walk_entries(w, dir_fd, &g, &subdirs);
    const size_t size = w->entries.len;
    const char *entries;
    bool keep;

    if (r < 0)
        add_unread(w, "", -r);
    entries = arena_memdup(&f->arena, w->entries.bytes, size);
    keep = facts_is_worth(w->path, &g);
    for (size_t i = 0; i < subdirs.n; i++)
        keep |= walk_subdir(w, dir_fd, subdirs.name[i], depth + 1);
    if (keep)
        keep_dir(w, dir_fd, entries, size, &g);
    return keep;
}

static bool walk_subdir(struct walker *w, int dir_fd, const char *name, int depth)
{
    const size_t old = w->path_len, len = strlen(name);
    bool keep = false;
    int fd;

    if (depth > DEPTH_MAX || old + len + 2 > sizeof(w->path)) {
        add_problem(w, name, true, "nested too deeply");
        return false;
    }
    fd = openat(dir_fd, name, OPEN_FLAGS | O_DIRECTORY);
    if (fd < 0) {
        add_unread(w, name, errno);
        return false;
    }
    if (old)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, len + 1);
    w->path_len += len;
    keep = walk_dir(w, fd, depth);
    w->path_len = old;
    w->path[old] = '\0';
    (void)close(fd);
    return keep;
}

/* ---- packages */

static struct package_facts *begin(struct walker *w, const char *base)
{
    w->facts = facts_new(base);
    w->path_len = 0;
    w->path[0] = '\0';
    return w->facts;
}

/* A package that is one regular file: a directory with one entry that has no name. */
static void walk_single(struct walker *w, int store_fd, const char *base)
{
    struct gathered g = {0};

    w->entries.len = 0;
    walk_file(w, store_fd, base, &g);
    if (g.n_objects)
        keep_dir(w, store_fd, arena_memdup(&w->facts->arena, w->entries.bytes, w->entries.len),
                 w->entries.len, &g);
}

static void walk_top(struct walker *w, int store_fd, const char *base, const struct stat *st)
{
    struct package_facts *f = w->facts;
    char target[PATH_MAX];
    ssize_t n;
    int fd;

    switch (st->st_mode & S_IFMT) {
    case S_IFDIR:
        f->kind = "dir";
        fd = openat(store_fd, base, OPEN_FLAGS | O_DIRECTORY);
        if (fd < 0) {
            add_unread(w, "", errno);
            break;
        }
        (void)walk_dir(w, fd, 0);
        (void)close(fd);
        break;
    case S_IFREG:
        f->kind = "file";
        walk_single(w, store_fd, base);
        break;
    case S_IFLNK:
        f->kind = "link";
        n = readlinkat(store_fd, base, target, sizeof(target) - 1);
        f->target = arena_strndup(&f->arena, target, n > 0 ? (size_t)n : 0);
        facts_add_link(f, &(struct gathered){0}, w->store, "", f->target);
        break;
    default:
        f->kind = "other";
    }
}

/* Did something vanish because the whole package did? Then that is what happened. */
static void check_gone(struct package_facts *f, int store_fd)
{
    struct stat st;

    if (f->state == PACKAGE_INCOMPLETE &&
        fstatat(store_fd, f->base, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        f->state = PACKAGE_GONE;
}

struct package_facts *walk_package(struct walker *w, int store_fd, const char *base, bool with_mark,
                                   uint64_t known_mark)
{
    const uint64_t mark = with_mark ? package_mark(store_fd, base) : 0;
    struct package_facts *f = begin(w, base);
    struct stat st;

    f->mark = mark;
    f->kind = "other";
    if (mark && mark == known_mark)
        f->state = PACKAGE_UNCHANGED;
    else if (fstatat(store_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0)
        walk_top(w, store_fd, base, &st);
    else if (errno == ENOENT)
        f->state = PACKAGE_GONE;
    else
        add_unread(w, "", errno);
    check_gone(f, store_fd);
    return f;
}

struct package_facts *walk_directory(struct walker *w, int store_fd, const char *base,
                                     const char *path)
{
    struct package_facts *f = begin(w, base);
    char *whole = str_join(&f->arena, base, path);
    struct gathered g = {0};
    struct names subdirs = {0};
    int fd;

    f->kind = "dir";
    w->path_len = strlen(path);
    if (w->path_len >= sizeof(w->path))
        return f;
    memcpy(w->path, path, w->path_len + 1);
    fd = openat(store_fd, whole, OPEN_FLAGS | O_DIRECTORY);
    if (fd < 0)
        return f;
    if (walk_entries(w, fd, &g, &subdirs) == 0)
        keep_dir(w, fd, arena_memdup(&f->arena, w->entries.bytes, w->entries.len), w->entries.len,
                 &g);
    (void)close(fd);
    return f;
}
