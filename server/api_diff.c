/* Two audits side by side. */
#include "server/api.h"

#include "audit/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The difference, in the words of `stormlint diff --json`. */
static int diff_reply(struct query *query, const struct audit *a, const struct audit *b,
                      struct reply *reply, struct err *err)
{
    struct diff_limits limits = DIFF_LIMITS;
    FILE *to = open_memstream(&reply->text, &reply->n_text);
    struct diff diff;
    int r;

    if (!to)
        abort();
    limits.min_calls = (uint32_t)query_number(query, "min_calls");
    limits.min_percent = (uint32_t)query_number(query, "min_percent");
    diff_make(a, b, &limits, query->arena, &diff);
    if (!strcmp(query_text(query, "format"), "markdown")) {
        diff_markdown(&diff, to, query->arena);
        reply->type = "text/markdown; charset=utf-8";
        r = 0;
    } else {
        r = diff_json(&diff, to, err);
        reply->type = "application/json";
    }
    if (fclose(to) != 0 && r == 0)
        r = err_set(err, EIO, "the difference cannot be written");
    if (r < 0)
        free(reply->text);
    return r;
}

/* Of everything, or of what one maintains. */
static int own_diff_reply(struct query *query, const struct audit *from, const struct audit *to,
                          struct reply *reply, struct err *err)
{
    struct maintainer whose = query_maintainer(query);
    struct audit a = *from, b = *to;

    audit_keep_own(&whose, &a, &b);
    return diff_reply(query, &a, &b, reply, err);
}

int get_diff(struct query *query, struct reply *reply, struct err *err)
{
    struct looked_at from, to;
    int r = looked_at_open(query, query_text(query, "from"), &from, err);

    if (r < 0)
        return r;
    r = looked_at_open(query, query_text(query, "to"), &to, err);
    if (r == 0) {
        r = own_diff_reply(query, from.audit, to.audit, reply, err);
        looked_at_close(&to);
    }
    looked_at_close(&from);
    return r;
}
