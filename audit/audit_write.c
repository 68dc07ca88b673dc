/*
 * Writing audits.
 *
 *	{"schema": "stormlint-audit/1", "name", "time", "version", "model", "cpu", "source", ...}
 *	{"kind": "package", "key", "version", "path"}
 *	{"kind": "program", "key", "version", "path", "loader", "exit", "storm", "plan"}
 *	{"kind": "plan", "plan": {"schema": "stormlint-plan/1", ...}}
 *	{"kind": "finding", "rule", "code", "severity", "identity", ...}
 *	... and of a package whose origin is known: "attribute", "maintainers", "position"
 *	{"kind": "end", "packages": N, "programs": N, "plans": N, "findings": N}
 */
#include "audit/audit.h"

#include "loader/trace.h"

#include <errno.h>
#include <string.h>

static json_t *header_json(const struct audit *a)
{
    json_t *out = json_object();

    json_put_text(out, "schema", AUDIT_SCHEMA);
    json_put_text(out, "name", a->name);
    json_put_text(out, "time", a->time);
    json_put_text(out, "version", a->version);
    json_put_int(out, "model", a->model);
    json_put_text(out, "cpu", a->cpu);
    json_put_text(out, "policy", a->policy);
    json_put_text(out, "source", a->source);
    json_put(out, "roots", json_texts(a->root, a->n_roots));
    json_put(out, "unasked", json_texts(a->unasked, a->n_unasked));
    json_put_int(out, "probe_budget", a->probe_budget);
    json_put(out, "incomplete", json_boolean(a->incomplete));
    return out;
}

/* Of what is not known there is no word. */

static json_t *package_json(const struct audit_package *p)
{
    json_t *out = json_object();

    json_put_text(out, "kind", "package");
    json_put_text(out, "key", p->key);
    json_put_text(out, "version", p->version);
    json_put_text(out, "path", p->path);
    origin_put_known(out, p->origin);
    return out;
}

static json_t *plan_json(const struct audit_plan *plan)
{
    json_t *out = json_object(), *lost = json_array();

    json_put_text(out, "strategy", plan->strategy);
    json_put_text(out, "scope", plan->scope);
    json_put_text(out, "rule", plan->rule);
    json_put_text(out, "reason", plan->reason);
    json_put(out, "after", storm_json(&plan->after));
    for (size_t i = 0; i < plan->n_lost; i++) {
        const struct audit_lost *l = &plan->lost[i];
        json_t *item = json_object();

        json_put_text(item, "strategy", l->strategy);
        json_put_text(item, "scope", l->scope);
        json_put_text(item, "standing", l->standing);
        json_put_text(item, "rule", l->rule);
        json_put_text(item, "reason", l->reason);
        json_push(lost, item);
    }
    json_put(out, "lost", lost);
    return out;
}

static json_t *program_json(const struct audit_program *p)
{
    json_t *out = json_object();

    json_put_text(out, "kind", "program");
    json_put_text(out, "key", p->key);
    json_put_text(out, "version", p->version);
    json_put_text(out, "path", p->path);
    json_put_text(out, "loader", p->loader);
    json_put_text(out, "exit", p->exit);
    json_put(out, "storm", storm_json(&p->storm));
    json_put(out, "plan", p->plan ? plan_json(p->plan) : json_null());
    origin_put_known(out, p->origin);
    return out;
}

static json_t *finding_line(const struct audit_finding *f)
{
    json_t *out = json_object();

    json_put_text(out, "kind", "finding");
    json_put_text(out, "rule", f->rule);
    json_put_text(out, "code", f->code);
    json_put_text(out, "severity", severity_name(f->severity));
    json_put_text(out, "confidence", f->confidence);
    json_put_text(out, "identity", f->identity);
    json_put_text(out, "message", f->message);
    json_put_text(out, "fix", f->fix);
    json_put_text(out, "path", f->path);
    json_put_text(out, "package", f->package);
    json_put_text(out, "standing", f->standing);
    json_put(out, "evidence", json_texts(f->evidence, f->n_evidence));
    origin_put_known(out, f->origin);
    return out;
}

static json_t *end_json(const struct audit *a)
{
    json_t *out = json_object();

    json_put_text(out, "kind", "end");
    json_put_int(out, "packages", (int64_t)a->n_packages);
    json_put_int(out, "programs", (int64_t)a->n_programs);
    json_put_int(out, "plans", (int64_t)a->n_plans);
    json_put_int(out, "findings", (int64_t)a->n_findings);
    return out;
}

/* Takes the reference. */
static int print(json_t *line, FILE *to, struct err *err)
{
    const int r = json_print(line, to, false, err);

    json_decref(line);
    return r;
}

int audit_write(const struct audit *audit, FILE *to, struct err *err)
{
    int r = print(header_json(audit), to, err);

    for (size_t i = 0; i < audit->n_packages && r == 0; i++)
        r = print(package_json(&audit->package[i]), to, err);
    for (size_t i = 0; i < audit->n_programs && r == 0; i++)
        r = print(program_json(&audit->program[i]), to, err);
    for (size_t i = 0; i < audit->n_plans && r == 0; i++)
        if (fprintf(to, "{\"kind\":\"plan\",\"plan\":%s}\n", audit->plan[i]) < 0)
            r = err_set(err, errno, "cannot write: %s", strerror(errno));
    for (size_t i = 0; i < audit->n_findings && r == 0; i++)
        r = print(finding_line(&audit->finding[i]), to, err);
    return r < 0 ? r : print(end_json(audit), to, err);
}
