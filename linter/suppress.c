#include "linter/suppress.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 * 1024 * 1024 };

#define SCHEMA "stormlint-suppressions/1"

/* ---- suppressions */

/* Is the number of two digits one of these? */
static bool is_within(const char *digits, int least, int most)
{
    const int n = (digits[0] - '0') * 10 + digits[1] - '0';

    return n >= least && n <= most;
}

/* "2027-01-31", as far as comparing goes. */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";

    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return text[sizeof(form) - 1] == '\0' && is_within(text + 5, 1, 12) &&
           is_within(text + 8, 1, 31);
}

static int read_one(const json_t *json, const char *today, struct arena *arena,
                    struct suppression *ret, struct err *err)
{
    const char *rule = NULL, *path = NULL, *reason = NULL, *until = NULL;
    json_error_t e;

    if (json_unpack_ex((json_t *)(uintptr_t)json, &e, JSON_STRICT, "{s:s, s:s, s:s, s?s}", "rule",
                       &rule, "path", &path, "reason", &reason, "until", &until) < 0)
        return err_set(err, EINVAL, "%s", e.text);
    if (!reason[strspn(reason, " ")])
        return err_set(err, EINVAL, "the reason is empty");
    ret->rule = rule_find(rule);
    if (!ret->rule && strcmp(rule, "*") != 0)
        return err_set(err, EINVAL, "there is no rule '%s'", rule);
    if (until && !is_date(until))
        return err_set(err, EINVAL, "'until' wants YYYY-MM-DD, not '%s'", until);
    ret->path = arena_strdup(arena, path);
    ret->reason = arena_strdup(arena, reason);
    ret->until = until ? arena_strdup(arena, until) : NULL;
    ret->expired = until && strcmp(today, until) > 0;
    return 0;
}

static int read_all(const json_t *json, const char *today, struct arena *arena,
                    struct suppressions *ret, struct err *err)
{
    const json_t *list = json_object_get(json, "suppressions");
    const char *schema = json_string_value(json_object_get(json, "schema"));
    struct err why;

    if (schema && strcmp(schema, SCHEMA) != 0)
        return err_set(err, EINVAL, "'%s': schema '%s' is not " SCHEMA, ret->file, schema);
    if (!json_is_array(list))
        return err_set(err, EINVAL, "'%s': no list 'suppressions'", ret->file);
    ret->n = json_array_size(list);
    ret->item = arena_calloc(arena, ret->n + 1, sizeof(*ret->item));
    for (size_t i = 0; i < ret->n; i++)
        if (read_one(json_array_get(list, i), today, arena, &ret->item[i], &why) < 0)
            return err_set(err, EINVAL, "'%s': suppression %zu: %s", ret->file, i + 1, why.text);
    return 0;
}

int suppressions_read(const char *path, const char *today, struct arena *arena,
                      struct suppressions *ret, struct err *err)
{
    struct suppressions all = {.file = path};
    json_t *json;
    int r = json_read_file(path, MAX_BYTES, &json, err);

    if (r < 0)
        return r;
    r = read_all(json, today, arena, &all, err);
    json_decref(json);
    if (r == 0)
        *ret = all;
    return r;
}

static bool matches(const struct suppression *s, const struct finding *f, const char *identity)
{
    if (s->rule && s->rule != f->rule)
        return false;
    return (f->path && !fnmatch(s->path, f->path, 0)) || !fnmatch(s->path, f->key, 0) ||
           !fnmatch(s->path, identity, 0);
}

void suppressions_apply(struct suppressions *suppressions, struct findings *findings)
{
    for (size_t i = 0; i < findings->n && suppressions->n; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct finding *f = findings->item[i];
        const char *identity = finding_identity(f, &arena);

        for (size_t k = 0; k < suppressions->n; k++) {
            struct suppression *s = &suppressions->item[k];

            if (s->expired || !matches(s, f, identity))
                continue;
            s->n_matches++;
            f->standing = FINDING_SUPPRESSED;
            f->reason = s->reason;
        }
    }
}

const char *suppression_problem(const struct suppression *suppression, struct arena *arena)
{
    if (suppression->expired)
        return arena_printf(arena, "it ended on %s", suppression->until);
    return suppression->n_matches ? NULL : "it matches nothing";
}

size_t suppressions_told(const struct suppressions *suppressions, struct arena *arena,
                         const char ***ret_sentence)
{
    const size_t n_items = suppressions ? suppressions->n : 0;
    size_t n = 0;

    *ret_sentence = arena_calloc(arena, n_items + 1, sizeof(**ret_sentence));
    for (size_t i = 0; i < n_items; i++) {
        const struct suppression *s = &suppressions->item[i];
        const char *problem = suppression_problem(s, arena);

        if (problem)
            (*ret_sentence)[n++] = arena_printf(arena, "suppression of %s for '%s': %s",
                                                s->rule ? s->rule->id : "*", s->path, problem);
    }
    return n;
}

/* ---- baselines */

void baseline_add(struct baseline *baseline, const char *rule, const char *identity,
                  enum severity severity, struct arena *arena)
{
    baseline->item = arena_grow(arena, baseline->item, baseline->n, sizeof(*baseline->item));
    baseline->item[baseline->n++] =
        (struct known_finding){arena_printf(arena, "%s %s", rule, identity), severity};
}

int baseline_read(const char *path, struct arena *arena, struct baseline *ret, struct err *err)
{
    const json_t *list, *item;
    json_t *json;
    size_t i;
    int r = json_read_file(path, SIZE_MAX, &json, err);

    if (r < 0)
        return r;
    list = json_object_get(json, "findings");
    if (!json_is_array(list))
        r = err_set(err, EINVAL, "'%s': neither an audit nor the JSON of a lint run", path);
    json_array_foreach (list, i, item) {
        const char *rule = json_string_value(json_object_get(item, "rule"));
        const char *identity = json_string_value(json_object_get(item, "identity"));
        const char *name = json_string_value(json_object_get(item, "severity"));
        enum severity severity;

        if (rule && identity && name && severity_find(name, &severity))
            baseline_add(ret, rule, str_unescape(arena, identity), severity, arena);
    }
    json_decref(json);
    return r;
}

static int by_identity(const void *a, const void *b)
{
    const struct known_finding *x = a, *y = b;

    return strcmp(x->identity, y->identity);
}

/* The most severe first. */
static int by_weight(const void *a, const void *b)
{
    const struct known_finding *x = a, *y = b;
    const int r = by_identity(a, b);

    return r ? r : (x->severity < y->severity) - (x->severity > y->severity);
}

/* The first entry of an identity that is not used yet; NULL: none. */
static struct known_finding *find_known(const struct baseline *baseline, const char *identity,
                                        const bool *used)
{
    const struct known_finding key = {.identity = identity};
    struct known_finding *hit = baseline->n ? bsearch(&key, baseline->item, baseline->n,
                                                      sizeof(*baseline->item), by_identity)
                                            : NULL;
    const struct known_finding *end = baseline->item + baseline->n;

    while (hit && hit > baseline->item && !strcmp(hit[-1].identity, identity))
        hit--;
    while (hit && hit < end && used[hit - baseline->item] && !strcmp(hit->identity, identity))
        hit++;
    return hit && hit < end && !strcmp(hit->identity, identity) ? hit : NULL;
}

void baseline_apply(struct baseline *baseline, struct findings *findings, struct arena *arena)
{
    bool *used = arena_calloc(arena, baseline->n + 1, sizeof(*used));

    if (baseline->n > 1)
        qsort(baseline->item, baseline->n, sizeof(*baseline->item), by_weight);
    for (size_t i = 0; i < findings->n && baseline->n; i++) {
        CLEANUP(arena_release) struct arena scratch = {0};
        struct finding *f = findings->item[i];
        const char *identity =
            arena_printf(&scratch, "%s %s", f->rule->id, finding_identity(f, &scratch));
        const struct known_finding *known = find_known(baseline, identity, used);

        if (!known || known->severity < f->severity)
            continue;
        used[known - baseline->item] = true;
        if (f->standing == FINDING_OPEN)
            f->standing = FINDING_KNOWN;
    }
}
