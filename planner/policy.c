#include "planner/policy.h"
#include "base/str.h"
#include "linter/danger_file.h"
#include "planner/criteria.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

enum { MAX_POLICY_BYTES = 1 << 20 };

static const char *default_stores[] = {"/nix/store", "/gnu/store"};

#define COMMON                                                                                     \
    .min_saving = 20, .reader_saving = 30, .min_percent = 20, .lift_saving = 4,                    \
    .store = default_stores, .n_stores = ARRAY_LEN(default_stores)

/*
 * RESOLVER_PATH comes from the Makefile: where this installation's "make install-resolver" puts the
 * library. The policy "resolver" by its name means that one; a file must say where the target has it.
 */
#ifndef RESOLVER_PATH
#error "RESOLVER_PATH: where make install-resolver puts the library"
#endif

#define RESOLVER      "resolver" /* a reader that is no loader */
#define POLICY_SCHEMA "stormlint-policy/1"

static const struct named_policy named[] = {
    {"a loader as it comes; LD_LIBRARY_PATH and LD_PRELOAD keep winning",
     {.name = "stock", .overrides = true, COMMON}},
    {"programs may name the resolver library, which reads closure notes on a stock loader",
     {.name = "resolver", .overrides = true, .resolver = RESOLVER_PATH, COMMON}},
    {"the loader is a glibc with the patch that reads upstream resolution notes",
     {.name = "patched-glibc", .overrides = true, .reader = READER_B, COMMON}},
    {"absolute paths for self-contained leaf applications, which give up overrides",
     {.name = "leaf-absolute", .absolute = true, COMMON}},
    {0},
};

static const char *const reader_names[] = {
    [READER_NONE] = "none",
    [READER_A] = "glibc-a",
    [READER_B] = "glibc-b",
};

const struct policy *policy_default(void)
{
    return &named[0].policy;
}

const struct named_policy *policies(void)
{
    return named;
}

static const struct policy *policy_named(const char *name)
{
    const struct named_policy *row;

    for (row = named; row->summary; row++)
        if (!strcmp(row->policy.name, name))
            return &row->policy;
    return NULL;
}

const struct policy_package *policy_pin(const struct policy *policy, const char *pname)
{
    size_t i;

    for (i = 0; pname && i < policy->n_packages; i++)
        if (!fnmatch(policy->package[i].pname, pname, 0))
            return &policy->package[i];
    return NULL;
}

const char *reader_name(enum note_reader reader)
{
    return reader_names[reader];
}

/* The reader, and for "resolver" its library's path. */
static int read_reader(json_t *root, struct arena *arena, struct policy *p, struct err *err)
{
    const char *reader = json_string_value(json_object_get(root, "reader"));
    const char *resolver = json_string_value(json_object_get(root, "resolver"));
    size_t i;

    if (!json_object_get(root, "reader"))
        return 0;
    p->resolver = NULL;
    p->reader = READER_NONE;
    if (reader && !strcmp(reader, RESOLVER)) {
        if (!resolver || *resolver != '/')
            return err_set(err, EINVAL,
                           "policy: reader 'resolver' wants its library's absolute path as "
                           "'resolver'");
        p->resolver = str_unescape(arena, resolver);
        return 0;
    }
    for (i = 0; reader && i < ARRAY_LEN(reader_names); i++)
        if (!strcmp(reader_names[i], reader)) {
            p->reader = (enum note_reader)i;
            return 0;
        }
    return err_set(err, EINVAL, "policy: reader '%s' is none of none, glibc-a, glibc-b, resolver",
                   reader ? reader : "?");
}

/* ---- lists */

static const char *without_slashes(struct arena *arena, const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return arena_strndup(arena, path, n);
}

/* A list of strings; `paths`: absolute ones. NULL or null: nothing is said. */
static int read_texts(json_t *array, const char *key, bool paths, struct arena *arena,
                      const char ***ret_text, size_t *ret_n, struct err *err)
{
    const char **text;
    json_t *value;
    size_t i;

    if (!array || json_is_null(array))
        return 0;
    if (!json_is_array(array))
        return err_set(err, EINVAL, "policy: '%s' must be a list", key);
    text = arena_calloc(arena, json_array_size(array) + 1, sizeof(*text));
    json_array_foreach (array, i, value) {
        if (!json_is_string(value) || (paths && json_string_value(value)[0] != '/'))
            return err_set(err, EINVAL, "policy: '%s' must be a list of %s", key,
                           paths ? "absolute paths" : "strings");
        text[i] = str_unescape(arena, json_string_value(value));
        if (paths)
            text[i] = without_slashes(arena, text[i]);
    }
    *ret_text = text;
    *ret_n = i;
    return 0;
}

static int read_packages(json_t *array, struct arena *arena, struct policy *p, struct err *err)
{
    json_t *value;
    json_error_t bad;
    size_t i;

    if (!array || json_is_null(array))
        return 0;
    if (!json_is_array(array))
        return err_set(err, EINVAL, "policy: 'packages' must be a list");
    p->package = arena_calloc(arena, json_array_size(array) + 1, sizeof(*p->package));
    p->n_packages = 0;
    json_array_foreach (array, i, value) {
        const char *pname, *strategy, *scope = NULL, *reason;

        if (json_unpack_ex(value, &bad, JSON_STRICT, "{s:s, s:s, s?s, s:s}", "pname", &pname,
                           "strategy", &strategy, "scope", &scope, "reason", &reason))
            return err_set(err, EINVAL, "policy: packages[%zu]: %s", i, bad.text);
        if (method_find(strategy, scope) == N_METHODS)
            return err_set(err, EINVAL, "policy: packages[%zu]: there is no strategy '%s%s%s'", i,
                           strategy, scope ? " " : "", scope ? scope : "");
        p->package[p->n_packages++] = (struct policy_package){
            .pname = str_unescape(arena, pname),
            .strategy = str_unescape(arena, strategy),
            .scope = scope ? str_unescape(arena, scope) : NULL,
            .reason = str_unescape(arena, reason),
        };
    }
    return 0;
}

/* ---- the members that are plain values, as a table */

enum member_kind { MEMBER_BOOL, MEMBER_COUNT, MEMBER_PATHS, MEMBER_NAMES };

static const struct member_row {
    const char *key;
    enum member_kind kind;
    size_t at, count; /* offsets in struct policy */
} members[] = {
    {"overrides", MEMBER_BOOL, offsetof(struct policy, overrides), 0},
    {"absolute", MEMBER_BOOL, offsetof(struct policy, absolute), 0},
    {"cautious", MEMBER_BOOL, offsetof(struct policy, cautious), 0},
    {"interpreters", MEMBER_BOOL, offsetof(struct policy, interpreters), 0},
    {"renew", MEMBER_BOOL, offsetof(struct policy, renew), 0},
    {"reader_saving", MEMBER_COUNT, offsetof(struct policy, reader_saving), 0},
    {"min_saving", MEMBER_COUNT, offsetof(struct policy, min_saving), 0},
    {"min_percent", MEMBER_COUNT, offsetof(struct policy, min_percent), 0},
    {"lift_saving", MEMBER_COUNT, offsetof(struct policy, lift_saving), 0},
    {"max_bytes", MEMBER_COUNT, offsetof(struct policy, max_bytes), 0},
    {"max_inodes", MEMBER_COUNT, offsetof(struct policy, max_inodes), 0},
    {"max_references", MEMBER_COUNT, offsetof(struct policy, max_references), 0},
    {"stores", MEMBER_PATHS, offsetof(struct policy, store), offsetof(struct policy, n_stores)},
    {"allowed_references", MEMBER_PATHS, offsetof(struct policy, allowed),
     offsetof(struct policy, n_allowed)},
    {"disallowed_references", MEMBER_PATHS, offsetof(struct policy, disallowed),
     offsetof(struct policy, n_disallowed)},
    {"required", MEMBER_NAMES, offsetof(struct policy, required),
     offsetof(struct policy, n_required)},
    {"plugins", MEMBER_NAMES, offsetof(struct policy, plugins), offsetof(struct policy, n_plugins)},
};

static void *member_of(struct policy *p, size_t at)
{
    return (char *)p + at;
}

static const void *member_in(const struct policy *p, size_t at)
{
    return (const char *)p + at;
}

static int read_member(const struct member_row *row, json_t *value, struct arena *arena,
                       struct policy *p, struct err *err)
{
    switch (row->kind) {
    case MEMBER_BOOL:
        if (!json_is_boolean(value))
            return err_set(err, EINVAL, "policy: '%s' must be true or false", row->key);
        *(bool *)member_of(p, row->at) = json_is_true(value);
        return 0;
    case MEMBER_COUNT:
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > UINT32_MAX)
            return err_set(err, EINVAL, "policy: '%s' must be a number, and none below zero",
                           row->key);
        *(uint32_t *)member_of(p, row->at) = (uint32_t)json_integer_value(value);
        return 0;
    case MEMBER_PATHS:
    case MEMBER_NAMES:
        break;
    }
    return read_texts(value, row->key, row->kind == MEMBER_PATHS, arena,
                      (const char ***)member_of(p, row->at), (size_t *)member_of(p, row->count),
                      err);
}

static const struct member_row *find_member(const char *key)
{
    const struct member_row *row;

    for_each (row, members)
        if (!strcmp(row->key, key))
            return row;
    return NULL;
}

static int text_of(json_t *value, const char *key, struct arena *arena, const char **ret_text,
                   struct err *err)
{
    if (json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return err_set(err, EINVAL, "policy: '%s' must be a string", key);
    *ret_text = str_unescape(arena, json_string_value(value));
    return 0;
}

/* One member that is no plain value. */
static int read_special(const char *key, json_t *value, struct arena *arena, struct policy *p,
                        struct err *err)
{
    if (!strcmp(key, "name"))
        return text_of(value, key, arena, &p->name, err);
    if (!strcmp(key, "cpu"))
        return text_of(value, key, arena, &p->cpu, err);
    if (!strcmp(key, "packages"))
        return read_packages(value, arena, p, err);
    if (!strcmp(key, "rules"))
        return danger_parse(value, arena, &p->danger, err);
    return err_set(err, EINVAL, "policy: there is no '%s' in policies", key);
}

/* Words of other tables: one that is misspelt would be as if it were not there. */
static int check_words(const struct policy *p, struct err *err)
{
    struct cpu cpu;
    int r = p->cpu ? cpu_find(p->cpu, &cpu, err) : 0;

    if (r < 0)
        return r;
    for (size_t i = 0; i < p->n_required; i++)
        if (!criterion_find(p->required[i]))
            return err_set(err, EINVAL, "policy: required: there is no criterion '%s'",
                           p->required[i]);
    if (p->min_percent > 100)
        return err_set(err, EINVAL, "policy: 'min_percent' must be 100 or less");
    return 0;
}

static int read_policy(json_t *root, struct arena *arena, struct policy *p, struct err *err)
{
    const struct member_row *row;
    const char *key;
    json_t *value;
    int r = read_reader(root, arena, p, err);

    json_object_foreach (root, key, value) {
        if (r < 0)
            return r;
        if (!strcmp(key, "schema") || !strcmp(key, "based_on") || !strcmp(key, "reader") ||
            !strcmp(key, "resolver"))
            continue;
        row = find_member(key);
        r = row ? read_member(row, value, arena, p, err) : read_special(key, value, arena, p, err);
    }
    return r < 0 ? r : check_words(p, err);
}

/* The policy that a file starts from. */
static int read_base(json_t *root, struct policy *p, struct err *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *based_on = json_object_get(root, "based_on");
    const char *base = json_string_value(based_on);

    if (!schema || strcmp(schema, POLICY_SCHEMA) != 0)
        return err_set(err, EINVAL, "policy: schema is '%s', expected '" POLICY_SCHEMA "'",
                       schema ? schema : "missing");
    *p = *policy_default();
    if (based_on && (!base || !policy_named(base)))
        return err_set(err, EINVAL, "policy: based_on '%s' is no policy", base ? base : "?");
    if (base)
        *p = *policy_named(base);
    p->name = "unnamed";
    return 0;
}

int policy_parse(json_t *json, const char *where, struct arena *arena, struct policy *ret_policy,
                 struct err *err)
{
    struct policy p;
    int r = read_base(json, &p, err);

    if (r == 0)
        r = read_policy(json, arena, &p, err);
    if (r < 0)
        return err_set(err, -r, "'%s': %s", where, arena_strdup(arena, err->text));
    *ret_policy = p;
    return 0;
}

int policy_read(const char *path, struct arena *arena, struct policy *ret_policy, struct err *err)
{
    json_t *root;
    int r;

    if (!strchr(path, '/') && policy_named(path)) {
        *ret_policy = *policy_named(path);
        return 0;
    }
    if ((r = json_read_file(path, MAX_POLICY_BYTES, &root, err)) < 0)
        return r == -ENOENT && !strchr(path, '/')
                   ? err_set(err, ENOENT,
                             "'%s': neither a policy ('stormlint policies' lists them) "
                             "nor a file",
                             path)
                   : r;
    r = policy_parse(root, path, arena, ret_policy, err);
    json_decref(root);
    return r;
}

/* ---- in plans */

static json_t *packages_json(const struct policy *p)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < p->n_packages; i++) {
        json_t *row = json_object();

        json_put_text(row, "pname", p->package[i].pname);
        json_put_text(row, "strategy", p->package[i].strategy);
        if (p->package[i].scope)
            json_put_text(row, "scope", p->package[i].scope);
        json_put_text(row, "reason", p->package[i].reason);
        json_push(array, row);
    }
    return array;
}

json_t *policy_json(const struct policy *policy)
{
    json_t *out = json_object();
    const struct member_row *row;

    json_put_text(out, "name", policy->name);
    json_put_text(out, "reader", policy->resolver ? RESOLVER : reader_name(policy->reader));
    if (policy->resolver)
        json_put_text(out, "resolver", policy->resolver);
    for_each (row, members) {
        const void *at = member_in(policy, row->at);
        const char *const *texts;

        if (row->kind == MEMBER_BOOL)
            json_put(out, row->key, json_boolean(*(const bool *)at));
        else if (row->kind == MEMBER_COUNT)
            json_put_int(out, row->key, *(const uint32_t *)at);
        else if ((texts = *(const char *const *const *)at))
            json_put(out, row->key,
                     json_texts(texts, *(const size_t *)member_in(policy, row->count)));
        else
            json_put(out, row->key, json_null());
    }
    json_put(out, "packages", packages_json(policy));
    json_put(out, "rules", danger_list_json(policy->danger));
    return out;
}

int policy_of_plan(const char *text, struct arena *arena, struct policy *ret_policy,
                   struct err *err)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    int r;

    if (!root)
        return err_set(err, EINVAL, "the plan's policy is no JSON");
    json_put_text(root, "schema", POLICY_SCHEMA);
    r = policy_parse(root, "the plan's policy", arena, ret_policy, err);
    json_decref(root);
    return r;
}
