#include "linter/format.h"

#include "scanner/origin.h"

#include <string.h>

static const struct format formats[] = {
    {"json", format_json},
    {"sarif", format_sarif},
    {"junit", format_junit},
    {"github", format_github},
};

const struct format *format_find(const char *name)
{
    const struct format *format;

    for_each (format, formats)
        if (!strcmp(format->name, name))
            return format;
    return NULL;
}

bool report_fails(const struct lint_report *report)
{
    const char **told;

    for (enum severity s = report->fail_on; s <= SEVERITY_ERROR; s++)
        if (findings_count(&report->result->findings, s))
            return true;
    return report->fail_on == SEVERITY_NOTE &&
           suppressions_told(report->suppressions, report->arena, &told) != 0;
}

const char *finding_told(const struct finding *f, struct arena *arena)
{
    return f->origin ? arena_printf(arena, "%s (%s)", f->message, origin_public(f->origin, arena))
                     : f->message;
}

const char *rule_url(const struct rule *rule, struct arena *arena)
{
    return arena_printf(arena, RULES_URL "/%s.md", rule->id);
}

/* ---- JSON */

static const char *standing_name(enum finding_standing standing)
{
    static const char *const names[] = {"open", "suppressed", "known"};

    return names[standing];
}

static json_t *finding_json(const struct finding *f, struct arena *arena)
{
    json_t *out = json_object();

    json_put_text(out, "rule", f->rule->id);
    json_put_text(out, "code", f->rule->code);
    json_put_text(out, "severity", severity_name(f->severity));
    json_put_text(out, "confidence", confidence_name(f->confidence));
    json_put_text(out, "identity", finding_identity(f, arena));
    json_put_text(out, "subject", f->subject);
    json_put_text(out, "message", f->message);
    json_put_text(out, "fix", f->rule->fix);
    json_put_text(out, "path", f->path);
    json_put_text(out, "package", f->package);
    json_put_int(out, "programs", f->programs);
    json_put(out, "evidence", json_texts(f->evidence, f->n_evidence));
    json_put_text(out, "standing", standing_name(f->standing));
    json_put_text(out, "reason", f->reason);
    origin_put_known(out, f->origin);
    return out;
}

static json_t *summary_json(const struct lint_report *report)
{
    const struct lint_result *r = report->result;
    json_t *out = json_object();
    size_t suppressed = 0, known = 0;

    for (size_t i = 0; i < r->findings.n; i++) {
        suppressed += r->findings.item[i]->standing == FINDING_SUPPRESSED;
        known += r->findings.item[i]->standing == FINDING_KNOWN;
    }
    json_put_int(out, "errors", (int64_t)findings_count(&r->findings, SEVERITY_ERROR));
    json_put_int(out, "warnings", (int64_t)findings_count(&r->findings, SEVERITY_WARNING));
    json_put_int(out, "notes", (int64_t)findings_count(&r->findings, SEVERITY_NOTE));
    json_put_int(out, "suppressed", (int64_t)suppressed);
    json_put_int(out, "known", (int64_t)known);
    json_put_int(out, "packages", (int64_t)r->n_packages);
    json_put_int(out, "objects", (int64_t)r->n_objects);
    json_put_int(out, "programs", (int64_t)r->n_programs);
    return out;
}

static json_t *suppressions_json(const struct lint_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0; report->suppressions && i < report->suppressions->n; i++) {
        const struct suppression *s = &report->suppressions->item[i];
        const char *problem = suppression_problem(s, report->arena);
        json_t *item = json_object();

        json_put_text(item, "rule", s->rule ? s->rule->id : "*");
        json_put_text(item, "path", s->path);
        json_put_text(item, "reason", s->reason);
        json_put_text(item, "until", s->until);
        json_put_int(item, "matches", (int64_t)s->n_matches);
        json_put_text(item, "problem", problem);
        json_push(list, item);
    }
    return list;
}

static json_t *item_json(void *data, size_t i)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const struct findings *findings = data;

    return finding_json(findings->item[i], &scratch);
}

int format_json(const struct lint_report *report, FILE *to, struct err *err)
{
    const struct lint_result *r = report->result;
    const struct json_items items = {item_json, (void *)(uintptr_t)&r->findings, r->findings.n};
    json_t *out = json_object(), *unasked = json_array();
    int code;

    json_put_text(out, "schema", "stormlint-lint/1");
    json_put_text(out, "cpu", report->cpu);
    json_put(out, "findings", json_items(items.n));
    for (size_t i = 0; i < r->n_unasked; i++)
        json_push(unasked, json_text(r->unasked[i]->id));
    json_put(out, "unasked", unasked);
    json_put(out, "suppressions", suppressions_json(report));
    json_put(out, "summary", summary_json(report));
    json_put(out, "incomplete", json_boolean(r->incomplete));
    json_put(out, "fails", json_boolean(report_fails(report)));
    code = json_print_items(out, &items, to, err);
    json_decref(out);
    return code;
}
