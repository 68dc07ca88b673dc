#include "audit/report.h"

#include "base/str.h"
#include "linter/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_sentence(struct arena *arena, const char ***over, size_t *n, const char *text)
{
    *over = arena_grow(arena, *over, *n, sizeof(**over));
    (*over)[(*n)++] = text;
}

size_t report_judge(const struct audit *audit, const struct report_limits *limits,
                    struct arena *arena, const char ***ret_over)
{
    size_t found = 0, offenders = 0, n = 0;

    for (enum severity s = limits->fail_on; s <= SEVERITY_ERROR; s++)
        found += audit_count(audit, s);
    for (size_t i = 0; i < audit->n_programs; i++)
        offenders += audit_is_offender(audit, &audit->program[i]);
    if (found)
        add_sentence(
            arena, ret_over, &n,
            arena_printf(arena, "%zu %s", found, severity_words(arena, limits->fail_on, found)));
    if (limits->limits_offenders && offenders > limits->max_offenders)
        add_sentence(arena, ret_over, &n,
                     arena_printf(arena,
                                  "%zu program%s more than %u failed opens at start; %zu may",
                                  offenders, str_count(offenders, " makes", "s make"),
                                  audit->probe_budget, limits->max_offenders));
    return n;
}

/* ---- the files beside the page */

/* A finding's own, which may be less than its rule's. */
static enum confidence confidence_of(const struct audit_finding *f)
{
    enum confidence c;

    for (c = CONFIDENCE_GUESS; c <= CONFIDENCE_CERTAIN; c++)
        if (str_same(f->confidence, confidence_name(c)))
            return c;
    return rule_find(f->rule)->confidence;
}

/* The findings as the linter had them; those of rules that this version does not know are left out.
 */
static struct findings findings_of(const struct report *report)
{
    const struct audit *a = report->audit;
    struct findings all = {arena_calloc(report->arena, a->n_findings + 1, sizeof(struct finding *)),
                           0};

    for (size_t i = 0; i < a->n_findings; i++) {
        const struct audit_finding *f = &a->finding[i];
        const size_t key = strcspn(f->identity, ">"); /* "key>subject" */
        struct finding *out;

        if (!rule_find(f->rule))
            continue;
        out = arena_alloc(report->arena, sizeof(*out));
        *out = (struct finding){.rule = rule_find(f->rule),
                                .severity = f->severity,
                                .confidence = confidence_of(f),
                                .path = f->path,
                                .package = f->package,
                                .key = arena_strndup(report->arena, f->identity, key),
                                .subject = f->identity[key] ? f->identity + key + 1 : NULL,
                                .message = f->message,
                                .evidence = f->evidence,
                                .n_evidence = f->n_evidence,
                                .origin = f->origin};
        if (f->standing && !strcmp(f->standing, "suppressed"))
            out->standing = FINDING_SUPPRESSED;
        else if (f->standing && !strcmp(f->standing, "known"))
            out->standing = FINDING_KNOWN;
        all.item[all.n++] = out;
    }
    return all;
}

/* The rules that could not be asked. */
static size_t unasked_of(const struct report *report, const struct rule ***ret_rule)
{
    const struct audit *a = report->audit;
    size_t n = 0;

    *ret_rule = arena_calloc(report->arena, a->n_unasked + 1, sizeof(const struct rule *));
    for (size_t i = 0; i < a->n_unasked; i++)
        if (rule_find(a->unasked[i]))
            (*ret_rule)[n++] = rule_find(a->unasked[i]);
    return n;
}

static int write_sarif(const struct report *report, FILE *to, struct err *err)
{
    struct lint_result result = {.findings = findings_of(report),
                                 .incomplete = report->audit->incomplete};
    const struct lint_report lint = {.result = &result,
                                     .cpu = report->audit->cpu,
                                     .name = report->audit->name,
                                     .fail_on = SEVERITY_ERROR,
                                     .arena = report->arena};

    result.n_unasked = unasked_of(report, &result.unasked);

    return format_sarif(&lint, to, err);
}

struct planned {
    const struct audit *audit;
    FILE *to;
};

/* Is it about a package that is left in the audit? */
static bool is_wanted(const struct audit *audit, const json_t *plan)
{
    const json_t *key = json_object_get(plan, "key");
    const char *version = json_string_value(json_object_get(key, "version"));
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *name =
        arena_printf(&scratch, "%s.%s", json_string_value(json_object_get(key, "pname")),
                     json_string_value(json_object_get(key, "output")));

    for (size_t i = 0; i < audit->n_packages; i++)
        if (!strcmp(audit->package[i].key, name) &&
            !strcmp(audit->package[i].version, version ? version : ""))
            return true;
    return false;
}

static int print_plan(void *data, json_t *plan, struct err *err)
{
    const struct planned *p = data;

    if (p->audit->maintainer && !is_wanted(p->audit, plan))
        return 0;
    return json_print(plan, p->to, false, err);
}

/* One plan a line, as `stormlint plan --all --json` prints them. */
static int write_plan(const struct report *report, FILE *to, struct err *err)
{
    struct planned planned = {report->audit, to};

    return audit_read_plans(report->file, print_plan, &planned, err);
}

static int copy_audit(const struct report *report, FILE *to, struct err *err)
{
    FILE *from = fopen(report->file, "re");
    char block[65536];
    size_t n;
    int r = 0;

    if (!from)
        return err_set(err, errno, "'%s': %s", report->file, strerror(errno));
    while ((n = fread(block, 1, sizeof(block), from)) > 0 && fwrite(block, 1, n, to) == n)
        ;
    if (ferror(from))
        r = err_set(err, EIO, "'%s': cannot be read", report->file);
    (void)fclose(from);
    return r;
}

/* A path as Hydra wants it: in quotes when there are blanks in it. */
static int write_products(const struct report *report, FILE *to, struct err *err)
{
    static const struct {
        const char *type, *subtype, *file, *page;
    } products[] = {
        {"report", "stormlint", "", " index.html"},
        {"file", "stormlint-audit", "/audit.ndjson", ""},
        {"file", "sarif", "/audit.sarif.json", ""},
        {"file", "plan-json", "/plan.json", ""},
    };
    char *real = realpath(report->dir, NULL);

    if (!real)
        return err_set(err, errno, "'%s': %s", report->dir, strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(products); i++)
        fprintf(to, "%s %s \"%s%s\"%s\n", products[i].type, products[i].subtype, real,
                products[i].file, products[i].page);
    free(real);
    return 0;
}

static int write_metrics(const struct report *report, FILE *to, struct err *err)
{
    const struct audit *a = report->audit;
    size_t offenders = 0;

    (void)err;
    for (size_t i = 0; i < a->n_programs; i++)
        offenders += audit_is_offender(a, &a->program[i]);
    fprintf(to, "stormlint.packages %zu\nstormlint.programs %zu\nstormlint.offenders %zu\n",
            a->n_packages, a->n_programs, offenders);
    fprintf(to, "stormlint.failed %llu calls\nstormlint.failed.planned %llu calls\n",
            (unsigned long long)audit_failed(a), (unsigned long long)audit_failed_after(a));
    for (size_t s = SEVERITY_ERROR + 1; s-- > 0;)
        fprintf(to, "stormlint.findings.%s %zu\n", severity_name((enum severity)s),
                audit_count(a, (enum severity)s));
    return 0;
}

static int write_failed(const struct report *report, FILE *to, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < report->n_over; i++)
        fprintf(to, "%s\n", report->over[i]);
    return 0;
}

/* ---- all of them */

/* Beside its place first: what is read may lie there, and what lies there is whole. */
static int write_one(const struct report *report, const char *name,
                     int (*write)(const struct report *report, FILE *to, struct err *err),
                     struct err *err)
{
    const char *path = str_join(report->arena, report->dir, name);
    const char *beside = arena_printf(report->arena, "%s.new", path);
    FILE *to = fopen(beside, "we");
    int r;

    if (!to)
        return err_set(err, errno, "'%s': %s", beside, strerror(errno));
    r = write(report, to, err);
    if ((ferror(to) | fclose(to)) && r == 0)
        r = err_set(err, EIO, "'%s': cannot be written", beside);
    if (r == 0 && rename(beside, path) < 0)
        r = err_set(err, errno, "'%s': %s", path, strerror(errno));
    if (r < 0)
        (void)unlink(beside);
    return r;
}

static int make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    return 0;
}

int report_write(const struct report *report, struct err *err)
{
    static const struct {
        const char *name;
        int (*write)(const struct report *report, FILE *to, struct err *err);
    } files[] = {
        {"index.html", report_html},
        {"audit.ndjson", copy_audit},
        {"audit.sarif.json", write_sarif},
        {"plan.json", write_plan},
        {"nix-support/hydra-build-products", write_products},
        {"nix-support/hydra-metrics", write_metrics},
    };
    const char *failed = str_join(report->arena, report->dir, "nix-support/failed");
    int r = make_dir(report->dir, err);

    if (r == 0)
        r = make_dir(str_join(report->arena, report->dir, "nix-support"), err);
    for (size_t i = 0; i < ARRAY_LEN(files) && r == 0; i++)
        r = write_one(report, files[i].name, files[i].write, err);
    if (r == 0 && report->n_over)
        r = write_one(report, "nix-support/failed", write_failed, err);
    else if (r == 0 && unlink(failed) < 0 && errno != ENOENT)
        r = err_set(err, errno, "'%s': %s", failed, strerror(errno));
    return r;
}
