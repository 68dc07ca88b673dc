/* Plans that are written already, and what is found out later. */
#include "planner/plan_json.h"

#include <string.h>

static json_t *object_of(json_t *plan, size_t n)
{
    return json_array_get(json_object_get(plan, "objects"), n);
}

void plan_json_started(json_t *plan, size_t object, const struct storm *own_package,
                       const struct storm *whole_closure)
{
    json_t *o = object_of(plan, object);

    json_put(o, "own_package", storm_json(own_package));
    json_put(o, "whole_closure", storm_json(whole_closure));
}

static bool is(const json_t *object, const char *key, const char *word)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && !strcmp(text, word);
}

static void say(json_t *object, const char *rule, const char *reason)
{
    json_put_text(object, "rule", rule);
    json_put_text(object, "reason", reason);
}

/* The level of the plan's CPU; null: it was not judged. */
static json_t *level_of(const json_t *plan, const json_t *option)
{
    const char *cpu = json_string_value(json_object_get(plan, "cpu"));
    json_t *level;
    size_t i;

    json_array_foreach (json_object_get(option, "storm"), i, level)
        if (cpu && is(level, "cpu", cpu))
            return json_incref(level);
    return json_null();
}

void plan_json_take_back(json_t *plan, size_t object, const char *rule, const char *reason)
{
    json_t *o = object_of(plan, object), *option;
    size_t i;

    say(o, rule, reason);
    json_put_text(o, "strategy", strategy_none.name);
    json_put_text(o, "scope", scope_name(strategy_none.scope));
    json_put(o, "edits", json_array());
    json_put(json_object_get(o, "evidence"), "edits", json_array());
    json_array_foreach (json_object_get(o, "options"), i, option) {
        const bool none = is(option, "strategy", strategy_none.name);

        if (!none && !is(option, "standing", "chosen"))
            continue;
        say(option, rule, reason);
        json_put_text(option, "standing", none ? "chosen" : "lost");
        if (none)
            json_put(o, "storm", level_of(plan, option));
    }
}
