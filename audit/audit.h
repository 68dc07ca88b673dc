/*
 * Audits: the recorded result of looking at a named closure (docs/audits.md).
 *
 * An audit file (NAME.audit.ndjson) is one JSON object a line: a header, a line for each package,
 * program, plan and finding, and an end with their counts. It has no need of the index or the store it
 * was made from; programs and findings are known again in another audit by keys without hashes.
 *
 *	audit_write(&audit, file, &arena, &err);
 *	audit_read(path, &arena, &audit, &err);		-EINVAL: cut off, or not ours
 */
#pragma once

#include "base/json.h"
#include "linter/finding.h"
#include "loader/storm.h"
#include "scanner/maintainer.h"

#define AUDIT_SCHEMA "stormlint-audit/1"

struct audit_package {
    const char *key;             /* "ffmpeg.out" */
    const char *version;         /* "": none */
    const char *path;            /* evidence */
    const struct origin *origin; /* NULL: not known */
};

/* A strategy that was not chosen. */
struct audit_lost {
    const char *strategy, *scope, *standing, *rule, *reason;
};

/* What to do about a program. */
struct audit_plan {
    const char *strategy, *scope, *rule, *reason;
    struct storm after; /* start-up, with the choice */
    struct audit_lost *lost;
    size_t n_lost;
};

struct audit_program {
    const char *key;             /* "ffmpeg.out:bin/ffmpeg" */
    const char *version;         /* of its package */
    const char *path;            /* evidence */
    const char *loader;          /* "glibc 2.41" */
    const char *exit;            /* "ok", "missing: ..." */
    struct storm storm;          /* start-up */
    struct audit_plan *plan;     /* NULL: not planned */
    const struct origin *origin; /* of its package; NULL: not known */
};

struct audit_finding {
    const char *rule, *code;
    enum severity severity;
    const char *confidence;
    const char *identity; /* "ffmpeg.out:bin/ffmpeg>libx.so.1" */
    const char *message, *fix, *path, *package, *standing;
    const char **evidence;
    size_t n_evidence;
    const struct origin *origin; /* of its package; NULL: not known */
};

struct audit {
    const char *name;    /* "project:jobset:eval" */
    const char *time;    /* "2026-11-30T12:00:00Z" */
    const char *version; /* of stormlint */
    const char *cpu;
    const char *source; /* "files" or "index" */
    const char *policy; /* of the plans, by name; NULL: nothing was planned */
    const char **root;  /* what was looked at, without hashes */
    size_t n_roots;
    const char **unasked; /* rules that could not be asked */
    size_t n_unasked;
    int64_t model;
    uint32_t probe_budget;
    bool incomplete;        /* something could not be read */
    const char *maintainer; /* only what this one maintains is left of it; NULL: all is there */
    const char *why_none;   /* ... which is nothing, and why: maintainer_none(); else NULL */

    struct audit_package *package;
    size_t n_packages;
    struct audit_program *program;
    size_t n_programs;
    const char **plan; /* JSON of a package's plan, one line each; of audits read: NULL */
    size_t n_plans;
    struct audit_finding *finding;
    size_t n_findings;
};

/* ---- audit_write.c, audit_read.c */

MUST_CHECK int audit_write(const struct audit *audit, FILE *to, struct err *err);
MUST_CHECK int audit_read(const char *path, struct arena *arena, struct audit *ret_audit,
                          struct err *err);
/*
 * The plans of an audit file, one after the other, each checked as any other plan (-EINVAL: it is
 * none). They are large, and stay in the file until somebody asks.
 */
MUST_CHECK int audit_read_plans(const char *path,
                                int (*each)(void *data, json_t *plan, struct err *err), void *data,
                                struct err *err);
/* Does the file begin like an audit? */
bool audit_is_one(const char *path);

/* ---- audit_own.c */

/*
 * Leave in an audit, and in another that it is compared with (NULL: none), the packages that are
 * `whose` name's, and what is about them. Of the two, what is the name's in one stays in both, by
 * its key: what changed hands, or was not known to be anybody's, is neither new nor gone. Not so
 * where several packages of one key are several people's. All packages are seen. Lists are the
 * maintainer's arena's; without a name nothing changes.
 */
void audit_keep_own(struct maintainer *whose, struct audit *audit, struct audit *other);

/* ---- audit.c */

/* Failed opens and stats of all programs. */
uint64_t audit_failed(const struct audit *audit);
/* The same with the plans carried out: what is not planned stays as it is. */
uint64_t audit_failed_after(const struct audit *audit);
/* Does it start, or ask for no loader? */
bool audit_starts(const struct audit_program *program);
/* Is a program's start over the audit's budget of failed opens? */
bool audit_is_offender(const struct audit *audit, const struct audit_program *program);
size_t audit_count(const struct audit *audit, enum severity severity);

/* One finding of a lint run, as an audit keeps it; borrowed. */
struct audit_finding audit_finding_of(const struct finding *finding, struct arena *arena);
