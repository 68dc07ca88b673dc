/*
 * Handlers, one file a resource (api_*.c), and what they share. They know queries, replies and
 * snapshots, never HTTP.
 */
#pragma once

#include "audit/audit.h"
#include "base/str.h"
#include "server/page.h"
#include "server/service.h"

typedef int handler(struct query *query, struct reply *reply, struct err *err);

/* ---- api_health.c */
handler get_healthz, get_readyz, get_metrics, get_openapi;

/* ---- api_summary.c */
handler get_summary, get_badge;

/* ---- api_program.c */
handler list_programs, get_program;

/* ---- api_trace.c */
handler get_trace, list_loaders;

/* ---- api_package.c */
handler list_packages, get_package;

/* ---- api_plan.c */
handler get_program_plan, get_program_comparison, get_package_plan, list_plans;

/* ---- api_directory.c */
handler list_directories, list_searchers;

/* ---- api_finding.c */
handler list_findings, list_audit_findings, list_rules, get_rule, list_problems;

/* ---- api_table.c */
handler list_criteria, list_policies;

/* ---- api_audit.c */
handler list_audits, get_audit, get_audit_file, delete_audit, list_audit_programs, list_history;

/* ---- api_post.c */
handler post_audit;

/* ---- api_diff.c */
handler get_diff;

/* ---- api_job.c */
handler list_jobs, get_job, cancel_job;

/* ---- api_page.c */
handler get_start, get_page, get_table, get_file;

/* ---- shared */

/* The audit that an id names: of the archive, or "index". To be closed. Slow for the latter. */
struct looked_at {
    const struct audit *audit;
    struct archive *archive;
    struct held *held; /* NULL: the snapshot's */
};
MUST_CHECK int looked_at_open(struct query *query, const char *id, struct looked_at *ret,
                              struct err *err);
void looked_at_close(struct looked_at *looked_at);

/* The program or package that a segment names. -ENOENT. */
MUST_CHECK int find_program(const struct query *query, const char *id,
                            struct program_row **ret_program, struct err *err);
MUST_CHECK int find_package(const struct query *query, const char *id,
                            struct package_row **ret_package, struct err *err);

/* "imagemagick.out:bin/magick": what a program is called without hash and version. */
const char *program_key(const struct query *query, const struct program_row *program);

/* As it stands in lists. New references. */
json_t *program_json(const struct query *query, const struct program_row *program);
json_t *package_json(const struct package_row *package);

/* Of listing.see. */
void see_packages(const struct snapshot *snapshot, struct maintainer *maintainer);
void see_audit(const struct audit *audit, struct maintainer *maintainer);

/* {"id","path","pname","version","output"}; null for NULL. New reference. */
json_t *package_ref_json(const struct package_row *package);

/* What lists of programs take as `min_failed` and `max_failed`: both ends count. */
struct failed_range {
    uint64_t min, max;
};
struct failed_range query_failed(const struct query *query);

/* The total of a storm that lists are sorted by under this name: "failed", ...; 0: there is none. */
int64_t storm_number(const struct storm *storm, const char *name);

/* How many of n programs fail how often: classes of failed calls. New reference. */
json_t *histogram_json(uint64_t (*failed)(const void *data, size_t at), const void *data, size_t n);
