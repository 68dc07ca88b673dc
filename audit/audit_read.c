/*
 * Reading audits: every line is checked, and the end must be there with the right counts.
 */
#include "audit/audit.h"

#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct audit *audit;
    struct arena *arena;
    const char *path;
    size_t line;
    bool ended;
    int (*each_plan)(void *data, json_t *plan, struct err *err); /* NULL: nobody asks */
    void *data;
    struct err *err;
};

static int broken(struct reading *r, const char *what)
{
    return err_set(r->err, EINVAL, "'%s', line %zu: %s", r->path, r->line, what);
}

/* ---- values */

static const char *text(struct reading *r, const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? str_unescape(r->arena, value) : NULL;
}

static uint32_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));

    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static size_t texts(struct reading *r, const json_t *list, const char ***ret)
{
    const size_t n = json_array_size(list);

    *ret = arena_calloc(r->arena, n + 1, sizeof(**ret));
    for (size_t i = 0; i < n; i++) {
        const char *value = json_string_value(json_array_get(list, i));

        (*ret)[i] = value ? str_unescape(r->arena, value) : "";
    }
    return n;
}

static struct storm storm_of(const json_t *o)
{
    return (struct storm){
        .opens = number(o, "opens"),
        .failed_opens = number(o, "failed_opens"),
        .stats = number(o, "stats"),
        .failed_stats = number(o, "failed_stats"),
        .others = number(o, "others"),
        .failed_others = number(o, "failed_others"),
        .objects = number(o, "objects"),
        .directories = number(o, "directories"),
    };
}

/* ---- lines */

static int read_header(struct reading *r, const json_t *line)
{
    const char *schema = json_string_value(json_object_get(line, "schema"));
    struct audit *a = r->audit;

    if (!schema || strcmp(schema, AUDIT_SCHEMA) != 0)
        return broken(r, "no header of schema " AUDIT_SCHEMA);
    a->name = text(r, line, "name");
    a->time = text(r, line, "time");
    a->version = text(r, line, "version");
    a->cpu = text(r, line, "cpu");
    a->policy = text(r, line, "policy");
    a->source = text(r, line, "source");
    a->n_roots = texts(r, json_object_get(line, "roots"), &a->root);
    a->n_unasked = texts(r, json_object_get(line, "unasked"), &a->unasked);
    a->model = number(line, "model");
    a->probe_budget = number(line, "probe_budget");
    a->incomplete = json_is_true(json_object_get(line, "incomplete"));
    if (!a->name || !a->time || !a->cpu)
        return broken(r, "the header lacks name, time or cpu");
    return 0;
}

static int read_package(struct reading *r, const json_t *line)
{
    const struct audit_package p = {
        .key = text(r, line, "key"),
        .version = text(r, line, "version"),
        .path = text(r, line, "path"),
        .origin = origin_get(line, r->arena),
    };
    struct audit *a = r->audit;

    if (!p.key || !p.version)
        return broken(r, "a package without key or version");
    a->package = arena_grow(r->arena, a->package, a->n_packages, sizeof(*a->package));
    a->package[a->n_packages++] = p;
    return 0;
}

static struct audit_plan *read_plan(struct reading *r, const json_t *json)
{
    struct audit_plan *plan;
    const json_t *list = json_object_get(json, "lost");

    if (!json_is_object(json))
        return NULL;
    plan = arena_alloc(r->arena, sizeof(*plan));
    plan->strategy = text(r, json, "strategy");
    plan->scope = text(r, json, "scope");
    plan->rule = text(r, json, "rule");
    plan->reason = text(r, json, "reason");
    plan->after = storm_of(json_object_get(json, "after"));
    plan->n_lost = json_array_size(list);
    plan->lost = arena_calloc(r->arena, plan->n_lost + 1, sizeof(*plan->lost));
    for (size_t i = 0; i < plan->n_lost; i++) {
        const json_t *item = json_array_get(list, i);

        plan->lost[i] = (struct audit_lost){text(r, item, "strategy"), text(r, item, "scope"),
                                            text(r, item, "standing"), text(r, item, "rule"),
                                            text(r, item, "reason")};
    }
    return plan;
}

static int read_program(struct reading *r, const json_t *line)
{
    const struct audit_program p = {
        .key = text(r, line, "key"),
        .version = text(r, line, "version"),
        .path = text(r, line, "path"),
        .loader = text(r, line, "loader"),
        .exit = text(r, line, "exit"),
        .storm = storm_of(json_object_get(line, "storm")),
        .plan = read_plan(r, json_object_get(line, "plan")),
        .origin = origin_get(line, r->arena),
    };
    struct audit *a = r->audit;

    if (!p.key || !p.version || !p.exit || !json_is_object(json_object_get(line, "storm")))
        return broken(r, "a program without key, version, exit or storm");
    if (p.plan && (!p.plan->strategy || !p.plan->scope))
        return broken(r, "a plan without strategy or scope");
    a->program = arena_grow(r->arena, a->program, a->n_programs, sizeof(*a->program));
    a->program[a->n_programs++] = p;
    return 0;
}

static int read_plan_line(struct reading *r, const json_t *line)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    json_t *json = json_object_get(line, "plan");
    struct plan plan;
    struct err why;

    if (!json_is_object(json))
        return broken(r, "a plan line without a plan");
    r->audit->n_plans++;
    if (!r->each_plan)
        return 0;
    if (plan_parse(json, arena_printf(&scratch, "%s:%zu", r->path, r->line), &scratch, &plan,
                   &why) < 0)
        return err_set(r->err, EINVAL, "%s", why.text);
    return r->each_plan(r->data, json, r->err);
}

static int read_finding(struct reading *r, const json_t *line)
{
    const char *severity = json_string_value(json_object_get(line, "severity"));
    struct audit_finding f = {
        .rule = text(r, line, "rule"),
        .code = text(r, line, "code"),
        .confidence = text(r, line, "confidence"),
        .identity = text(r, line, "identity"),
        .message = text(r, line, "message"),
        .fix = text(r, line, "fix"),
        .path = text(r, line, "path"),
        .package = text(r, line, "package"),
        .standing = text(r, line, "standing"),
        .origin = origin_get(line, r->arena),
    };
    struct audit *a = r->audit;

    f.n_evidence = texts(r, json_object_get(line, "evidence"), &f.evidence);
    if (!f.rule || !f.code || !f.identity || !f.message || !severity ||
        !severity_find(severity, &f.severity))
        return broken(r, "a finding without rule, identity, message or severity");
    a->finding = arena_grow(r->arena, a->finding, a->n_findings, sizeof(*a->finding));
    a->finding[a->n_findings++] = f;
    return 0;
}

static int read_end(struct reading *r, const json_t *line)
{
    const struct audit *a = r->audit;

    if (number(line, "packages") != a->n_packages || number(line, "programs") != a->n_programs ||
        number(line, "plans") != a->n_plans || number(line, "findings") != a->n_findings)
        return broken(r, "the counts at the end are not those of the lines: lines are missing");
    r->ended = true;
    return 0;
}

static const struct {
    const char *kind;
    int (*read)(struct reading *reading, const json_t *line);
} kinds[] = {
    {"package", read_package}, {"program", read_program}, {"plan", read_plan_line},
    {"finding", read_finding}, {"end", read_end},
};

static int read_line(struct reading *r, const char *bytes, size_t len)
{
    json_error_t why;
    json_t *line = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    int code = -1;

    if (!line)
        return broken(r, why.text);
    if (r->ended)
        code = broken(r, "something follows the end");
    else if (r->line == 1)
        code = read_header(r, line);
    else
        for (size_t i = 0; i < ARRAY_LEN(kinds) && code == -1; i++)
            if (kind && !strcmp(kinds[i].kind, kind))
                code = kinds[i].read(r, line);
    json_decref(line);
    return code == -1 ? broken(r, "a line of an unknown kind") : code;
}

static int read_lines(struct reading *r, FILE *file)
{
    char *bytes = NULL;
    size_t size = 0;
    ssize_t len;
    int code = 0;

    while (code == 0 && (len = getline(&bytes, &size, file)) > 0) {
        r->line++;
        if (bytes[len - 1] != '\n')
            code = broken(r, "the line is cut off");
        else
            code = read_line(r, bytes, (size_t)len);
    }
    free(bytes);
    if (code == 0 && ferror(file))
        code = err_set(r->err, EIO, "'%s': cannot be read", r->path);
    if (code == 0 && !r->ended)
        code = err_set(r->err, EINVAL, "'%s': its end is missing: the file is cut off", r->path);
    return code;
}

static int read_file(struct reading *reading)
{
    FILE *file = fopen(reading->path, "re");
    int r;

    if (!file)
        return err_set(reading->err, errno, "'%s': %s", reading->path, strerror(errno));
    r = read_lines(reading, file);
    (void)fclose(file);
    return r;
}

int audit_read_plans(const char *path, int (*each)(void *data, json_t *plan, struct err *err),
                     void *data, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct audit audit = {0};
    struct reading reading = {.audit = &audit,
                              .arena = &arena,
                              .path = path,
                              .each_plan = each,
                              .data = data,
                              .err = err};

    return read_file(&reading);
}

int audit_read(const char *path, struct arena *arena, struct audit *ret_audit, struct err *err)
{
    struct audit audit = {0};
    struct reading reading = {.audit = &audit, .arena = arena, .path = path, .err = err};
    const int r = read_file(&reading);

    if (r == 0)
        *ret_audit = audit;
    return r;
}

bool audit_is_one(const char *path)
{
    char head[sizeof("{\"schema\":\"" AUDIT_SCHEMA)] = "";
    FILE *file = fopen(path, "re");
    size_t n = 0;

    if (file) {
        n = fread(head, 1, sizeof(head) - 1, file);
        (void)fclose(file);
    }
    return n == sizeof(head) - 1 && !strcmp(head, "{\"schema\":\"" AUDIT_SCHEMA);
}
