/*
 * Findings: what a rule says about a file, as data that outlives the closure it was found in.
 *
 * A finding is known again in another build by `rule`, `key` and `subject`, in which no hash of a
 * store path stands: so that a rebuild opens no new alerts, and audits can be compared.
 */
#pragma once

#include "base/arena.h"
#include "linter/rule.h"

enum finding_standing {
    FINDING_OPEN,
    FINDING_SUPPRESSED, /* stormlint.json says so */
    FINDING_KNOWN,      /* the baseline has it */
};

struct origin;     /* scanner/origin.h */
struct maintainer; /* scanner/maintainer.h */

struct finding {
    const struct rule *rule;
    enum severity severity;     /* mostly the rule's */
    enum confidence confidence; /* likewise */
    const char *path;           /* of the file or package; NULL: of none */
    const char *package;        /* store path; NULL: none */
    const char *key;            /* without hash: "ffmpeg.out:bin/ffmpeg" */
    const char *subject;        /* what about it, without hashes: a name, a directory; NULL */
    const char *message;        /* a sentence, without hashes */
    const char **evidence;      /* facts, with whole paths */
    size_t n_evidence;
    uint32_t programs; /* starts that show it; 0: not a matter of starts */
    enum finding_standing standing;
    const char *reason;          /* why it is suppressed; NULL */
    const struct origin *origin; /* of its package: whom to tell; NULL: not known */
};

struct findings {
    struct finding **item;
    size_t n;
};

/*
 * Errors first, then by key, code and subject: the order they are shown in, the same for another
 * build of the same things.
 */
void findings_sort(struct findings *findings);

/* Keep those about packages that somebody maintains. */
void findings_keep_own(struct findings *findings, const struct maintainer *maintainer);

/* "key>subject": with the rule's id, a finding's identity. In `arena`. */
const char *finding_identity(const struct finding *finding, struct arena *arena);

/* How many of a severity are open. */
size_t findings_count(const struct findings *findings, enum severity severity);
