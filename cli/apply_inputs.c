#include "cli/apply_inputs.h"

#include "base/json.h"
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <string.h>

enum { MAX_ATTRS_BYTES = 256 << 20 };

/* ---- plans */

static struct plan *add_plan(struct apply_inputs *inputs, struct arena *arena)
{
    inputs->plan = arena_grow(arena, inputs->plan, inputs->n_plans, sizeof(*inputs->plan));
    return &inputs->plan[inputs->n_plans++];
}

int inputs_plan_file(struct apply_inputs *inputs, struct arena *arena, const char *path,
                     struct err *err)
{
    return plan_read(path, arena, add_plan(inputs, arena), err);
}

static int read_plan(struct apply_inputs *inputs, struct arena *arena, json_t *value,
                     struct err *err)
{
    json_t *item;
    size_t i;

    if (json_is_string(value))
        return inputs_plan_file(inputs, arena, str_unescape(arena, json_string_value(value)), err);
    if (json_is_object(value))
        return plan_parse(value, "stormlintPlan", arena, add_plan(inputs, arena), err);
    if (!json_is_array(value))
        return err_set(err, EINVAL, "stormlintPlan is neither a path nor a plan nor a list");
    json_array_foreach (value, i, item) {
        int r = json_is_array(item) ? -EINVAL : read_plan(inputs, arena, item, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int read_policy(struct apply_inputs *inputs, struct arena *arena, json_t *value,
                       struct err *err)
{
    struct policy *policy = arena_alloc(arena, sizeof(*policy));
    int r;

    if (json_is_string(value))
        r = policy_read(str_unescape(arena, json_string_value(value)), arena, policy, err);
    else
        r = policy_parse(value, "stormlintPolicy", arena, policy, err);
    if (r == 0)
        inputs->policy = policy;
    return r;
}

/* ---- references */

static const char *path_of(const char *word, const struct apply_output *output, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(output[i].name, word) == 0)
            return output[i].dir;
    return word;
}

/* Both lists are made here, so that an empty one differs from none. */
static void add_reference(struct arena *arena, const char ***list, size_t *n, const char *path)
{
    *list = arena_grow(arena, *list, *n, sizeof(**list));
    if (path)
        (*list)[(*n)++] = path;
}

void inputs_references(struct arena *arena, const char *text, bool allowed,
                       struct apply_output *output, size_t n_outputs)
{
    for (size_t i = 0; i < n_outputs; i++) {
        const char ***list = allowed ? &output[i].allowed : &output[i].disallowed;
        size_t *n = allowed ? &output[i].n_allowed : &output[i].n_disallowed;
        char *copy = arena_strdup(arena, text), *save = NULL;

        add_reference(arena, list, n, NULL);
        for (char *word = strtok_r(copy, " \t\n", &save); word;
             word = strtok_r(NULL, " \t\n", &save))
            add_reference(arena, list, n, path_of(word, output, n_outputs));
    }
}

static int read_references(struct arena *arena, const json_t *words, const char *key,
                           const char ***list, size_t *n, const struct apply_output *output,
                           size_t n_outputs, struct err *err)
{
    const json_t *word;
    size_t i;

    if (!words || json_is_null(words))
        return 0;
    if (!json_is_array(words))
        return err_set(err, EINVAL, "outputChecks: %s is no list", key);
    add_reference(arena, list, n, NULL);
    json_array_foreach (words, i, word) {
        if (!json_is_string(word))
            return err_set(err, EINVAL, "outputChecks: %s holds something else than texts", key);
        add_reference(arena, list, n,
                      path_of(arena_strdup(arena, json_string_value(word)), output, n_outputs));
    }
    return 0;
}

static int read_checks(struct arena *arena, const json_t *checks, struct apply_output *output,
                       size_t n_outputs, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < n_outputs && r == 0; i++) {
        struct apply_output *o = &output[i];
        const json_t *check = json_object_get(checks, o->name);

        r = read_references(arena, json_object_get(check, "allowedReferences"), "allowedReferences",
                            &o->allowed, &o->n_allowed, output, n_outputs, err);
        if (r == 0)
            r = read_references(arena, json_object_get(check, "disallowedReferences"),
                                "disallowedReferences", &o->disallowed, &o->n_disallowed, output,
                                n_outputs, err);
    }
    return r;
}

int inputs_attrs(struct apply_inputs *inputs, struct arena *arena, const char *path,
                 struct apply_output *output, size_t n_outputs, struct err *err)
{
    json_t *root, *plan, *policy;
    int r = json_read_file(path, MAX_ATTRS_BYTES, &root, err);

    if (r < 0)
        return r;
    plan = json_object_get(root, "stormlintPlan");
    policy = json_object_get(root, "stormlintPolicy");
    if (plan && !json_is_null(plan))
        r = read_plan(inputs, arena, plan, err);
    if (r == 0 && policy && !json_is_null(policy))
        r = read_policy(inputs, arena, policy, err);
    if (r == 0)
        r = read_checks(arena, json_object_get(root, "outputChecks"), output, n_outputs, err);
    json_decref(root);
    return r;
}
