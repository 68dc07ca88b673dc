#include "audit/diff.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title, *one, *several;
} changes[] = {
    [CHANGE_NEW_OFFENDER] = {"new-offender", "New offenders", "new offender", "new offenders"},
    [CHANGE_BROKEN] = {"broken", "Does not start any more", "does not start any more",
                       "do not start any more"},
    [CHANGE_WORSE] = {"worse", "Worse", "worse", "worse"},
    [CHANGE_BETTER] = {"better", "Better", "better", "better"},
    [CHANGE_FIXED] = {"fixed", "No longer over the budget", "no longer over the budget",
                      "no longer over the budget"},
    [CHANGE_REPAIRED] = {"repaired", "Starts again", "starts again", "start again"},
    [CHANGE_ADDED] = {"added", "New programs", "new", "new"},
    [CHANGE_REMOVED] = {"removed", "Programs that are gone", "gone", "gone"},
};

const char *change_name(enum change change)
{
    return changes[change].name;
}

const char *change_title(enum change change)
{
    return changes[change].title;
}

const char *change_words(enum change change, size_t n)
{
    return str_count(n, changes[change].one, changes[change].several);
}

const char *severity_words(struct arena *arena, enum severity from, size_t n)
{
    const char *plural = str_count(n, "", "s");

    return from == SEVERITY_ERROR ? arena_printf(arena, "error%s", plural)
                                  : arena_printf(arena, "finding%s of severity %s or worse", plural,
                                                 severity_name(from));
}

/* ---- matching two lists by key, equal versions first */

struct row {
    const char *key, *version;
    size_t at; /* place in its list */
    bool used;
};

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int r = strcmp(x->key, y->key);

    if (r == 0)
        r = strcmp(x->version, y->version);
    return r ? r : (x->at > y->at) - (x->at < y->at);
}

struct rows {
    struct row *row;
    size_t n;
};

struct matched {
    void (*each)(void *data, size_t a, size_t b); /* SIZE_MAX: none */
    void *data;
};

/*
 * One key's rows of both lists, sorted by version: those of one version, then whatever is left, in
 * order.
 */
static void match_key(struct row *a, size_t n_a, struct row *b, size_t n_b,
                      const struct matched *to)
{
    size_t i = 0, k = 0;

    while (i < n_a && k < n_b) {
        const int order = strcmp(a[i].version, b[k].version);

        if (order == 0) {
            a[i].used = b[k].used = true;
            to->each(to->data, a[i].at, b[k].at);
        }
        i += order <= 0;
        k += order >= 0;
    }
    for (i = k = 0; i < n_a || k < n_b;) {
        if (i < n_a && a[i].used) {
            i++;
        } else if (k < n_b && b[k].used) {
            k++;
        } else {
            to->each(to->data, i < n_a ? a[i].at : SIZE_MAX, k < n_b ? b[k].at : SIZE_MAX);
            i += i < n_a;
            k += k < n_b;
        }
    }
}

static size_t run_length(const struct rows *rows, size_t at)
{
    size_t end = at;

    while (end < rows->n && !strcmp(rows->row[end].key, rows->row[at].key))
        end++;
    return end - at;
}

static void match(struct rows *a, struct rows *b, const struct matched *to)
{
    if (a->n > 1)
        qsort(a->row, a->n, sizeof(*a->row), by_key);
    if (b->n > 1)
        qsort(b->row, b->n, sizeof(*b->row), by_key);
    for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
        const int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->row[i].key, b->row[k].key);
        const size_t n_a = order <= 0 ? run_length(a, i) : 0;
        const size_t n_b = order >= 0 ? run_length(b, k) : 0;

        match_key(a->row + i, n_a, b->row + k, n_b, to);
        i += n_a;
        k += n_b;
    }
}

/* ---- programs */

struct making {
    struct diff *diff;
    const struct diff_limits *limits;
    struct arena *arena;
};

static bool is_much(const struct diff_limits *limits, uint64_t from, uint64_t to)
{
    return to >= from + limits->min_calls &&
           (to - from) * 100 >= from * (uint64_t)limits->min_percent;
}

/* What became of a program; N_CHANGES: nothing worth a word. */
static enum change change_of(const struct making *m, const struct audit_program *before,
                             const struct audit_program *after)
{
    const struct diff *d = m->diff;
    uint64_t from, to;

    if (!after)
        return CHANGE_REMOVED;
    if (!before)
        return audit_is_offender(d->b, after) ? CHANGE_NEW_OFFENDER : CHANGE_ADDED;
    if (audit_starts(before) != audit_starts(after))
        return audit_starts(before) ? CHANGE_BROKEN : CHANGE_REPAIRED;
    if (audit_is_offender(d->b, after) && !audit_is_offender(d->b, before))
        return CHANGE_NEW_OFFENDER;
    if (!audit_is_offender(d->b, after) && audit_is_offender(d->b, before))
        return CHANGE_FIXED;
    from = storm_failed(&before->storm);
    to = storm_failed(&after->storm);
    if (is_much(m->limits, from, to))
        return CHANGE_WORSE;
    return is_much(m->limits, to, from) ? CHANGE_BETTER : N_CHANGES;
}

static void match_program(void *data, size_t a, size_t b)
{
    const struct making *m = data;
    struct diff *d = m->diff;
    const struct audit_program *before = a == SIZE_MAX ? NULL : &d->a->program[a];
    const struct audit_program *after = b == SIZE_MAX ? NULL : &d->b->program[b];
    const enum change change = change_of(m, before, after);

    if (change == N_CHANGES) {
        d->n_same_programs++;
        return;
    }
    d->count[change]++;
    d->program = arena_grow(m->arena, d->program, d->n_programs, sizeof(*d->program));
    d->program[d->n_programs++] = (struct diff_program){change, before, after};
}

static uint64_t distance(const struct diff_program *p)
{
    const uint64_t from = p->before ? storm_failed(&p->before->storm) : 0;
    const uint64_t to = p->after ? storm_failed(&p->after->storm) : 0;

    return from > to ? from - to : to - from;
}

static int by_change(const void *a, const void *b)
{
    const struct diff_program *x = a, *y = b;
    const uint64_t dx = distance(x), dy = distance(y);

    if (x->change != y->change)
        return x->change < y->change ? -1 : 1;
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return strcmp((x->after ? x->after : x->before)->key, (y->after ? y->after : y->before)->key);
}

static struct rows program_rows(const struct audit *audit, struct arena *arena)
{
    struct rows rows = {arena_calloc(arena, audit->n_programs + 1, sizeof(*rows.row)),
                        audit->n_programs};

    for (size_t i = 0; i < rows.n; i++)
        rows.row[i] = (struct row){
            .key = audit->program[i].key, .version = audit->program[i].version, .at = i};
    return rows;
}

/* ---- packages */

static void match_package(void *data, size_t a, size_t b)
{
    const struct making *m = data;
    struct diff *d = m->diff;
    const struct audit_package *before = a == SIZE_MAX ? NULL : &d->a->package[a];
    const struct audit_package *after = b == SIZE_MAX ? NULL : &d->b->package[b];

    if (before && after && !strcmp(before->version, after->version))
        return;
    d->n_added += !before;
    d->n_removed += !after;
    d->n_updated += before && after;
    d->package = arena_grow(m->arena, d->package, d->n_packages, sizeof(*d->package));
    d->package[d->n_packages++] = (struct diff_package){before, after};
}

static struct rows package_rows(const struct audit *audit, struct arena *arena)
{
    struct rows rows = {arena_calloc(arena, audit->n_packages + 1, sizeof(*rows.row)),
                        audit->n_packages};

    for (size_t i = 0; i < rows.n; i++)
        rows.row[i] = (struct row){
            .key = audit->package[i].key, .version = audit->package[i].version, .at = i};
    return rows;
}

/* ---- findings */

static bool is_open(const struct audit_finding *f)
{
    return !f->standing || !strcmp(f->standing, "open");
}

static void match_finding(void *data, size_t a, size_t b)
{
    const struct making *m = data;
    struct diff *d = m->diff;

    /* what became more severe is new trouble, and nothing of it is fixed */
    if (b != SIZE_MAX && is_open(&d->b->finding[b]) &&
        (a == SIZE_MAX || d->a->finding[a].severity < d->b->finding[b].severity)) {
        d->new_finding =
            arena_grow(m->arena, d->new_finding, d->n_new, sizeof(struct audit_finding *));
        d->new_finding[d->n_new++] = &d->b->finding[b];
    } else if (b == SIZE_MAX && is_open(&d->a->finding[a])) {
        d->fixed_finding =
            arena_grow(m->arena, d->fixed_finding, d->n_fixed, sizeof(struct audit_finding *));
        d->fixed_finding[d->n_fixed++] = &d->a->finding[a];
    }
}

static struct rows finding_rows(const struct audit *audit, struct arena *arena)
{
    struct rows rows = {arena_calloc(arena, audit->n_findings + 1, sizeof(*rows.row)),
                        audit->n_findings};

    for (size_t i = 0; i < rows.n; i++)
        rows.row[i] = (struct row){
            .key = arena_printf(arena, "%s %s", audit->finding[i].rule, audit->finding[i].identity),
            .version = "",
            .at = i};
    return rows;
}

static int by_severity(const void *a, const void *b)
{
    const struct audit_finding *x = *(const struct audit_finding *const *)a;
    const struct audit_finding *y = *(const struct audit_finding *const *)b;
    int r = (x->severity < y->severity) - (x->severity > y->severity);

    if (r == 0)
        r = strcmp(x->code, y->code);
    return r ? r : strcmp(x->identity, y->identity);
}

/* ---- the budget */

static void over(struct making *m, const char *sentence)
{
    struct diff *d = m->diff;

    d->over = arena_grow(m->arena, d->over, d->n_over, sizeof(*d->over));
    d->over[d->n_over++] = sentence;
}

static void judge(struct making *m)
{
    struct diff *d = m->diff;
    const struct diff_limits *l = m->limits;
    const uint64_t before = audit_failed(d->a), after = audit_failed(d->b);
    size_t n_failing = 0;

    for (size_t i = 0; i < d->n_new; i++)
        n_failing += d->new_finding[i]->severity >= l->fail_on;
    if (d->count[CHANGE_BROKEN])
        over(m,
             arena_printf(m->arena, "%zu program%s any more", d->count[CHANGE_BROKEN],
                          str_count(d->count[CHANGE_BROKEN], " does not start", "s do not start")));
    if (d->count[CHANGE_NEW_OFFENDER] > l->allow_new)
        over(m, arena_printf(m->arena, "%zu %s, %zu %s allowed", d->count[CHANGE_NEW_OFFENDER],
                             change_words(CHANGE_NEW_OFFENDER, d->count[CHANGE_NEW_OFFENDER]),
                             l->allow_new, str_count(l->allow_new, "is", "are")));
    if (d->count[CHANGE_WORSE] > l->allow_worse)
        over(m, arena_printf(m->arena, "%zu program%s got worse, %zu %s allowed",
                             d->count[CHANGE_WORSE], str_count(d->count[CHANGE_WORSE], "", "s"),
                             l->allow_worse, str_count(l->allow_worse, "is", "are")));
    if (l->limits_total && after > before + l->allow_total)
        over(m, arena_printf(m->arena, "%llu more failed calls, %llu are allowed",
                             (unsigned long long)(after - before),
                             (unsigned long long)l->allow_total));
    if (n_failing)
        over(m, arena_printf(m->arena, "%zu new %s", n_failing,
                             severity_words(m->arena, l->fail_on, n_failing)));
    if (l->fail_on == SEVERITY_NEVER)
        d->n_over = 0;
}

void diff_make(const struct audit *a, const struct audit *b, const struct diff_limits *limits,
               struct arena *arena, struct diff *ret_diff)
{
    struct diff diff = {.a = a, .b = b};
    struct making m = {.diff = &diff, .limits = limits, .arena = arena};
    struct rows from = program_rows(a, arena), to = program_rows(b, arena);

    match(&from, &to, &(struct matched){match_program, &m});
    from = package_rows(a, arena), to = package_rows(b, arena);
    match(&from, &to, &(struct matched){match_package, &m});
    from = finding_rows(a, arena), to = finding_rows(b, arena);
    match(&from, &to, &(struct matched){match_finding, &m});
    if (diff.n_programs > 1)
        qsort(diff.program, diff.n_programs, sizeof(*diff.program), by_change);
    if (diff.n_new > 1)
        qsort(diff.new_finding, diff.n_new, sizeof(struct audit_finding *), by_severity);
    if (diff.n_fixed > 1)
        qsort(diff.fixed_finding, diff.n_fixed, sizeof(struct audit_finding *), by_severity);
    judge(&m);
    *ret_diff = diff;
}
