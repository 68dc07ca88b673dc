#include "audit/audit.h"

#include "base/str.h"

#include <string.h>

uint64_t audit_failed(const struct audit *audit)
{
    uint64_t n = 0;

    for (size_t i = 0; i < audit->n_programs; i++)
        n += storm_failed(&audit->program[i].storm);
    return n;
}

uint64_t audit_failed_after(const struct audit *audit)
{
    uint64_t n = 0;

    for (size_t i = 0; i < audit->n_programs; i++) {
        const struct audit_program *p = &audit->program[i];

        n += storm_failed(p->plan ? &p->plan->after : &p->storm);
    }
    return n;
}

bool audit_starts(const struct audit_program *program)
{
    return !strcmp(program->exit, "ok") || str_starts(program->exit, "not dynamic");
}

bool audit_is_offender(const struct audit *audit, const struct audit_program *program)
{
    return program->storm.failed_opens > audit->probe_budget;
}

/* Those that are open: neither suppressed nor known. */
size_t audit_count(const struct audit *audit, enum severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < audit->n_findings; i++)
        n += audit->finding[i].severity == severity &&
             (!audit->finding[i].standing || !strcmp(audit->finding[i].standing, "open"));
    return n;
}

struct audit_finding audit_finding_of(const struct finding *f, struct arena *arena)
{
    static const char *const standings[] = {"open", "suppressed", "known"};

    return (struct audit_finding){
        .rule = f->rule->id,
        .code = f->rule->code,
        .severity = f->severity,
        .confidence = confidence_name(f->confidence),
        .identity = finding_identity(f, arena),
        .message = f->message,
        .fix = f->rule->fix,
        .path = f->path,
        .package = f->package,
        .standing = standings[f->standing],
        .evidence = f->evidence,
        .n_evidence = f->n_evidence,
        .origin = f->origin,
    };
}
