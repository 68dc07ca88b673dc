#include "scanner/origin.h"

#include "base/intern.h"
#include "base/str.h"
#include "scanner/index_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PACKAGE_MAX = 4 * 1024 * 1024, /* bytes of one package's object */
    PACKAGES_MAX = 2 * 1000 * 1000,
    DEPTH_MAX = 64, /* of what is passed over */
};

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

static const char *maintainer_name(const json_t *maintainer)
{
    const char *name = json_string_value(json_object_get(maintainer, "github"));

    if (!name)
        name = json_string_value(json_object_get(maintainer, "name"));
    return name ? name : json_string_value(maintainer);
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
        if (!maintainer_name(maintainer))
            continue;
        origin->maintainer =
            arena_grow(a, origin->maintainer, origin->n_maintainers, sizeof(*origin->maintainer));
        origin->maintainer[origin->n_maintainers++] = arena_strdup(a, maintainer_name(maintainer));
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
    char *text; /* of the value at hand */
    size_t len, size;
    struct err *err;
};

static int fail(struct reading *r, const char *what)
{
    return err_set(r->err, EINVAL,
                   "'%s', byte %ld: %s; a channel's packages.json is wanted, not "
                   "compressed",
                   r->path, ftell(r->from), what);
}

static int next(struct reading *r)
{
    int c;

    do
        c = getc(r->from);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    return c;
}

static int add(struct reading *r, int c)
{
    if (r->len + 1 >= PACKAGE_MAX)
        return err_set(r->err, EFBIG, "'%s', byte %ld: a value of more than %d MB", r->path,
                       ftell(r->from), PACKAGE_MAX >> 20);
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
        c = getc(r->from);
        if (c == EOF)
            return fail(r, "ends in a string");
        e = add(r, c);
        if (e == 0 && c == '"')
            return 0;
        if (e == 0 && c == '\\')
            e = add(r, getc(r->from));
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
    return e < 0 ? e : found ? 0 : fail(r, "has no \"packages\"");
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
    struct reading r = {.from = fopen(path, "re"), .path = path, .err = err};
    int e;

    if (!r.from)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    *all = (struct origins){.arena = arena};
    all->by_name.names = intern_new();
    all->by_pname.names = intern_new();
    e = read_file(&r, all);
    free(r.text);
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

/* ---- in an index */

static const char NAMES[] = "SELECT DISTINCT name, pname FROM package";
static const char DROP[] = "DELETE FROM origin";
static const char ADD[] = "INSERT OR REPLACE INTO origin (name, attribute, maintainers, position) "
                          "VALUES (?, ?, ?, ?)";

static json_t *maintainers_json(const struct origin *origin)
{
    json_t *list = json_array();

    for (size_t i = 0; origin && i < origin->n_maintainers; i++)
        json_push(list, json_text(origin->maintainer[i]));
    return list;
}

static int add_row(struct db *db, const char *name, const struct origin *origin, struct err *err)
{
    json_auto_t *maintainers = maintainers_json(origin);
    char *text = json_dumps(maintainers, JSON_COMPACT);
    struct stmt *s = db_prepare(db, ADD, err);
    int r;

    if (!text)
        abort();
    if (!s) {
        free(text);
        return -err->code;
    }
    stmt_bind_text(s, 1, name);
    stmt_bind_text(s, 2, origin->attribute);
    stmt_bind_text(s, 3, text);
    stmt_bind_text(s, 4, origin->position);
    r = stmt_run(s, err);
    free(text);
    return r;
}

/* What of an index's packages has an origin. */
struct named {
    const char *name;
    const struct origin *origin;
};

static int find_all(struct db *db, const struct origins *origins, struct arena *arena,
                    struct named **ret_named, size_t *ret_n, struct err *err)
{
    struct stmt *s = db_prepare(db, NAMES, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        const struct origin *origin = origins_find(origins, stmt_text(s, 0), stmt_text(s, 1));

        if (!origin)
            continue;
        *ret_named = arena_grow(arena, *ret_named, *ret_n, sizeof(**ret_named));
        (*ret_named)[(*ret_n)++] = (struct named){arena_strdup(arena, stmt_text(s, 0)), origin};
    }
    return r;
}

int origins_index(struct db *db, const struct origins *origins, size_t *ret_found, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(index_closep) struct index *index = NULL;
    struct named *named = NULL;
    size_t n = 0;
    int r = find_all(db, origins, &arena, &named, &n, err);

    if (r == 0)
        r = index_open(db, &index, err);
    if (r == 0)
        r = index_bump(index, err); /* begins a transaction, which closing undoes */
    if (r == 0)
        r = db_exec(db, DROP, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_row(db, named[i].name, named[i].origin, err);
    if (r == 0)
        r = index_flush(index, err);
    if (r == 0)
        *ret_found = n;
    return r;
}

/* ---- elsewhere */

static void set_maintainers(struct origin *origin, const json_t *list, struct arena *arena)
{
    const json_t *item;
    size_t i;

    origin->maintainer =
        arena_calloc(arena, json_array_size(list) + 1, sizeof(*origin->maintainer));
    json_array_foreach (list, i, item) {
        if (json_is_string(item))
            origin->maintainer[origin->n_maintainers++] =
                arena_strdup(arena, json_string_value(item));
    }
}

const struct origin *origin_of_row(struct stmt *s, int first, struct arena *arena)
{
    const char *attribute = stmt_text(s, first), *maintainers = stmt_text(s, first + 1);
    const char *position = stmt_text(s, first + 2);
    json_auto_t *list = maintainers ? json_loads(maintainers, 0, NULL) : NULL;
    struct origin *origin;

    if (!attribute)
        return NULL;
    origin = arena_alloc(arena, sizeof(*origin));
    origin->attribute = arena_strdup(arena, attribute);
    origin->position = position ? arena_strdup(arena, position) : NULL;
    set_maintainers(origin, list, arena);
    return origin;
}

void origin_put(json_t *object, const struct origin *origin)
{
    json_put_text(object, "attribute", origin ? origin->attribute : NULL);
    json_put(object, "maintainers", maintainers_json(origin));
    json_put_text(object, "position", origin ? origin->position : NULL);
}

const struct origin *origin_get(const json_t *object, struct arena *arena)
{
    const char *attribute = json_string_value(json_object_get(object, "attribute"));
    const char *position = json_string_value(json_object_get(object, "position"));
    struct origin *origin;

    if (!attribute)
        return NULL;
    origin = arena_alloc(arena, sizeof(*origin));
    origin->attribute = arena_strdup(arena, attribute);
    origin->position = position ? arena_strdup(arena, position) : NULL;
    set_maintainers(origin, json_object_get(object, "maintainers"), arena);
    return origin;
}
