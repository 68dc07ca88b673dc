/*
 * SARIF 2.1.0 (OASIS standard, errata 01).
 */
#include "linter/format.h"

#include "base/str.h"
#include "scanner/origin.h"

#include <string.h>

#define SARIF_SCHEMA                                                                               \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

static json_t *text_json(const char *text)
{
    json_t *out = json_object();

    json_put_text(out, "text", text);
    return out;
}

static json_t *rule_json(const struct rule *rule, struct arena *arena)
{
    json_t *out = json_object(), *level = json_object(), *properties = json_object();
    json_t *tags = json_array(), *help = text_json(arena_printf(arena, "To do: %s.", rule->fix));

    json_put_text(help, "markdown", rule_page(rule));
    json_put_text(out, "id", rule->id);
    json_put_text(out, "name", rule->code);
    json_put(out, "shortDescription", text_json(rule->summary));
    json_put(out, "help", help);
    json_put_text(out, "helpUri", rule_url(rule, arena));
    json_put_text(level, "level", severity_name(rule->severity));
    json_put(level, "enabled", json_boolean(!rule->opt_in));
    json_put(out, "defaultConfiguration", level);
    json_push(tags, json_text("elf"));
    json_push(tags, json_text("loader"));
    json_put(properties, "tags", tags);
    json_put_text(properties, "confidence", confidence_name(rule->confidence));
    json_put(out, "properties", properties);
    return out;
}

/* A path as a URI: everything unusual as %XX. */
static const char *uri(struct arena *arena, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/+=,@";
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (; *path; path++)
        if (strchr(plain, *path))
            str_add_n(&out, path, 1);
        else
            str_printf(&out, "%%%02X", (unsigned char)*path);
    return out.text;
}

static json_t *artifact_json(const struct finding *f, struct arena *arena)
{
    json_t *out = json_object();
    const char *slash = f->package ? strrchr(f->package, '/') : NULL;

    if (slash) {
        json_put_text(out, "uri", uri(arena, f->path + (slash + 1 - f->package)));
        json_put_text(out, "uriBaseId", "STORE");
    } else {
        json_put_text(out, "uri", arena_printf(arena, "file://%s", uri(arena, f->path)));
    }
    return out;
}

static json_t *locations_json(const struct finding *f, struct arena *arena)
{
    json_t *list = json_array(), *location = json_object(), *logical = json_object();
    json_t *logicals = json_array(), *physical = json_object();

    if (f->path) {
        json_put(physical, "artifactLocation", artifact_json(f, arena));
        json_put(location, "physicalLocation", physical);
    } else {
        json_decref(physical);
    }
    json_put_text(logical, "fullyQualifiedName", f->key);
    json_put_text(logical, "kind", "module");
    json_push(logicals, logical);
    json_put(location, "logicalLocations", logicals);
    json_push(list, location);
    return list;
}

static json_t *suppressions_json(const struct finding *f)
{
    json_t *list = json_array(), *item = json_object();

    json_put_text(item, "kind", "external");
    json_put_text(item, "status", "accepted");
    json_put_text(item, "justification", f->reason);
    json_push(list, item);
    return list;
}

static json_t *result_json(void *data, size_t i)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct arena *arena = &scratch;
    const struct lint_report *report = data;
    const struct finding *f = report->result->findings.item[i];
    json_t *out = json_object(), *prints = json_object(), *properties = json_object();

    json_put_text(out, "ruleId", f->rule->id);
    json_put_int(out, "ruleIndex", f->rule - rules());
    json_put_text(out, "level", severity_name(f->severity));
    json_put(out, "message", text_json(finding_told(f, arena)));
    json_put(out, "locations", locations_json(f, arena));
    json_put_text(prints, "stormlintFinding/v1", finding_identity(f, arena));
    json_put(out, "partialFingerprints", prints);
    if (report->compared)
        json_put_text(out, "baselineState", f->standing == FINDING_KNOWN ? "unchanged" : "new");
    if (f->standing == FINDING_SUPPRESSED)
        json_put(out, "suppressions", suppressions_json(f));
    json_put_text(properties, "confidence", confidence_name(f->confidence));
    json_put(properties, "evidence", json_texts(f->evidence, f->n_evidence));
    origin_put_known(properties, f->origin);
    json_put(out, "properties", properties);
    return out;
}

static json_t *note_json(const char *text)
{
    json_t *out = json_object();

    json_put_text(out, "level", "note");
    json_put(out, "message", text_json(text));
    return out;
}

/* Suppressions that do nothing, rules that could not be asked. */
static json_t *notifications_json(const struct lint_report *report)
{
    const struct lint_result *result = report->result;
    json_t *list = json_array();
    const char **told;
    const size_t n = suppressions_told(report->suppressions, report->arena, &told);

    for (size_t i = 0; i < n; i++)
        json_push(list, note_json(told[i]));
    for (size_t i = 0; i < result->n_unasked; i++)
        json_push(list, note_json(arena_printf(
                            report->arena, "%s was not checked: an index does not hold the files",
                            result->unasked[i]->id)));
    return list;
}

static json_t *invocation_json(const struct lint_report *report)
{
    json_t *out = json_object();

    json_put(out, "executionSuccessful", json_boolean(!report->result->incomplete));
    json_put_int(out, "exitCode", report->result->incomplete ? 3 : report_fails(report));
    json_put(out, "toolExecutionNotifications", notifications_json(report));
    return out;
}

static json_t *driver_json(struct arena *arena)
{
    json_t *driver = json_object(), *list = json_array();

    json_put_text(driver, "name", "stormlint");
    json_put_text(driver, "semanticVersion", VERSION);
    for (size_t i = 0; i < N_RULES; i++)
        json_push(list, rule_json(&rules()[i], arena));
    json_put(driver, "rules", list);
    return driver;
}

static json_t *run_json(const struct lint_report *report)
{
    json_t *run = json_object(), *tool = json_object(), *bases = json_object();
    json_t *store = json_object(), *details = json_object(), *list = json_array();
    const struct findings *findings = &report->result->findings;
    const char *of = "/nix/store";

    json_put(tool, "driver", driver_json(report->arena));
    json_put(run, "tool", tool);
    json_put_text(
        details, "id",
        arena_printf(report->arena, "stormlint/%s/", report->name ? report->name : "lint"));
    json_put(run, "automationDetails", details);
    for (size_t i = findings->n; i-- > 0;) {
        const char *package = findings->item[i]->package;

        if (!package)
            continue;
        of = arena_strndup(report->arena, package, (size_t)(str_base(package) - package - 1));
        break;
    }
    json_put_text(store, "uri", arena_printf(report->arena, "file://%s/", uri(report->arena, of)));
    json_put(bases, "STORE", store);
    json_put(run, "originalUriBaseIds", bases);
    json_push(list, invocation_json(report));
    json_put(run, "invocations", list);
    json_put_text(run, "columnKind", "unicodeCodePoints");
    json_put(run, "results", json_items(findings->n));
    return run;
}

static json_t *sarif_json(const struct lint_report *report)
{
    json_t *out = json_object(), *runs = json_array();

    json_put_text(out, "$schema", SARIF_SCHEMA);
    json_put_text(out, "version", "2.1.0");
    json_push(runs, run_json(report));
    json_put(out, "runs", runs);
    return out;
}

int format_sarif(const struct lint_report *report, FILE *to, struct err *err)
{
    const struct json_items items = {result_json, (void *)(uintptr_t)report,
                                     report->result->findings.n};
    json_t *out = sarif_json(report);
    const int r = json_print_items(out, &items, to, err);

    json_decref(out);
    return r;
}
