/* The planner's tables. */
#include "server/api.h"

#include "planner/criteria.h"
#include "planner/decide.h"
#include "planner/gates.h"

static json_t *criteria_json(void)
{
    json_t *array = json_array();

    for (size_t i = 0; i < N_CRITERIA; i++) {
        const struct criterion *c = &criteria()[i];
        json_t *one = json_object();

        json_put_text(one, "id", c->id);
        json_put_text(one, "question", c->question);
        json_put(one, "overrides", json_boolean(c->required == REQUIRED_OVERRIDE));
        json_push(array, one);
    }
    return array;
}

static json_t *methods_json(unsigned bits)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < N_METHODS; i++) {
        const struct strategy *s = strategy_of((enum method)i);
        json_t *one;

        if (!(bits & METHOD_BIT(i)))
            continue;
        one = json_object();
        json_put_text(one, "strategy", s->name);
        json_put_text(one, "scope", scope_name(s->scope));
        json_push(array, one);
    }
    return array;
}

static json_t *strategies_json(void)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < N_METHODS; i++) {
        const struct strategy *s = strategy_of((enum method)i);
        json_t *one = json_object();

        json_put_text(one, "strategy", s->name);
        json_put_text(one, "scope", scope_name(s->scope));
        json_put_text(one, "summary", s->summary);
        json_put_text(one, "needs", s->needs);
        json_push(array, one);
    }
    return array;
}

static json_t *gates_json(void)
{
    json_t *array = json_array();

    for (const struct gate *g = gates(); g->id; g++) {
        json_t *one = json_object();

        json_put_text(one, "id", g->id);
        json_put_text(one, "question", g->question);
        json_put(one, "methods", methods_json(g->methods));
        json_push(array, one);
    }
    return array;
}

static json_t *branches_json(void)
{
    json_t *array = json_array();

    for (const struct branch *b = branches(); b->id; b++) {
        json_t *one = json_object();

        json_put_text(one, "id", b->id);
        json_put_text(one, "text", b->text);
        json_push(array, one);
    }
    return array;
}

int list_criteria(struct query *query, struct reply *reply, struct err *err)
{
    (void)err;
    reply->json = json_object();
    json_put(reply->json, "criteria", criteria_json());
    json_put(reply->json, "strategies", strategies_json());
    json_put(reply->json, "gates", gates_json());
    json_put(reply->json, "branches", branches_json());
    json_put(reply->json, "policy", policy_json(&query->snapshot->policy));
    return 0;
}

int list_policies(struct query *query, struct reply *reply, struct err *err)
{
    json_t *items = json_array();

    (void)query;
    (void)err;
    for (const struct named_policy *row = policies(); row->summary; row++) {
        json_t *one = json_object();

        json_put_text(one, "name", row->policy.name);
        json_put_text(one, "summary", row->summary);
        json_put(one, "policy", policy_json(&row->policy));
        json_push(items, one);
    }
    reply->json = json_object();
    json_put(reply->json, "items", items);
    return 0;
}
