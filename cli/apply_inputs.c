#include "cli/apply_inputs.h"

#include "base/json.h"
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <string.h>

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
    if (json_is_string(value))
        return inputs_plan_file(inputs, arena, str_unescape(arena, json_string_value(value)), err);
    if (json_is_object(value))
        return plan_parse(value, "stormlintPlan", arena, add_plan(inputs, arena), err);
    return err_set(err, EINVAL, "stormlintPlan is neither a path nor a plan nor a list of them");
}

static int read_plans(struct apply_inputs *inputs, struct arena *arena, json_t *value,
                      struct err *err)
{
    int r = 0;

    if (!json_is_array(value))
        return read_plan(inputs, arena, value, err);
    for (size_t i = 0; i < json_array_size(value) && r == 0; i++)
        r = read_plan(inputs, arena, json_array_get(value, i), err);
    return r;
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

struct outputs {
    struct arena *arena;
    struct apply_output *item;
    size_t n;
};

static const char *path_of(const struct outputs *outputs, const char *word)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (strcmp(outputs->item[i].name, word) == 0)
            return outputs->item[i].dir;
    return arena_strdup(outputs->arena, word);
}

struct references {
    const char ***list;
    size_t *n;
};

static struct references references_of(struct apply_output *output, bool allowed)
{
    return allowed ? (struct references){&output->allowed, &output->n_allowed}
                   : (struct references){&output->disallowed, &output->n_disallowed};
}

/* `word` NULL: only make the list, so that an empty one differs from none. */
static void add_reference(const struct outputs *outputs, struct references to, const char *word)
{
    *to.list = arena_grow(outputs->arena, *to.list, *to.n, sizeof(**to.list));
    if (word)
        (*to.list)[(*to.n)++] = path_of(outputs, word);
}

void inputs_references(struct arena *arena, const char *text, bool allowed,
                       struct apply_output *output, size_t n_outputs)
{
    const struct outputs outputs = {arena, output, n_outputs};

    for (size_t i = 0; i < n_outputs; i++) {
        const struct references to = references_of(&output[i], allowed);
        char *copy = arena_strdup(arena, text), *save = NULL;

        add_reference(&outputs, to, NULL);
        for (char *word = strtok_r(copy, " \t\n", &save); word;
             word = strtok_r(NULL, " \t\n", &save))
            add_reference(&outputs, to, word);
    }
}

static int read_references(const struct outputs *outputs, const json_t *words, struct references to,
                           struct err *err)
{
    const json_t *word;
    size_t i;

    if (!words || json_is_null(words))
        return 0;
    if (!json_is_array(words))
        return err_set(err, EINVAL, "outputChecks: references are no list");
    add_reference(outputs, to, NULL);
    json_array_foreach (words, i, word) {
        if (!json_is_string(word))
            return err_set(err, EINVAL, "outputChecks: references hold something else than texts");
        add_reference(outputs, to, json_string_value(word));
    }
    return 0;
}

static int read_checks(const struct outputs *outputs, const json_t *checks, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < outputs->n && r == 0; i++) {
        struct apply_output *o = &outputs->item[i];
        const json_t *check = json_object_get(checks, o->name);

        r = read_references(outputs, json_object_get(check, "allowedReferences"),
                            references_of(o, true), err);
        if (r == 0)
            r = read_references(outputs, json_object_get(check, "disallowedReferences"),
                                references_of(o, false), err);
    }
    return r;
}

int inputs_attrs(struct apply_inputs *inputs, struct arena *arena, const char *path,
                 struct apply_output *output, size_t n_outputs, struct err *err)
{
    const struct outputs outputs = {arena, output, n_outputs};
    json_t *root, *plan, *policy;
    int r = json_read_file(path, SIZE_MAX, &root, err);

    if (r < 0)
        return r;
    plan = json_object_get(root, "stormlintPlan");
    policy = json_object_get(root, "stormlintPolicy");
    if (plan && !json_is_null(plan))
        r = read_plans(inputs, arena, plan, err);
    if (r == 0 && policy && !json_is_null(policy))
        r = read_policy(inputs, arena, policy, err);
    if (r == 0)
        r = read_checks(&outputs, json_object_get(root, "outputChecks"), err);
    json_decref(root);
    return r;
}
