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
static const char *const scopes[] = {"own", "lifted", "closure", NULL};
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

#define MAINTAINER_FILTER                                                                          \
    {.name = "maintainer", .summary = "Only what this one maintains: a handle at GitHub, as the "    \
                                      "packages.json of scan --meta spells it", .max = 500}

#define FAILED_FILTERS                                                                             \
    {.name = "min_failed", .summary = "Only those with at least so many failed opens and stats",    \
     .kind = PARAM_NUMBER, .max = UINT32_MAX, .usual = "0"},                                        \
    {.name = "max_failed", .summary = "Only those with at most so many",                            \
     .kind = PARAM_NUMBER, .max = UINT32_MAX}

static const struct param program_params[] = {
    PROGRAM_FILTERS,
    {.name = "package", .summary = "Only those of a package: its id, name or path"},
    MAINTAINER_FILTER,
    {.name = "strategy", .summary = "Only those whose plan chose it", .words = strategies},
    {.name = "starts", .summary = "Only those that start, or that do not", .kind = PARAM_BOOL},
    FAILED_FILTERS,
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param table_params[] = {
    PROGRAM_FILTERS, MAINTAINER_FILTER, PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
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
    MAINTAINER_FILTER,
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param directory_params[] = {
    {.name = "sort", .summary = "By what; a minus in front: the largest first",
     .words = directory_sorts, .usual = "-failed"},
    {.name = "program", .summary = "Of this program's start alone: its id or path"},
    {.name = "package", .summary = "Only directories of this package: its id or name"},
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param searcher_params[] = {
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
    MAINTAINER_FILTER,
    {.name = "strategy", .summary = "Only those whose plan chose it", .words = strategies},
    {.name = "starts", .summary = "Only those that start, or that do not", .kind = PARAM_BOOL},
    FAILED_FILTERS,
    PAGE_LIMIT, PAGE_AFTER, {.name = NULL},
};
static const struct param finding_params[] = {
    {.name = "rule", .summary = "Only those of a rule: its id or code", .max = 60},
    {.name = "severity", .summary = "Only those of a severity", .words = severities},
    {.name = "standing", .summary = "Only open ones, suppressed or known ones",
     .words = standings},
    {.name = "q", .summary = "Only those whose identity or message contains this", .max = 500},
    {.name = "package", .summary = "Only those about a package: its id or path"},
    MAINTAINER_FILTER,
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
    MAINTAINER_FILTER,
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
    {.method = "GET", .pattern = "/healthz", .id = "health", .tag = "operations",
     .summary = "Is the process alive",
     .schema = "Health", .flags = ROUTE_FRESH, .handle = get_healthz},
    {.method = "GET", .pattern = "/readyz", .id = "ready", .tag = "operations",
     .summary = "Is the index there, current and served",
     .schema = "Ready", .flags = ROUTE_FRESH, .handle = get_readyz},
    {.method = "GET", .pattern = "/metrics", .id = "metrics", .tag = "operations",
     .summary = "Figures for Prometheus",
     .type = "text/plain", .flags = ROUTE_FRESH, .handle = get_metrics},
    {.method = "GET", .pattern = "/openapi.json", .id = "openapi", .tag = "operations",
     .summary = "This description",
     .schema = "OpenAPI", .flags = ROUTE_FRESH, .handle = get_openapi},
    {.method = "GET", .pattern = "/api/v1/summary", .id = "summary", .tag = "index",
     .summary = "The whole index in numbers",
     .schema = "Summary", .flags = ROUTE_INDEX, .handle = get_summary},
    {.method = "GET", .pattern = "/api/v1/programs", .id = "programs", .tag = "programs",
     .summary = "Programs and what their starts cost, worst first",
     .params = program_params, .schema = "ProgramPage", .flags = ROUTE_INDEX, .handle = list_programs},
    {.method = "GET", .pattern = "/api/v1/programs/{id}", .id = "program", .tag = "programs",
     .summary = "One program with its facts and its start on every CPU level",
     .schema = "ProgramDetail", .flags = ROUTE_VIEW, .handle = get_program},
    {.method = "GET", .pattern = "/api/v1/programs/{id}/trace", .id = "trace", .tag = "programs",
     .summary = "Every call that the loader makes when it starts",
     .params = trace_params, .schema = "Trace", .flags = ROUTE_VIEW | ROUTE_SLOW | ROUTE_BRISK | ROUTE_STEADY, .handle = get_trace},
    {.method = "GET", .pattern = "/api/v1/programs/{id}/plan", .id = "program_plan", .tag = "plans",
     .summary = "The best remedy for one program, and why the others lose",
     .schema = "Plan", .flags = ROUTE_VIEW | ROUTE_SLOW, .handle = get_program_plan},
    {.method = "GET", .pattern = "/api/v1/programs/{id}/compare", .id = "program_compare", .tag = "plans",
     .summary = "All methods side by side for one program, and what is judged beside them",
     .schema = "Comparison", .flags = ROUTE_VIEW | ROUTE_SLOW, .handle = get_program_comparison},
    {.method = "GET", .pattern = "/api/v1/packages", .id = "packages", .tag = "packages",
     .summary = "Packages",
     .params = package_params, .schema = "PackagePage", .flags = ROUTE_INDEX | ROUTE_STEADY, .handle = list_packages},
    {.method = "GET", .pattern = "/api/v1/packages/{id}", .id = "package", .tag = "packages",
     .summary = "One package: its programs, objects, references and problems",
     .schema = "PackageDetail", .flags = ROUTE_VIEW, .handle = get_package},
    {.method = "GET", .pattern = "/api/v1/packages/{id}/plan", .id = "package_plan", .tag = "plans",
     .summary = "One plan for all programs of a package",
     .schema = "Plan", .flags = ROUTE_VIEW | ROUTE_SLOW, .handle = get_package_plan},
    {.method = "GET", .pattern = "/api/v1/packages/{id}/searched_by", .id = "searchers", .tag = "packages",
     .summary = "Programs whose starts look in vain into a package's directories, the worst first",
     .params = searcher_params, .schema = "SearcherPage", .flags = ROUTE_VIEW | ROUTE_SLOW, .handle = list_searchers},
    {.method = "GET", .pattern = "/api/v1/plans", .id = "plans", .tag = "plans",
     .summary = "The plans of all packages",
     .params = plans_params, .type = "application/x-ndjson", .other_type = "application/json", .flags = ROUTE_INDEX, .handle = list_plans},
    {.method = "GET", .pattern = "/api/v1/directories", .id = "directories", .tag = "directories",
     .summary = "Directories by the probes that go there in vain",
     .params = directory_params, .schema = "DirectoryPage", .flags = ROUTE_VIEW | ROUTE_SLOW | ROUTE_STEADY | ROUTE_WARMED, .handle = list_directories},
    {.method = "GET", .pattern = "/api/v1/findings", .id = "findings", .tag = "findings",
     .summary = "What the linter finds in the index",
     .params = finding_params, .schema = "FindingPage", .flags = ROUTE_AUDIT | ROUTE_SLOW | ROUTE_STEADY | ROUTE_WARMED, .handle = list_findings},
    {.method = "GET", .pattern = "/api/v1/rules", .id = "rules", .tag = "tables",
     .summary = "The linter's rules",
     .schema = "RuleList", .flags = ROUTE_FRESH, .handle = list_rules},
    {.method = "GET", .pattern = "/api/v1/rules/{rule}", .id = "rule", .tag = "tables",
     .summary = "One rule with its page (Markdown)",
     .schema = "RuleDetail", .flags = ROUTE_FRESH, .handle = get_rule},
    {.method = "GET", .pattern = "/api/v1/problems", .id = "problems", .tag = "findings",
     .summary = "Files that are broken or unread",
     .params = problem_params, .schema = "ProblemPage", .flags = ROUTE_VIEW | ROUTE_STEADY, .handle = list_problems},
    {.method = "GET", .pattern = "/api/v1/criteria", .id = "criteria", .tag = "tables",
     .summary = "What plans are judged by: criteria, strategies, gates, the decision rule",
     .schema = "Criteria", .flags = ROUTE_INDEX | ROUTE_STEADY, .handle = list_criteria},
    {.method = "GET", .pattern = "/api/v1/policies", .id = "policies", .tag = "tables",
     .summary = "The policies that are known by name",
     .schema = "PolicyList", .flags = ROUTE_STEADY, .handle = list_policies},
    {.method = "GET", .pattern = "/api/v1/loaders", .id = "loaders", .tag = "index",
     .summary = "Dynamic loaders and what they have built in",
     .schema = "LoaderList", .flags = ROUTE_VIEW | ROUTE_STEADY, .handle = list_loaders},
    {.method = "GET", .pattern = "/api/v1/badge/{pname}", .id = "badge", .tag = "packages",
     .summary = "A badge for shields.io",
     .schema = "Badge", .flags = ROUTE_INDEX, .handle = get_badge},
    {.method = "GET", .pattern = "/api/v1/audits", .id = "audits", .tag = "audits",
     .summary = "Audits, the newest first; the index is one",
     .schema = "AuditList", .flags = ROUTE_AUDIT, .handle = list_audits},
    {.method = "POST", .pattern = "/api/v1/audits", .id = "post_audit", .tag = "audits",
     .summary = "Take an audit file in, or have paths of the store scanned and audited",
     .schema = "JobOrAudit", .body_schema = "AuditOrder", .body_max = AUDIT_BODY_MAX, .flags = ROUTE_WRITE | ROUTE_SLOW, .handle = post_audit},
    {.method = "GET", .pattern = "/api/v1/audits/{audit}", .id = "audit", .tag = "audits",
     .summary = "One audit in numbers",
     .schema = "Audit", .flags = ROUTE_AUDIT | ROUTE_SLOW, .handle = get_audit},
    {.method = "DELETE", .pattern = "/api/v1/audits/{audit}", .id = "delete_audit", .tag = "audits",
     .summary = "Remove an audit",
     .flags = ROUTE_WRITE, .handle = delete_audit},
    {.method = "GET", .pattern = "/api/v1/audits/{audit}/file", .id = "audit_file", .tag = "audits",
     .summary = "The audit file itself",
     .type = "application/x-ndjson", .flags = ROUTE_FRESH, .handle = get_audit_file},
    {.method = "GET", .pattern = "/api/v1/audits/{audit}/programs", .id = "audit_programs", .tag = "audits",
     .summary = "Programs of an audit, the worst first",
     .params = audit_program_params, .schema = "AuditProgramPage", .flags = ROUTE_AUDIT | ROUTE_SLOW, .handle = list_audit_programs},
    {.method = "GET", .pattern = "/api/v1/audits/{audit}/findings", .id = "audit_findings", .tag = "audits",
     .summary = "Findings of an audit",
     .params = finding_params, .schema = "FindingPage", .flags = ROUTE_AUDIT | ROUTE_SLOW, .handle = list_audit_findings},
    {.method = "GET", .pattern = "/api/v1/diff", .id = "diff", .tag = "audits",
     .summary = "What changed between two audits",
     .params = diff_params, .schema = "Diff", .other_type = "text/markdown", .flags = ROUTE_AUDIT | ROUTE_SLOW, .handle = get_diff},
    {.method = "GET", .pattern = "/api/v1/history", .id = "history", .tag = "audits",
     .summary = "A program or package through all audits, the newest first",
     .params = history_params, .schema = "History", .flags = ROUTE_AUDIT | ROUTE_SLOW, .handle = list_history},
    {.method = "GET", .pattern = "/api/v1/jobs", .id = "jobs", .tag = "jobs",
     .summary = "Jobs, the newest first",
     .schema = "JobList", .flags = ROUTE_FRESH, .handle = list_jobs},
    {.method = "GET", .pattern = "/api/v1/jobs/{id}", .id = "job", .tag = "jobs",
     .summary = "One job and how far it is",
     .schema = "Job", .flags = ROUTE_FRESH, .handle = get_job},
    {.method = "DELETE", .pattern = "/api/v1/jobs/{id}", .id = "cancel_job", .tag = "jobs",
     .summary = "End a job that waits or runs",
     .schema = "Job", .flags = ROUTE_WRITE, .handle = cancel_job},
    {.method = "GET", .pattern = "/", .id = "start", .tag = "pages",
     .summary = "The dashboard",
     .type = "text/html", .flags = ROUTE_AUDIT | ROUTE_PAGE, .handle = get_start},
    {.method = "GET", .pattern = "/table", .id = "table", .tag = "pages",
     .summary = "The worst offenders as a plain table",
     .params = table_params, .type = "text/html", .flags = ROUTE_INDEX | ROUTE_PAGE, .handle = get_table},
    {.method = "GET", .pattern = "/programs", .id = "page_programs", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/programs/{id}", .id = "page_programs_one", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/packages", .id = "page_packages", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/packages/{id}", .id = "page_packages_one", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/findings", .id = "page_findings", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/compare", .id = "page_compare", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/directories", .id = "page_directories", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/jobs", .id = "page_jobs", .tag = "pages",
     .summary = "A page of the dashboard",
     .type = "text/html", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_page},
    {.method = "GET", .pattern = "/{path*}", .id = "file", .tag = "pages",
     .summary = "The dashboard's files",
     .type = "*/*", .flags = ROUTE_PAGE | ROUTE_FRESH, .handle = get_file},
};
// clang-format on

const struct route *routes(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(table);
    return table;
}
