#include "server/route.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- matching */

/* The length of a pattern's `{name}`; `{name*}` takes all the rest. 0: none stands there. */
static size_t hole(const char *pattern, bool *ret_rest)
{
    const char *end = *pattern == '{' ? strchr(pattern, '}') : NULL;

    if (!end)
        return 0;
    *ret_rest = end[-1] == '*';
    return (size_t)(end - pattern) + 1;
}

/* Does `pattern` match? Segments are unescaped into `arena`. */
static bool route_match(struct arena *arena, const char *pattern, const char *path,
                        const char *segment[ROUTE_SEGMENTS_MAX])
{
    size_t n = 0;

    /* most patterns differ early: that is what is looked at first */
    for (; *pattern && *pattern != '{'; pattern++, path++)
        if (*pattern != *path)
            return false;
    while (*pattern) {
        bool rest = false;
        const size_t len = hole(pattern, &rest);
        const size_t take = rest ? strlen(path) : strcspn(path, "/");

        if (!len) {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        if (!take || n == ROUTE_SEGMENTS_MAX)
            return false;
        segment[n] = url_unescape(arena, path, take, false);
        if (!segment[n++])
            return false;
        pattern += len;
        path += take;
    }
    return !*path;
}

static bool is_method(const struct route *route, const char *method)
{
    return !strcmp(route->method, strcmp(method, "HEAD") != 0 ? method : "GET");
}

/* Of several routes with this path the one of the method; else their methods are added to `allow`. */
static const struct route *find_method(struct arena *arena, const char *method, const char *path,
                                       const char *segment[ROUTE_SEGMENTS_MAX], struct str *allow)
{
    size_t n;
    const struct route *table = routes(&n);

    for (const struct route *r = table; r < table + n; r++) {
        if (strstr(r->pattern, "*}") || !route_match(arena, r->pattern, path, segment))
            continue;
        if (is_method(r, method))
            return r;
        str_printf(allow, "%s%s", allow->len ? ", " : "",
                   !strcmp(r->method, "GET") ? "GET, HEAD" : r->method);
    }
    return NULL;
}

/* Files: only where nothing else has this path. */
static const struct route *find_file(struct arena *arena, const char *method, const char *path,
                                     const char *segment[ROUTE_SEGMENTS_MAX])
{
    size_t n;
    const struct route *table = routes(&n);

    for (const struct route *r = table; r < table + n; r++)
        if (strstr(r->pattern, "*}") && is_method(r, method) &&
            route_match(arena, r->pattern, path, segment))
            return r;
    return NULL;
}

const struct route *route_find(struct arena *arena, const char *method, const char *path,
                               const char *segment[ROUTE_SEGMENTS_MAX], const char **ret_allow)
{
    struct str allow = {.arena = arena};
    const struct route *found = find_method(arena, method, path, segment, &allow);

    if (!found && !allow.len && !str_starts(path, "/api/"))
        found = find_file(arena, method, path, segment);
    *ret_allow = allow.len ? allow.text : "";
    return found;
}

/* ---- parameters */

static const struct param *param_find(const struct route *route, const char *name)
{
    for (const struct param *p = route->params; p && p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

static bool read_number(const char *text, uint64_t *ret)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return !*end && !errno;
}

static int check_words(const struct param *p, const char *value, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct str all = {.arena = &scratch};

    for (const char *const *word = p->words; *word; word++) {
        if (!strcmp(*word, value))
            return 0;
        str_printf(&all, "%s%s", all.len ? ", " : "", *word);
    }
    return err_set(err, EINVAL, "'%s' must be one of %s", p->name, all.text);
}

static int check_value(const struct param *p, const char *value, struct err *err)
{
    const size_t max = p->max ? p->max : 4096;
    uint64_t number;

    switch (p->kind) {
    case PARAM_NUMBER:
        if (!read_number(value, &number) || number < p->min || number > p->max)
            return err_set(err, EINVAL, "'%s' must be a number from %llu to %llu", p->name,
                           (unsigned long long)p->min, (unsigned long long)p->max);
        return 0;
    case PARAM_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return err_set(err, EINVAL, "'%s' must be true or false", p->name);
        return 0;
    case PARAM_TEXT:
        break;
    }
    if (strlen(value) > max)
        return err_set(err, EINVAL, "'%s' must have at most %zu bytes", p->name, max);
    return p->words ? check_words(p, value, err) : 0;
}

int route_check(const struct route *route, const struct argument *argument, size_t n,
                const char **ret_name, struct err *err)
{
    int r;

    if (!route->params && route->flags & ROUTE_PAGE)
        return 0; /* a file is what it is */
    for (size_t i = 0; i < n; i++) {
        const struct param *p = param_find(route, argument[i].name);

        *ret_name = argument[i].name;
        if (!p)
            return err_set(err, EINVAL, "there is no such parameter");
        for (size_t k = 0; k < i && !p->repeats; k++)
            if (!strcmp(argument[k].name, p->name))
                return err_set(err, EINVAL, "'%s' was given twice", p->name);
        if ((r = check_value(p, argument[i].value, err)) < 0)
            return r;
    }
    for (const struct param *p = route->params; p && p->name; p++) {
        bool given = !p->required;

        for (size_t i = 0; i < n && !given; i++)
            given = !strcmp(argument[i].name, p->name);
        *ret_name = p->name;
        if (!given)
            return err_set(err, EINVAL, "'%s' is wanted", p->name);
    }
    return 0;
}

const char *query_text(const struct query *query, const char *name)
{
    const struct param *p = param_find(query->route, name);

    for (size_t i = 0; i < query->n_arguments; i++)
        if (!strcmp(query->argument[i].name, name))
            return query->argument[i].value;
    return p ? p->usual : NULL;
}

uint64_t query_number(const struct query *query, const char *name)
{
    const char *text = query_text(query, name);
    uint64_t number = 0;

    return text && read_number(text, &number) ? number : 0;
}

bool query_bool(const struct query *query, const char *name)
{
    return str_same(query_text(query, name), "true");
}
