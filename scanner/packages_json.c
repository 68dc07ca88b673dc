/*
 * A channel's packages.json: origins of packages, by name.
 */
#include "scanner/origin.h"
#include "scanner/unpack_file.h"

#include "base/intern.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PACKAGE_MAX = 4 * 1024 * 1024, /* bytes of one package's object */
    PACKAGES_MAX = 2 * 1000 * 1000,
    DEPTH_MAX = 64, /* of what is passed over */
};
#define UNPACKED_MAX ((uint64_t)2 << 30) /* bytes of a file that is packed */

/* By name: a table of its own for each of the two ways to find one. */
struct table {
    struct intern *names;
    const struct origin **origin; /* by the name's id */
    size_t n, size;
};

struct origins {
    struct table by_name, by_pname;
    size_t n;
    struct arena *arena;
};

/* ---- finding */

static bool is_better(const struct origin *a, const struct origin *b)
{
    const size_t x = strlen(a->attribute), y = strlen(b->attribute);

    return x != y ? x < y : strcmp(a->attribute, b->attribute) < 0;
}

static void keep(struct table *t, const char *key, const struct origin *origin)
{
    const uint32_t id = intern(t->names, key)->id;

    if (id >= t->size) {
        const size_t size = (size_t)id * 2 + 1024;

        t->origin = realloc(t->origin, size * sizeof(*t->origin));
        if (!t->origin)
            abort();
        memset(t->origin + t->size, 0, (size - t->size) * sizeof(*t->origin));
        t->size = size;
    }
    if (!t->origin[id] || is_better(origin, t->origin[id]))
        t->origin[id] = origin;
}

/* Into the arena, and the table that only reading needs is given back. */
static void settle(struct table *t, struct arena *arena)
{
    const struct origin **kept = arena_calloc(arena, t->size + 1, sizeof(*kept));

    if (t->size)
        memcpy(kept, t->origin, t->size * sizeof(*kept));
    free(t->origin);
    t->origin = kept;
}

static const struct origin *find(const struct table *t, const char *key)
{
    const struct name *name;

    if (!key || !*key)
        return NULL;
    name = intern(t->names, key);
    return name->id < t->size ? t->origin[name->id] : NULL;
}

const struct origin *origins_find(const struct origins *origins, const char *name,
                                  const char *pname)
{
    const struct origin *origin = find(&origins->by_name, name);

    return origin ? origin : find(&origins->by_pname, pname);
}

size_t origins_count(const struct origins *origins)
{
    return origins->n;
}

/* ---- one package of the file */

/* How one is reached, best first; NULL: nobody is told. */
static const char *maintainer_text(const json_t *maintainer, struct arena *arena)
{
    const char *handle = json_string_value(json_object_get(maintainer, "github"));
    const char *address = json_string_value(json_object_get(maintainer, "email"));
    const char *name = json_string_value(json_object_get(maintainer, "name"));

    if (handle)
        return arena_printf(arena, "@%s", handle);
    if (name && address)
        return arena_printf(arena, "%s <%s>", name, address);
    name = address ? address : name ? name : json_string_value(maintainer);
    return name ? arena_strdup(arena, name) : NULL;
}

/* Positions lie in the source's own store path, whose hash tells nobody anything. */
static const char *position_shown(const char *position)
{
    const char *below = position ? strstr(position, "/pkgs/") : NULL;

    return below ? below + 1 : position;
}

static void add_package(struct origins *all, const char *attribute, const json_t *package)
{
    struct arena *a = all->arena;
    const json_t *meta = json_object_get(package, "meta"), *maintainer;
    const char *name = json_string_value(json_object_get(package, "name"));
    const char *pname = json_string_value(json_object_get(package, "pname"));
    const char *version = json_string_value(json_object_get(package, "version"));
    const char *position = position_shown(json_string_value(json_object_get(meta, "position")));
    struct origin *origin = arena_alloc(a, sizeof(*origin));
    size_t i;

    origin->attribute = arena_strdup(a, attribute);
    origin->position = position ? arena_strdup(a, position) : NULL;
    json_array_foreach (json_object_get(meta, "maintainers"), i, maintainer) {
        const char *text = maintainer_text(maintainer, a);

        if (!text)
            continue;
        origin->maintainer =
            arena_grow(a, origin->maintainer, origin->n_maintainers, sizeof(*origin->maintainer));
        origin->maintainer[origin->n_maintainers++] = text;
    }
    if (pname && version)
        keep(&all->by_name, arena_printf(a, "%s-%s", pname, version), origin);
    else if (name)
        keep(&all->by_name, name, origin);
    if (pname)
        keep(&all->by_pname, pname, origin);
    all->n++;
}

/* ---- the file, which is too large for a tree of values */

struct reading {
    FILE *from;
    const char *path;
    uint64_t at; /* bytes read, unpacked */
    char *text;  /* of the value at hand */
    size_t len, size;
    struct err *err;
};

static int fail(struct reading *r, const char *what)
{
    CLEANUP(arena_release) struct arena a = {0};

    if (ferror(r->from)) /* unpacking has said why */
        return err_set(r->err, r->err->code ? r->err->code : EIO, "'%s': %s", r->path,
                       r->err->code ? arena_strdup(&a, r->err->text) : "cannot be read");
    return err_set(r->err, EINVAL, "'%s', byte %llu: %s; a channel's packages.json is wanted",
                   r->path, (unsigned long long)r->at, what);
}

static int get(struct reading *r)
{
    const int c = ferror_unlocked(r->from) ? EOF : getc_unlocked(r->from);

    r->at += c != EOF;
    return c;
}

static int next(struct reading *r)
{
    int c;

    do
        c = get(r);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    return c;
}

static int add(struct reading *r, int c)
{
    if (r->len + 1 >= PACKAGE_MAX)
        return err_set(r->err, EFBIG, "'%s', byte %llu: a value of more than %d MB", r->path,
                       (unsigned long long)r->at, PACKAGE_MAX >> 20);
    if (r->len + 1 >= r->size) {
        r->size = r->size ? r->size * 2 : 4096;
        r->text = realloc(r->text, r->size);
        if (!r->text)
            abort();
    }
    r->text[r->len++] = (char)c;
    r->text[r->len] = '\0';
    return 0;
}

/* The rest of a string whose quote was read, with its quotes, as it stands. */
static int read_string(struct reading *r)
{
    int c, e = add(r, '"');

    while (e == 0) {
        c = get(r);
        if (c == EOF)
            return fail(r, "ends in a string");
        e = add(r, c);
        if (e == 0 && c == '"')
            return 0;
        if (e == 0 && c == '\\')
            e = add(r, get(r));
    }
    return e;
}

/* A whole value that begins with `c`; what follows it is left. */
static int read_value(struct reading *r, int c)
{
    int depth = 0, e = 0;

    r->len = 0;
    for (; e == 0; c = next(r)) {
        if (c == EOF)
            return fail(r, "ends in a value");
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            (void)ungetc(c, r->from);
            r->at--;
            return r->len ? 0 : fail(r, "a value is expected");
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth > DEPTH_MAX)
            return fail(r, "is nested too deeply");
        e = c == '"' ? read_string(r) : add(r, c);
        if (depth == 0 && (c == '}' || c == ']' || c == '"'))
            return e;
    }
    return e;
}

/* The key of an object's next member, up to its colon; 1: the object has ended. `*first` is it. */
static int read_key(struct reading *r, bool *first, struct arena *arena, const char **ret_key)
{
    json_auto_t *key = NULL;
    int c = next(r), e;

    if (c == '}')
        return 1;
    if (!*first && c == ',')
        c = next(r);
    else if (!*first)
        return fail(r, "a comma or the object's end is expected");
    *first = false;
    if (c != '"')
        return fail(r, "a key is expected");
    r->len = 0;
    e = read_string(r);
    if (e < 0)
        return e;
    key = json_loads(r->text, JSON_DECODE_ANY, NULL);
    if (!json_is_string(key) || next(r) != ':')
        return fail(r, "no key of an object");
    *ret_key = arena_strdup(arena, json_string_value(key));
    return 0;
}

static int read_packages(struct reading *r, struct origins *all)
{
    bool first = true;
    int e = next(r) == '{' ? 0 : fail(r, "\"packages\" is no object");

    while (e == 0) {
        CLEANUP(arena_release) struct arena scratch = {0};
        json_auto_t *package = NULL;
        const char *attribute = NULL;

        e = read_key(r, &first, &scratch, &attribute);
        if (e)
            break;
        e = read_value(r, next(r));
        if (e < 0)
            break;
        package = json_loads(r->text, 0, NULL);
        if (!json_is_object(package))
            return fail(r, "a package that is no object");
        if (all->n >= PACKAGES_MAX)
            return err_set(r->err, EFBIG, "'%s': more than %d packages", r->path, PACKAGES_MAX);
        add_package(all, attribute, package);
    }
    return e < 0 ? e : 0;
}

static int read_file(struct reading *r, struct origins *all)
{
    bool first = true, found = false;
    int e = next(r) == '{' ? 0 : fail(r, "is no JSON object");

    while (e == 0) {
        CLEANUP(arena_release) struct arena scratch = {0};
        const char *key = NULL;

        e = read_key(r, &first, &scratch, &key);
        if (e)
            break;
        if (strcmp(key, "packages") == 0 && !found) {
            found = true;
            e = read_packages(r, all);
        } else {
            e = read_value(r, next(r));
        }
    }
    if (e >= 0 && !found)
        return fail(r, "has no \"packages\"");
    if (e >= 0 && (next(r) != EOF || ferror(r->from)))
        return fail(r, "something follows");
    return e < 0 ? e : 0;
}

/* How a file is packed. Brotli has no magic; but of its streams only an empty one begins like JSON. */
static enum packing packing_of(FILE *file, const char *path)
{
    char bytes[6] = {0};
    size_t n = 0;
    enum packing packing;
    int c;

    while (n < sizeof(bytes) && (c = getc(file)) != EOF)
        bytes[n++] = (char)c;
    for (size_t i = n; i-- > 0;)
        (void)ungetc((unsigned char)bytes[i], file);
    packing = packing_by_magic(bytes, n);
    return packing != PACKING_NONE || (n && bytes[0] == '{') ? packing : packing_by_ending(path);
}

static int open_file(struct reading *r)
{
    FILE *file = fopen(r->path, "re");
    enum packing packing;

    if (!file)
        return err_set(r->err, errno, "'%s': %s", r->path, strerror(errno));
    packing = packing_of(file, r->path);
    r->from = file;
    if (packing == PACKING_UNKNOWN)
        return err_set(r->err, EINVAL,
                       "'%s': packed in a way that is not understood; a channel's packages.json, "
                       "as it is or packed as br, xz or zstd, is wanted",
                       r->path);
    if (packing == PACKING_NONE)
        return 0;
    r->from = NULL;
    return unpack_file(file, packing, UNPACKED_MAX, &r->from, r->err);
}

static void drop_table(void *data)
{
    struct table *t = data;

    intern_free(t->names);
}

int origins_read(const char *path, struct arena *arena, struct origins **ret_origins,
                 struct err *err)
{
    struct origins *all = arena_alloc(arena, sizeof(*all));
    struct reading r = {.path = path, .err = err};
    int e;

    err->code = 0;
    *all = (struct origins){.arena = arena};
    all->by_name.names = intern_new();
    all->by_pname.names = intern_new();
    e = open_file(&r);
    if (e == 0)
        e = read_file(&r, all);
    free(r.text);
    if (r.from)
        (void)fclose(r.from);
    settle(&all->by_name, arena);
    settle(&all->by_pname, arena);
    if (e < 0) {
        drop_table(&all->by_name);
        drop_table(&all->by_pname);
        return e;
    }
    *ret_origins = all;
    return 0;
}

void origins_free(struct origins *origins)
{
    if (!origins)
        return;
    drop_table(&origins->by_name);
    drop_table(&origins->by_pname);
}

void origins_freep(struct origins **origins)
{
    origins_free(*origins);
}
