#include "scanner/nar_walk.h"

#include "base/spill.h"
#include "scanner/elf_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_SIZE = 16384,            /* longest path below a package, as in store_walk.c */
    MEMORY_MAX = 8 * 1024 * 1024, /* of a file, before it goes to a temporary one */
};

/* A directory whose entries are coming. */
struct frame {
    struct entries entries;
    struct gathered gathered;
    size_t path_len; /* of the directory that holds it */
    bool keep;       /* something below it is kept */
};

/* The file at hand. */
struct member {
    const char *name;
    uint64_t size, seen;
    bool executable, passed; /* its content does not come */
    enum { HEAD, PLAIN, ELF } kind;
    unsigned char head[FACTS_HEAD];
    size_t n_head;
    char *bytes; /* kept from file to file */
    size_t len, room;
    int fd;    /* the temporary file; -1: there is none */
    int error; /* of writing it */
};

struct nar_walk {
    const char *store;
    const struct nar_only *only;
    struct elf_scratch *scratch;
    struct package_facts *facts;
    struct frame *frame; /* NAR_DEPTH_MAX + 1 */
    unsigned depth;      /* frames in use */
    struct frame single; /* of a package that is one file */
    char path[PATH_SIZE];
    size_t path_len;
    struct member member;
    bool pass;
    char name[NAR_NAME_MAX + 1];
};

struct nar_walk *nar_walk_new(const char *store)
{
    struct nar_walk *w = calloc(1, sizeof(*w));

    if (!w || !(w->frame = calloc(NAR_DEPTH_MAX + 1, sizeof(*w->frame))))
        abort();
    w->store = store;
    w->scratch = elf_scratch_new();
    w->member.fd = -1;
    return w;
}

static void close_member(struct nar_walk *w)
{
    if (w->member.fd >= 0)
        (void)close(w->member.fd);
    w->member.fd = -1;
}

void nar_walk_free(struct nar_walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i <= NAR_DEPTH_MAX; i++)
        free(w->frame[i].entries.bytes);
    free(w->single.entries.bytes);
    free(w->frame);
    free(w->member.bytes);
    close_member(w);
    elf_scratch_free(w->scratch);
    package_facts_free(w->facts);
    free(w);
}

void nar_walk_begin(struct nar_walk *w, const char *base, const struct nar_only *only)
{
    package_facts_free(w->facts);
    w->facts = facts_new(base);
    w->only = only;
    w->depth = 0;
    w->path_len = 0;
    w->path[0] = '\0';
    w->pass = false;
    close_member(w);
}

struct package_facts *nar_walk_end(struct nar_walk *w)
{
    struct package_facts *f = w->facts;

    w->facts = NULL;
    close_member(w);
    return f;
}

void nar_walk_pass(struct nar_walk *w)
{
    w->pass = true;
}

bool nar_walk_has_enough(const struct nar_walk *w)
{
    return w->member.kind == PLAIN;
}

/* Where entries go: the directory that is open, or the package itself. */
static struct frame *top(struct nar_walk *w)
{
    return w->depth ? &w->frame[w->depth - 1] : &w->single;
}

static void empty(struct frame *f)
{
    f->entries.len = 0;
    f->gathered = (struct gathered){0};
    f->keep = false;
}

/* ---- directories */

static int enter(void *data, const char *name, struct err *err)
{
    struct nar_walk *w = data;
    const size_t len = strlen(name);
    struct frame *f = &w->frame[w->depth];

    if (w->depth)
        entries_add(&top(w)->entries, ENTRY_DIR, name, NULL);
    else
        w->facts->kind = "dir";
    if (w->depth == NAR_DEPTH_MAX || w->path_len + len + 2 > sizeof(w->path))
        return err_set(err, EINVAL, "directories are nested too deeply");
    empty(f);
    f->path_len = w->path_len;
    if (w->path_len)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, len + 1);
    w->path_len += len;
    w->depth++;
    return 0;
}

static int compare_paths(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

static bool is_wanted(const struct nar_walk *w, const struct frame *f)
{
    if (!w->only)
        return f->keep || facts_is_worth(w->path, &f->gathered);
    return f->gathered.n_objects == 0 && w->only->n &&
           bsearch(w->path, w->only->path, w->only->n, sizeof(*w->only->path), compare_paths);
}

static int leave(void *data, struct err *err UNUSED)
{
    struct nar_walk *w = data;
    struct frame *f = top(w);

    if (is_wanted(w, f)) {
        facts_keep(w->facts, w->path,
                   arena_memdup(&w->facts->arena, f->entries.bytes, f->entries.len), f->entries.len,
                   &f->gathered, 0);
        if (w->depth > 1)
            w->frame[w->depth - 2].keep = true;
    }
    w->path_len = f->path_len;
    w->path[w->path_len] = '\0';
    w->depth--;
    return 0;
}

static int add_link(void *data, const char *name, const char *target, struct err *err UNUSED)
{
    struct nar_walk *w = data;

    if (w->depth == 0) {
        w->facts->kind = "link";
        w->facts->target = arena_strdup(&w->facts->arena, target);
        empty(&w->single);
    } else {
        entries_add(&top(w)->entries, ENTRY_LINK, name, target);
    }
    facts_add_link(w->facts, &top(w)->gathered, w->store, name, target);
    return 0;
}

/* ---- files */

void nar_walk_again(struct nar_walk *w)
{
    struct member *m = &w->member;

    m->kind = HEAD;
    m->n_head = m->len = 0;
    m->seen = 0;
    m->error = 0;
    close_member(w);
}

static int begin_file(void *data, const char *name, bool executable, uint64_t size,
                      uint64_t offset UNUSED, struct err *err UNUSED)
{
    struct nar_walk *w = data;
    struct member *m = &w->member;

    if (w->depth == 0) {
        w->facts->kind = "file";
        empty(&w->single);
    }
    (void)snprintf(w->name, sizeof(w->name), "%s", name);
    m->name = w->name;
    m->size = size;
    m->executable = executable;
    m->passed = w->pass;
    nar_walk_again(w);
    w->pass = false;
    w->facts->files++;
    return 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        const ssize_t wrote = write(fd, bytes, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? errno : EIO;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

static void add_bytes(struct member *m, const void *bytes, size_t n)
{
    const char *dir;

    if (m->error)
        return;
    if (m->fd < 0 && m->len + n > MEMORY_MAX) {
        m->fd = spill_file(&dir);
        m->error = m->fd < 0 ? -m->fd : write_all(m->fd, m->bytes, m->len);
    }
    if (m->fd >= 0 && m->error == 0) {
        m->error = write_all(m->fd, bytes, n);
        return;
    }
    if (m->error)
        return;
    if (m->room - m->len < n) {
        m->room = (m->len + n) * 2;
        m->bytes = realloc(m->bytes, m->room);
        if (!m->bytes)
            abort();
    }
    memcpy(m->bytes + m->len, bytes, n);
    m->len += n;
}

static bool is_elf(const struct member *m)
{
    return m->n_head >= SELFMAG && memcmp(m->head, ELFMAG, SELFMAG) == 0;
}

static int add_content(void *data, const void *bytes, size_t n, struct err *err UNUSED)
{
    struct nar_walk *w = data;
    struct member *m = &w->member;
    const char *at = bytes;

    m->seen += n;
    if (m->kind == HEAD) {
        size_t take = sizeof(m->head) - m->n_head;

        if (take > n)
            take = n;
        memcpy(m->head + m->n_head, at, take);
        m->n_head += take;
        at += take;
        n -= take;
        if (m->n_head < sizeof(m->head))
            return 0;
        m->kind = is_elf(m) ? ELF : PLAIN;
        if (m->kind == ELF)
            add_bytes(m, m->head, m->n_head);
    }
    if (m->kind == ELF && n && !w->only)
        add_bytes(m, at, n);
    return 0;
}

static enum entry_kind read_elf(struct nar_walk *w, const char *name, struct gathered *g)
{
    struct package_facts *f = w->facts;
    struct member *m = &w->member;
    const struct elf_source source = {.fd = m->fd,
                                      .bytes = (const unsigned char *)m->bytes,
                                      .size = m->size,
                                      .mode = S_IFREG | (m->executable ? 0555 : 0444),
                                      .scratch = w->scratch};
    struct walked_object found = {.name = arena_strdup(&f->arena, name), .nlink = 1};
    struct err err;
    int r = 0;

    if (w->only) { /* what is kept has no objects: it is enough to know that there is one */
        g->n_objects++;
        return ENTRY_ELF;
    }
    if (m->error)
        r = err_set(&err, m->error, "no room for a temporary file: %s", strerror(m->error));
    else if (m->seen != m->size)
        r = err_set(&err, EIO, "it was not read to its end");
    if (r == 0)
        r = elf_read(&source, &f->arena, &found.object, &err);
    if (r < 0) {
        facts_add_problem(f, w->path, name, true, err.text);
        return ENTRY_UNREAD;
    }
    if (found.object->problem)
        facts_add_problem(f, w->path, name, false, found.object->problem);
    facts_add_object(f, g, &found);
    return ENTRY_ELF;
}

/* The package is one regular file: a directory with one entry that has no name. */
static void keep_single(struct nar_walk *w)
{
    struct frame *f = &w->single;

    if (f->gathered.n_objects && !w->only)
        facts_keep(w->facts, "", arena_memdup(&w->facts->arena, f->entries.bytes, f->entries.len),
                   f->entries.len, &f->gathered, 0);
}

static int end_file(void *data, struct err *err UNUSED)
{
    struct nar_walk *w = data;
    struct member *m = &w->member;
    enum entry_kind kind = m->size < FACTS_HEAD ? ENTRY_SHORT : ENTRY_FILE;
    char size[24], *text = NULL;

    if (!m->passed)
        kind = facts_judge_head(w->facts, m->head, m->n_head);
    if (m->kind == HEAD && kind == ENTRY_ELF)
        add_bytes(m, m->head, m->n_head);
    if (kind == ENTRY_ELF)
        kind = read_elf(w, m->name, &top(w)->gathered);
    if (kind == ENTRY_SHORT) {
        (void)snprintf(size, sizeof(size), "%llu", (unsigned long long)m->size);
        text = size;
    }
    entries_add(&top(w)->entries, kind, m->name, text);
    if (w->depth == 0)
        keep_single(w);
    close_member(w);
    return 0;
}

const struct nar_sink nar_walk_sink = {.enter = enter,
                                       .leave = leave,
                                       .link = add_link,
                                       .file = begin_file,
                                       .content = add_content,
                                       .file_end = end_file};
