#include "cli/slices.h"

#include "base/intern.h"
#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct err *err, const char *path, int code)
{
    return err_set(err, code, "'%s': %s", path, strerror(code));
}

/* ---- the list */

static void add(struct slices *s, struct slice slice)
{
    s->item = arena_grow(s->arena, s->item, s->n, sizeof(*s->item));
    s->item[s->n++] = slice;
}

static int no_list(const struct slices *s, const char *what, struct err *err)
{
    return err_set(err, EINVAL,
                   "'%s': %s: not a list of plans; give another directory, or move it away",
                   s->list, what);
}

/* Names alone: whatever the list says, nothing outside of the directory is touched. */
static bool is_name(const char *name)
{
    return *name != '.' && !strchr(name, '/') && str_ends(name, SLICE_SUFFIX);
}

static int read_entries(struct slices *s, json_t *root, struct err *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    json_t *plans = json_object_get(root, "plans"), *mark;
    const char *key;

    if (!schema || strcmp(schema, SLICES_SCHEMA) != 0)
        return no_list(s, "its schema is not " SLICES_SCHEMA, err);
    if (!json_is_object(plans))
        return no_list(s, "no plans", err);
    json_object_foreach (plans, key, mark) {
        const char *name = str_unescape(s->arena, key);

        if (!is_name(name) || (!json_is_string(mark) && !json_is_null(mark)))
            return no_list(s, "an entry is no plan", err);
        add(s, (struct slice){.name = name,
                              .mark = json_is_null(mark)
                                          ? NULL
                                          : arena_strdup(s->arena, json_string_value(mark)),
                              .listed = true});
    }
    return 0;
}

int slices_open(const char *dir, struct arena *arena, struct slices *ret_slices, struct err *err)
{
    struct slices s = {.arena = arena, .dir = dir, .list = str_join(arena, dir, SLICES_LIST)};
    json_t *root;
    int r;

    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return fail(err, dir, errno);
    r = json_read_file(s.list, SIZE_MAX, &root, err);
    if (r == 0) {
        r = read_entries(&s, root, err);
        json_decref(root);
    } else if (r == -EINVAL) {
        r = no_list(&s, "no JSON", err);
    }
    if (r < 0 && r != -ENOENT)
        return r;
    *ret_slices = s;
    return 0;
}

void slices_expect(struct slices *s, const char *name)
{
    add(s, (struct slice){.name = arena_strdup(s->arena, name), .expected = true});
}

void slices_stay(struct slices *s, const char *name)
{
    add(s, (struct slice){.name = arena_strdup(s->arena, name), .expected = true, .stays = true});
}

void slices_expect_all(struct slices *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->item[i].expected = s->item[i].stays = true;
}

/* Beside it, then in its place: it is always whole. */
static int write_list(const struct slices *s, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *beside = arena_printf(&scratch, "%s.new", s->list);
    json_t *root = json_object(), *plans = json_object();
    FILE *to = fopen(beside, "we");
    int r = to ? 0 : fail(err, beside, errno);

    for (size_t i = 0; i < s->n && r == 0; i++)
        json_put(plans, str_escape(&scratch, s->item[i].name),
                 s->item[i].mark ? json_string(s->item[i].mark) : json_null());
    json_put_text(root, "schema", SLICES_SCHEMA);
    json_put(root, "plans", plans);
    if (r == 0)
        r = json_print(root, to, true, err);
    json_decref(root);
    if (to && fclose(to) != 0 && r == 0)
        r = fail(err, beside, errno);
    if (r == 0 && rename(beside, s->list) < 0)
        r = fail(err, s->list, errno);
    return r;
}

/* ---- the files */

/* What was listed comes before what is expected now, of one name. */
static int by_name(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    const int r = strcmp(x->name, y->name);

    return r ? r : x->listed ? -1 : y->listed;
}

static int by_bare_name(const void *a, const void *b)
{
    return strcmp(((const struct slice *)a)->name, ((const struct slice *)b)->name);
}

int slices_begin(struct slices *s, struct err *err)
{
    size_t n = 0;

    if (s->n > 1)
        qsort(s->item, s->n, sizeof(*s->item), by_name);
    for (size_t i = 0; i < s->n; i++) {
        const struct slice *slice = &s->item[i];

        if (n && !strcmp(s->item[n - 1].name, slice->name)) {
            s->item[n - 1].expected = true;
            if (!slice->stays)
                s->item[n - 1].mark = NULL; /* until it is written anew */
        } else if (slice->listed || !slice->stays) {
            s->item[n++] = *slice;
        }
    }
    s->n = n;
    return write_list(s, err);
}

static const char *mark_of(struct arena *arena, const char *text, size_t len)
{
    return arena_printf(arena, "%zu-%08x", len, intern_hash(text, len));
}

int slices_write(struct slices *s, const char *name, const char *text, size_t len, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *path = str_join(&scratch, s->dir, name);
    const struct slice key = {.name = name};
    struct slice *slice = bsearch(&key, s->item, s->n, sizeof(*s->item), by_bare_name);
    FILE *to = fopen(path, "we");
    const bool written = to && fwrite(text, 1, len, to) == len;

    if ((to && fclose(to) != 0) || !written)
        return fail(err, path, errno);
    if (slice)
        slice->mark = mark_of(s->arena, text, len);
    return 0;
}

/* Is the file what was written there? */
static bool is_ours(const struct slice *slice, const char *path)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    char *bytes;
    bool ours = false;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !slice->mark) {
        ours = true; /* cut off while it was written */
    } else if (fd >= 0 && S_ISREG(st.st_mode) &&
               strtoull(slice->mark, NULL, 10) == (uint64_t)st.st_size) {
        bytes = arena_alloc(&scratch, (size_t)st.st_size + 1);
        ours = read(fd, bytes, (size_t)st.st_size) == st.st_size &&
               !strcmp(mark_of(&scratch, bytes, (size_t)st.st_size), slice->mark);
    }
    if (fd >= 0)
        (void)close(fd);
    return ours;
}

int slices_end(struct slices *s, struct err *err)
{
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct slice *slice = &s->item[i];
        const char *path = str_join(s->arena, s->dir, slice->name);
        struct stat st;

        if (slice->expected || r < 0) {
            s->item[n++] = *slice;
        } else if (lstat(path, &st) < 0) {
            continue; /* somebody was faster */
        } else if (!is_ours(slice, path)) {
            s->kept = arena_grow(s->arena, s->kept, s->n_kept, sizeof(*s->kept));
            s->kept[s->n_kept++] = path;
        } else if (unlink(path) == 0) {
            s->removed++;
        } else {
            r = fail(err, path, errno);
            s->item[n++] = *slice;
        }
    }
    s->n = n;
    return r < 0 ? r : write_list(s, err);
}
