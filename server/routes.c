/* THE table. */
#include "server/api.h"

enum { AUDIT_BODY_MAX = 64 * 1024 * 1024 };

static const char *const program_sorts[] = {
    "-failed",      "failed",  "-failed_opens", "failed_opens", "-failed_stats",
    "failed_stats", "-opens",  "opens",         "-stats",       "stats",
    "-objects",     "objects", "-saving",       "saving",       "-directories",
    "directories",  "path",    "-path",         "package",      "-package",
    NULL,
};
static const char *const package_sorts[] = {
    "-failed",   "failed",   "name",      "-name",    "-objects", "objects",
    "-programs", "programs", "-nar_size", "nar_size", NULL,
};
static const char *const directory_sorts[] = {"-failed", "failed", "-programs", "programs",
                                              "path",    "-path",  NULL};
static const char *const strategies[] = {"none", "farm", "absolute", "note", NULL};
static const char *const scopes[] = {"own", "lifted", NULL};
static const char *const formats[] = {"ndjson", "json", NULL};
static const char *const dlopens[] = {"declared", NULL};
static const char *const severities[] = {"error", "warning", "note", NULL};
static const char *const standings[] = {"open", "suppressed", "known", NULL};
static const char *const finding_sorts[] = {"severity", "identity", NULL};
static const char *const diff_formats[] = {"json", "markdown", NULL};
static const char *const problem_kinds[] = {"malformed", "unread", NULL};

// clang-format off
#define PROGRAM_FILTERS                                                                            \
    {.name = "sort", .summary = "By what; a minus in front: the largest first",                    \
     .words = program_sorts, .usual = "-failed"},                                                  \
    {.name = "q", .summary = "Only programs whose path contains this, upper case or lower",        \
     .max = 500}

static const struct param program_params[] = {
    PROGRAM_FILTERS,
    {.name = "package", .summary = "Only those of a package: its id, name or path"},
    {.name = "strategy", .summary = "Only those whose plan chose it", .words = strategies},
    {.name = "starts", .summary = "Only those that start, or that do not", .kind = PARAM_BOOL},
    {.name = "min_failed", .summary = "Only those with at least so many failed opens and stats",
     .kind = PARAM_NUMBER, .max = UINT32_MAX, .usual = "0"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param table_params[] = {
    PROGRAM_FILTERS, PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
    /* list_programs() asks for these, too */
};
static const struct param trace_params[] = {
    {.name = "cpu", .summary = "On this CPU: x86-64-v1 to x86-64-v4, another machine's name "
                               "(default: the one that the summary names)", .max = 40},
    {.name = "env", .summary = "NAME=VALUE that the program finds in its environment",
     .repeats = true},
    {.name = "dlopen", .summary = "Then also what the loaded objects declare they will dlopen",
     .words = dlopens},
    {.name = "strategy", .summary = "With this strategy's edits", .words = strategies},
    {.name = "scope", .summary = "Of this scope", .words = scopes},
    {.name = NULL},
};
static const struct param package_params[] = {
    {.name = "sort", .summary = "By what; a minus in front: the largest first",
     .words = package_sorts, .usual = "-failed"},
    {.name = "q", .summary = "Only packages whose name contains this, upper case or lower",
     .max = 500},
    {.name = "pname", .summary = "Only packages of this name, without version"},
    {.name = "programs", .summary = "Only packages that have programs", .kind = PARAM_BOOL},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param directory_params[] = {
    {.name = "sort", .summary = "By what; a minus in front: the largest first",
     .words = directory_sorts, .usual = "-failed"},
    {.name = "program", .summary = "Of this program's start alone: its id or path"},
    {.name = "package", .summary = "Only directories of this package: its id or name"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param problem_params[] = {
    {.name = "kind", .summary = "Only broken files, or only those that could not be read",
     .words = problem_kinds},
    {.name = "package", .summary = "Only those of this package, by id"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param audit_program_params[] = {
    PROGRAM_FILTERS,
    {.name = "strategy", .summary = "Only those whose plan chose it", .words = strategies},
    {.name = "starts", .summary = "Only those that start, or that do not", .kind = PARAM_BOOL},
    {.name = "min_failed", .summary = "Only those with at least so many failed opens and stats",
     .kind = PARAM_NUMBER, .max = UINT32_MAX, .usual = "0"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param finding_params[] = {
    {.name = "rule", .summary = "Only those of a rule: its id or code", .max = 60},
    {.name = "severity", .summary = "Only those of a severity", .words = severities},
    {.name = "standing", .summary = "Only open ones, suppressed or known ones",
     .words = standings},
    {.name = "q", .summary = "Only those whose identity or message contains this", .max = 500},
    {.name = "package", .summary = "Only those about a package: its id or path"},
    {.name = "sort", .summary = "By what; severity: the worst first", .words = finding_sorts,
     .usual = "severity"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param diff_params[] = {
    {.name = "from", .summary = "Id of the earlier audit, latest or index", .max = 40,
     .required = true},
    {.name = "to", .summary = "Id of the later audit, latest or index", .max = 40,
     .required = true},
    {.name = "min_calls", .summary = "A start changes by at least so many failed calls",
     .kind = PARAM_NUMBER, .max = 1000000, .usual = "10"},
    {.name = "min_percent", .summary = "And by so much of a hundred", .kind = PARAM_NUMBER,
     .max = 100000, .usual = "5"},
    {.name = "format", .summary = "JSON, or Markdown for a pull request", .words = diff_formats,
     .usual = "json"},
    {.name = NULL},
};
static const struct param history_params[] = {
    {.name = "key", .summary = "Of a program (imagemagick.out:bin/magick) or package "
                               "(imagemagick.out)", .max = 1000, .required = true},
    {.name = NULL},
};
static const struct param plans_params[] = {
    {.name = "format", .summary = "A plan a line with an end marker, or one array",
     .words = formats, .usual = "ndjson"},
    {.name = NULL},
};

static const struct route table[] = {
    {"GET", "/healthz", "health", "operations", "Is the process alive", NULL, "Health", NULL, NULL,
     ROUTE_FRESH, 0, get_healthz},
    {"GET", "/readyz", "ready", "operations", "Is the index there, current and served", NULL,
     "Ready", NULL, NULL, ROUTE_FRESH, 0, get_readyz},
    {"GET", "/metrics", "metrics", "operations", "Figures for Prometheus", NULL, NULL,
     "text/plain", NULL, ROUTE_FRESH, 0, get_metrics},
    {"GET", "/openapi.json", "openapi", "operations", "This description", NULL, "OpenAPI", NULL,
     NULL, ROUTE_FRESH, 0, get_openapi},

    {"GET", "/api/v1/summary", "summary", "index", "The whole index in numbers", NULL, "Summary",
     NULL, NULL, ROUTE_INDEX, 0, get_summary},
    {"GET", "/api/v1/programs", "programs", "programs",
     "Programs and what their starts cost, worst first", program_params, "ProgramPage", NULL, NULL,
     ROUTE_INDEX, 0, list_programs},
    {"GET", "/api/v1/programs/{id}", "program", "programs",
     "One program with its facts and its start on every CPU level", NULL, "ProgramDetail", NULL,
     NULL, ROUTE_VIEW, 0, get_program},
    {"GET", "/api/v1/programs/{id}/trace", "trace", "programs",
     "Every call that the loader makes when it starts", trace_params, "Trace", NULL, NULL,
     ROUTE_VIEW | ROUTE_SLOW, 0, get_trace},
    {"GET", "/api/v1/programs/{id}/plan", "program_plan", "plans",
     "The best remedy for one program, and why the others lose", NULL, "Plan", NULL, NULL,
     ROUTE_VIEW | ROUTE_SLOW, 0, get_program_plan},
    {"GET", "/api/v1/packages", "packages", "packages", "Packages", package_params, "PackagePage",
     NULL, NULL, ROUTE_INDEX, 0, list_packages},
    {"GET", "/api/v1/packages/{id}", "package", "packages",
     "One package: its programs, objects, references and problems", NULL, "PackageDetail", NULL,
     NULL, ROUTE_VIEW, 0, get_package},
    {"GET", "/api/v1/packages/{id}/plan", "package_plan", "plans",
     "One plan for all programs of a package", NULL, "Plan", NULL, NULL, ROUTE_VIEW | ROUTE_SLOW, 0,
     get_package_plan},
    {"GET", "/api/v1/plans", "plans", "plans", "The plans of all packages", plans_params, NULL,
     "application/x-ndjson", NULL, ROUTE_INDEX, 0, list_plans},
    {"GET", "/api/v1/directories", "directories", "directories",
     "Directories by the probes that go there in vain", directory_params, "DirectoryPage", NULL,
     NULL, ROUTE_VIEW | ROUTE_SLOW, 0, list_directories},
    {"GET", "/api/v1/findings", "findings", "findings", "What the linter finds in the index",
     finding_params, "FindingPage", NULL, NULL, ROUTE_AUDIT | ROUTE_SLOW, 0, list_findings},
    {"GET", "/api/v1/rules", "rules", "tables", "The linter's rules", NULL, "RuleList", NULL, NULL,
     ROUTE_FRESH, 0, list_rules},
    {"GET", "/api/v1/rules/{rule}", "rule", "tables", "One rule with its page (Markdown)", NULL,
     "RuleDetail", NULL, NULL, ROUTE_FRESH, 0, get_rule},
    {"GET", "/api/v1/problems", "problems", "findings", "Files that are broken or unread",
     problem_params, "ProblemPage", NULL, NULL, ROUTE_VIEW, 0, list_problems},
    {"GET", "/api/v1/criteria", "criteria", "tables",
     "What plans are judged by: criteria, strategies, gates, the decision rule", NULL, "Criteria",
     NULL, NULL, ROUTE_INDEX, 0, list_criteria},
    {"GET", "/api/v1/loaders", "loaders", "index", "Dynamic loaders and what they have built in",
     NULL, "LoaderList", NULL, NULL, ROUTE_VIEW, 0, list_loaders},
    {"GET", "/api/v1/badge/{pname}", "badge", "packages", "A badge for shields.io", NULL, "Badge",
     NULL, NULL, ROUTE_INDEX, 0, get_badge},

    {"GET", "/api/v1/audits", "audits", "audits", "Audits, the newest first; the index is one", NULL,
     "AuditList", NULL, NULL, ROUTE_AUDIT, 0, list_audits},
    {"POST", "/api/v1/audits", "post_audit", "audits",
     "Take an audit file in, or have paths of the store scanned and audited", NULL, "JobOrAudit",
     NULL, "AuditOrder", ROUTE_WRITE | ROUTE_SLOW, AUDIT_BODY_MAX, post_audit},
    {"GET", "/api/v1/audits/{audit}", "audit", "audits", "One audit in numbers", NULL, "Audit",
     NULL, NULL, ROUTE_AUDIT | ROUTE_SLOW, 0, get_audit},
    {"DELETE", "/api/v1/audits/{audit}", "delete_audit", "audits", "Remove an audit", NULL, NULL,
     NULL, NULL, ROUTE_WRITE, 0, delete_audit},
    {"GET", "/api/v1/audits/{audit}/file", "audit_file", "audits", "The audit file itself", NULL,
     NULL, "application/x-ndjson", NULL, ROUTE_FRESH, 0, get_audit_file},
    {"GET", "/api/v1/audits/{audit}/programs", "audit_programs", "audits",
     "Programs of an audit, the worst first", audit_program_params, "AuditProgramPage", NULL, NULL,
     ROUTE_AUDIT | ROUTE_SLOW, 0, list_audit_programs},
    {"GET", "/api/v1/audits/{audit}/findings", "audit_findings", "audits", "Findings of an audit",
     finding_params, "FindingPage", NULL, NULL, ROUTE_AUDIT | ROUTE_SLOW, 0, list_audit_findings},
    {"GET", "/api/v1/diff", "diff", "audits", "What changed between two audits", diff_params,
     "Diff", NULL, NULL, ROUTE_AUDIT | ROUTE_SLOW, 0, get_diff},
    {"GET", "/api/v1/history", "history", "audits",
     "A program or package through all audits, the newest first", history_params, "History", NULL,
     NULL, ROUTE_AUDIT | ROUTE_SLOW, 0, list_history},
    {"GET", "/api/v1/jobs", "jobs", "jobs", "Jobs, the newest first", NULL, "JobList", NULL, NULL,
     ROUTE_FRESH, 0, list_jobs},
    {"GET", "/api/v1/jobs/{id}", "job", "jobs", "One job and how far it is", NULL, "Job", NULL,
     NULL, ROUTE_FRESH, 0, get_job},
    {"DELETE", "/api/v1/jobs/{id}", "cancel_job", "jobs", "End a job that waits or runs", NULL,
     "Job", NULL, NULL, ROUTE_WRITE, 0, cancel_job},

    {"GET", "/", "start", "pages", "The dashboard", table_params, NULL, "text/html", NULL,
     ROUTE_INDEX | ROUTE_PAGE, 0, get_start},
    {"GET", "/table", "table", "pages", "The worst offenders as a plain table", table_params, NULL,
     "text/html", NULL, ROUTE_INDEX | ROUTE_PAGE, 0, get_table},
    {"GET", "/{path*}", "file", "pages", "The dashboard's files", NULL, NULL, "*/*", NULL,
     ROUTE_PAGE | ROUTE_FRESH, 0, get_file},
};
// clang-format on

const struct route *routes(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(table);
    return table;
}
