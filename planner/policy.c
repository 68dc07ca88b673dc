#include "planner/policy.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

#define POLICY_SCHEMA "stormlint-policy/1"

enum { MAX_POLICY_BYTES = 1 << 20 };

static const char *default_stores[] = {"/nix/store", "/gnu/store"};

static const struct policy defaults = {
    .name = "default",
    .overrides = true,
    .small_graph = 5,
    .min_saving = 20,
    .reader_saving = 30,
    .lift_saving = 20,
    .store = default_stores,
    .n_stores = ARRAY_LEN(default_stores),
};

static const char *const reader_names[] = {
    [READER_NONE] = "none",
    [READER_A] = "glibc-a",
    [READER_B] = "glibc-b",
};

/* Not one of the loader's: an audit module beside it. */
static const char reader_resolver[] = "resolver";

const struct policy *policy_default(void)
{
    return &defaults;
}

const char *reader_name(enum note_reader reader)
{
    return reader_names[reader];
}

static int find_reader(const char *name, enum note_reader *ret_reader)
{
    size_t i;

    for (i = 0; i < ARRAY_LEN(reader_names); i++)
        if (!strcmp(reader_names[i], name)) {
            *ret_reader = (enum note_reader)i;
            return 0;
        }
    return -EINVAL;
}

static int read_paths(json_t *array, const char *key, struct arena *arena, const char ***ret_path,
                      size_t *ret_n, struct err *err)
{
    const char **path;
    json_t *value;
    size_t i;

    if (!array || json_is_null(array))
        return 0;
    path = arena_calloc(arena, json_array_size(array) + 1, sizeof(*path));
    json_array_foreach (array, i, value) {
        if (!json_is_string(value) || json_string_value(value)[0] != '/')
            return err_set(err, EINVAL, "policy: '%s' must be a list of absolute paths", key);
        path[i] = str_unescape(arena, json_string_value(value));
    }
    *ret_path = path;
    *ret_n = i;
    return 0;
}

int policy_parse(json_t *json, const char *where, struct arena *arena, struct policy *ret_policy,
                 struct err *err)
{
    struct policy p = defaults;
    const char *schema = NULL, *name = NULL, *cpu = NULL, *reader = "none", *resolver;
    json_t *store = NULL, *allowed = NULL, *disallowed = NULL, *library = NULL;
    int overrides = p.overrides, absolute = p.absolute, cautious = p.cautious;
    int interpreters = p.interpreters, renew = p.renew, worth = (int)p.reader_saving;
    int small = (int)p.small_graph, saving = (int)p.min_saving, lift = (int)p.lift_saving;
    json_error_t bad;
    int r;

    if (json_unpack_ex(
            json, &bad, JSON_STRICT,
            "{s:s, s?s, s?s, s?s, s?o, s?b, s?b, s?i, s?b, s?b, s?b, s?i, s?i, s?i, s?o, "
            "s?o, s?o}",
            "schema", &schema, "name", &name, "cpu", &cpu, "reader", &reader, "resolver", &library,
            "interpreters", &interpreters, "renew", &renew, "reader_saving", &worth, "overrides",
            &overrides, "absolute", &absolute, "cautious", &cautious, "small_graph", &small,
            "min_saving", &saving, "lift_saving", &lift, "stores", &store, "allowed_references",
            &allowed, "disallowed_references", &disallowed))
        return err_set(err, EINVAL, "'%s': not a policy: %s", where, bad.text);
    if (strcmp(schema, POLICY_SCHEMA) != 0)
        return err_set(err, EINVAL, "'%s': schema is '%s', expected '" POLICY_SCHEMA "'", where,
                       schema);
    if (strcmp(reader, reader_resolver) == 0) {
        resolver = library ? json_string_value(library) : NULL;
        if (!resolver || *resolver != '/')
            return err_set(err, EINVAL,
                           "'%s': reader 'resolver' wants its library's absolute path "
                           "as 'resolver'",
                           where);
        p.resolver = str_unescape(arena, resolver);
    } else if (find_reader(reader, &p.reader) < 0) {
        return err_set(err, EINVAL, "'%s': reader '%s' is none of none, glibc-a, glibc-b, resolver",
                       where, reader);
    }
    if (small < 0 || saving < 0 || lift < 0 || worth < 0)
        return err_set(err, EINVAL, "'%s': a threshold is negative", where);
    p.name = str_unescape(arena, name ? name : "unnamed");
    p.cpu = cpu ? arena_strdup(arena, cpu) : NULL;
    p.interpreters = interpreters;
    p.renew = renew;
    p.reader_saving = (uint32_t)worth;
    p.overrides = overrides;
    p.absolute = absolute;
    p.cautious = cautious;
    p.small_graph = (uint32_t)small;
    p.min_saving = (uint32_t)saving;
    p.lift_saving = (uint32_t)lift;
    r = read_paths(store, "stores", arena, &p.store, &p.n_stores, err);
    if (r == 0)
        r = read_paths(allowed, "allowed_references", arena, &p.allowed, &p.n_allowed, err);
    if (r == 0)
        r = read_paths(disallowed, "disallowed_references", arena, &p.disallowed, &p.n_disallowed,
                       err);
    if (r == 0)
        *ret_policy = p;
    return r;
}

int policy_read(const char *path, struct arena *arena, struct policy *ret_policy, struct err *err)
{
    json_t *root;
    int r = json_read_file(path, MAX_POLICY_BYTES, &root, err);

    if (r < 0)
        return r;
    r = policy_parse(root, path, arena, ret_policy, err);
    json_decref(root);
    return r;
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

static json_t *paths_json(const char *const *path, size_t n)
{
    json_t *array = path ? json_array() : json_null();
    size_t i;

    for (i = 0; path && i < n; i++)
        json_push(array, json_text(path[i]));
    return array;
}

json_t *policy_json(const struct policy *policy)
{
    json_t *out = json_object();

    json_put_text(out, "name", policy->name);
    json_put_text(out, "reader", policy->resolver ? reader_resolver : reader_name(policy->reader));
    json_put_text(out, "resolver", policy->resolver);
    json_put(out, "interpreters", json_boolean(policy->interpreters));
    json_put(out, "renew", json_boolean(policy->renew));
    json_put_int(out, "reader_saving", policy->reader_saving);
    json_put(out, "overrides", json_boolean(policy->overrides));
    json_put(out, "absolute", json_boolean(policy->absolute));
    json_put(out, "cautious", json_boolean(policy->cautious));
    json_put_int(out, "small_graph", policy->small_graph);
    json_put_int(out, "min_saving", policy->min_saving);
    json_put_int(out, "lift_saving", policy->lift_saving);
    json_put(out, "stores", paths_json(policy->store, policy->n_stores));
    json_put(out, "allowed_references", paths_json(policy->allowed, policy->n_allowed));
    json_put(out, "disallowed_references", paths_json(policy->disallowed, policy->n_disallowed));
    return out;
}

const char *policy_package(const struct policy *policy, struct arena *arena, const char *path)
{
    size_t i, len;

    for (i = 0; i < policy->n_stores; i++) {
        len = strlen(policy->store[i]);
        if (!strncmp(path, policy->store[i], len) && path[len] == '/' && path[len + 1] &&
            path[len + 1] != '/')
            return arena_strndup(arena, path, len + 1 + strcspn(path + len + 1, "/"));
    }
    return NULL;
}
