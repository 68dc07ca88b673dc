#include "linter/finding.h"
#include "scanner/maintainer.h"

#include <stdlib.h>
#include <string.h>

static int compare(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const void *a, const void *b)
{
    const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;
    int r = (x->severity < y->severity) - (x->severity > y->severity);

    if (r == 0)
        r = strcmp(x->key, y->key);
    if (r == 0)
        r = strcmp(x->rule->code, y->rule->code);
    if (r == 0)
        r = compare(x->subject, y->subject);
    return r ? r : compare(x->path, y->path);
}

void findings_sort(struct findings *findings)
{
    if (findings->n > 1)
        qsort(findings->item, findings->n, sizeof(struct finding *), by_place);
}

void findings_keep_own(struct findings *findings, const struct maintainer *maintainer)
{
    size_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        if (maintainer_wants(maintainer, findings->item[i]->origin))
            findings->item[n++] = findings->item[i];
    findings->n = n;
}

const char *finding_identity(const struct finding *finding, struct arena *arena)
{
    return finding->subject ? arena_printf(arena, "%s>%s", finding->key, finding->subject)
                            : finding->key;
}

size_t findings_count(const struct findings *findings, enum severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        n += findings->item[i]->severity == severity && findings->item[i]->standing == FINDING_OPEN;
    return n;
}
