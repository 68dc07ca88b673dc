/*
 * The index as an audit: linted as a whole, once for each snapshot, when somebody first asks.
 */
#pragma once

#include "audit/audit_make.h"
#include "server/snapshot.h"

struct index_audit {
    struct arena arena;
    struct audit audit; /* without plans: those are the snapshot's */
};

/* The snapshot's own: lives as long as that. Slow at first. -EAGAIN: the service is being stopped. */
MUST_CHECK int snapshot_audit(struct snapshot *snapshot, const struct audit **ret_audit,
                              struct err *err);
void index_audit_free(struct index_audit *ia); /* NULL: nothing */
