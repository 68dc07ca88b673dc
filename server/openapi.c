/* The table of routes as OpenAPI 3.1. */
#include "server/route.h"

#include <stdlib.h>
#include <string.h>

extern const char api_schemas[]; /* server/schemas.json */

static json_t *ref(const char *schema)
{
    json_t *json = json_object();
    char text[100];

    (void)snprintf(text, sizeof(text), "#/components/schemas/%s", schema);
    json_put_text(json, "$ref", text);
    return json;
}

static json_t *content(const char *type, const char *schema)
{
    json_t *json = json_object(), *media = json_object();

    if (schema)
        json_put(media, "schema", ref(schema));
    json_put(json, type, media);
    return json;
}

/* What an answer may hold: one type with a schema, one without. */
static json_t *content_of(const struct route *route)
{
    json_t *json = content(route->type ? route->type : "application/json", route->schema);

    if (route->other_type)
        json_put(json, route->other_type, json_object());
    return json;
}

static json_t *param_schema(const struct param *p)
{
    static const char *const types[] = {
        [PARAM_TEXT] = "string", [PARAM_NUMBER] = "integer", [PARAM_BOOL] = "boolean"};
    json_t *json = json_object(), *words, *array;

    json_put_text(json, "type", types[p->kind]);
    if (p->words) {
        words = json_array();
        for (const char *const *w = p->words; *w; w++)
            json_push(words, json_text(*w));
        json_put(json, "enum", words);
    }
    if (p->kind == PARAM_NUMBER) {
        json_put_int(json, "minimum", (int64_t)p->min);
        json_put_int(json, "maximum", (int64_t)p->max);
    } else if (p->kind == PARAM_TEXT && !p->words) {
        json_put_int(json, "maxLength", p->max ? (int64_t)p->max : 4096);
    }
    if (p->usual && p->kind == PARAM_NUMBER)
        json_put_int(json, "default", strtoll(p->usual, NULL, 10));
    else if (p->usual)
        json_put_text(json, "default", p->usual);
    if (!p->repeats)
        return json;
    array = json_object();
    json_put_text(array, "type", "array");
    json_put(array, "items", json);
    return array;
}

static void put_param(json_t *array, const char *name, const char *in, const char *summary,
                      bool required, json_t *schema)
{
    json_t *json = json_object();

    json_put_text(json, "name", name);
    json_put_text(json, "in", in);
    json_put_text(json, "description", summary);
    json_put(json, "required", json_boolean(required));
    json_put(json, "schema", schema);
    json_push(array, json);
}

/* The names between the pattern's braces. */
static void put_segments(json_t *array, const char *pattern)
{
    const char *from, *to;
    char name[40];
    json_t *schema;

    for (; (from = strchr(pattern, '{')) && (to = strchr(from, '}')); pattern = to) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)(to - from - 1), from + 1);
        schema = json_object();
        json_put_text(schema, "type", "string");
        put_param(array, name, "path", "As lists give it", true, schema);
    }
}

static json_t *params_json(const struct route *route)
{
    json_t *array = json_array();

    put_segments(array, route->pattern);
    for (const struct param *p = route->params; p && p->name; p++)
        put_param(array, p->name, "query", p->summary, p->required, param_schema(p));
    return array;
}

static void put_response(json_t *responses, const char *code, const char *what, json_t *body)
{
    json_t *json = json_object();

    json_put_text(json, "description", what);
    if (body)
        json_put(json, "content", body);
    json_put(responses, code, json);
}

static json_t *problem(void)
{
    return content("application/problem+json", "Problem");
}

static json_t *responses_json(const struct route *route)
{
    const bool writes = route->flags & ROUTE_WRITE;
    json_t *json = json_object();

    if (writes && !route->schema)
        put_response(json, "204", "Done", NULL);
    else
        put_response(json, writes ? "202" : "200",
                     writes ? "A job was made, or ended" : "The answer", content_of(route));
    if (route->body_schema) {
        put_response(json, "200", "The audit was there already", content_of(route));
        put_response(json, "201", "The audit was taken in", content_of(route));
    }
    if (!writes && !(route->flags & ROUTE_FRESH))
        put_response(json, "304", "As it was when the client got its tag", NULL);
    put_response(json, "400", "A parameter is wrong; it is named", problem());
    if (strchr(route->pattern, '{'))
        put_response(json, "404", "There is no such thing", problem());
    if (writes) {
        put_response(json, "401", "The token is missing or wrong", problem());
        put_response(json, "403", "The service is read-only", problem());
        put_response(json, "409", "It has ended already", problem());
    }
    if (route->body_schema) {
        put_response(json, "413", "The body is too large", problem());
        put_response(json, "415", "The body is of another type", problem());
        put_response(json, "422", "The body says something impossible", problem());
        put_response(json, "507", "There is no room on the service's disk", problem());
    } else if (route->flags & ROUTE_SLOW) {
        put_response(json, "422", "It cannot be done with this program", problem());
    }
    if (!strcmp(route->id, "ready"))
        put_response(json, "503", "It is not, and why", content_of(route));
    else
        put_response(json, "503", "Not now; Retry-After says when", problem());
    return json;
}

static json_t *operation_json(const struct route *route)
{
    json_t *json = json_object(), *tags = json_array(), *body, *security, *one;

    json_push(tags, json_text(route->tag));
    json_put_text(json, "operationId", route->id);
    json_put_text(json, "summary", route->summary);
    json_put(json, "tags", tags);
    json_put(json, "parameters", params_json(route));
    if (route->body_schema) {
        body = json_object();
        json_put(body, "required", json_true());
        one = content("application/json", route->body_schema);
        json_put(one, "application/x-ndjson", json_object());
        json_put(body, "content", one);
        json_put(json, "requestBody", body);
    }
    if (route->flags & ROUTE_WRITE) {
        security = json_array();
        one = json_object();
        json_put(one, "token", json_array());
        json_push(security, one);
        json_put(json, "security", security);
    }
    json_put(json, "responses", responses_json(route));
    return json;
}

static void put_operation(json_t *paths, const struct route *route)
{
    json_t *path = json_object_get(paths, route->pattern);
    char method[16] = "";

    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)(route->method[i] | 0x20);
    if (!path) {
        path = json_object();
        json_put(paths, route->pattern, path);
    }
    json_put(path, method, operation_json(route));
}

static json_t *components_json(void)
{
    json_t *json = json_object(), *schemes = json_object(), *token = json_object();
    json_t *schemas = json_loads(api_schemas, JSON_REJECT_DUPLICATES, NULL);

    if (!schemas)
        abort(); /* our own text: a test reads it */
    json_put_text(token, "type", "http");
    json_put_text(token, "scheme", "bearer");
    json_put(schemes, "token", token);
    json_put(json, "schemas", schemas);
    json_put(json, "securitySchemes", schemes);
    return json;
}

json_t *openapi_json(void)
{
    json_t *json = json_object(), *info = json_object(), *paths = json_object();
    size_t n;
    const struct route *table = routes(&n);

    json_put_text(info, "title", "stormlint");
    json_put_text(info, "version", VERSION);
    json_put_text(info, "description",
                  "What the dynamic loader tries in vain when programs start, and what to do about "
                  "it. Bytes that are not printable UTF-8, and the backslash, are written \\xNN.");
    for (size_t i = 0; i < n; i++)
        if (!(table[i].flags & ROUTE_PAGE))
            put_operation(paths, &table[i]);
    json_put_text(json, "openapi", "3.1.0");
    json_put(json, "info", info);
    json_put(json, "paths", paths);
    json_put(json, "components", components_json());
    return json;
}
