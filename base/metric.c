#include "base/metric.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

static const double bounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

/* One label set of one family. */
struct series {
    UT_hash_handle hh;
    /* atomic: */
    double value;                           /* of a histogram: the sum */
    uint64_t bucket[ARRAY_LEN(bounds) + 1]; /* not cumulative; the last one is what is above */
    char labels[];
};

struct metrics {
    const struct metric *table;
    size_t n;
    pthread_mutex_t lock;   /* of the tables below, not of what is counted */
    struct series **family; /* a hash table each, in order of first use */
};

struct metrics *metrics_new(const struct metric *table, size_t n)
{
    struct metrics *m = calloc(1, sizeof(*m));

    if (!m || !(m->family = calloc(n + 1, sizeof(struct series *))))
        abort();
    m->table = table;
    m->n = n;
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void metrics_free(struct metrics *m)
{
    struct series *s, *next;

    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++)
        HASH_ITER (hh, m->family[i], s, next) {
            HASH_DEL(m->family[i], s);
            free(s);
        }
    pthread_mutex_destroy(&m->lock);
    free(m->family);
    free(m);
}

struct series *metric_series(struct metrics *m, size_t at, const char *labels)
{
    const size_t len = strlen(labels);
    struct series *s;

    if (at >= m->n)
        abort();
    pthread_mutex_lock(&m->lock);
    HASH_FIND(hh, m->family[at], labels, len, s);
    if (!s) {
        s = calloc(1, sizeof(*s) + len + 1);
        if (!s)
            abort();
        memcpy(s->labels, labels, len);
        HASH_ADD(hh, m->family[at], labels, len, s);
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

void series_add(struct series *s, double by)
{
    double old, new;

    __atomic_load(&s->value, &old, __ATOMIC_RELAXED);
    do
        new = old + by;
    while (!__atomic_compare_exchange(&s->value, &old, &new, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
}

void series_observe(struct series *s, double seconds)
{
    size_t i = 0;

    while (i < ARRAY_LEN(bounds) && seconds > bounds[i])
        i++;
    series_add(s, seconds);
    __atomic_add_fetch(&s->bucket[i], 1, __ATOMIC_RELAXED);
}

void metric_add(struct metrics *m, size_t at, const char *labels, double by)
{
    series_add(metric_series(m, at, labels), by);
}

void metric_set(struct metrics *m, size_t at, const char *labels, double value)
{
    __atomic_store(&metric_series(m, at, labels)->value, &value, __ATOMIC_RELAXED);
}

static double value_of(const struct series *s)
{
    double value;

    __atomic_load(&s->value, &value, __ATOMIC_RELAXED);
    return value;
}

static uint64_t bucket_of(const struct series *s, size_t i)
{
    return __atomic_load_n(&s->bucket[i], __ATOMIC_RELAXED);
}

/* ---- text */

static void sample(struct str *to, const char *name, const char *suffix, const char *labels,
                   const char *more, double value)
{
    str_printf(to, "%s%s", name, suffix);
    if (*labels || *more)
        str_printf(to, "{%s%s%s}", labels, *labels && *more ? "," : "", more);
    str_printf(to, " %.15g\n", value);
}

static void histogram(struct str *to, const char *name, const struct series *s)
{
    uint64_t sum = 0;
    char le[48];

    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        sum += bucket_of(s, i);
        (void)snprintf(le, sizeof(le), "le=\"%g\"", bounds[i]);
        sample(to, name, "_bucket", s->labels, le, (double)sum);
    }
    sum += bucket_of(s, ARRAY_LEN(bounds));
    sample(to, name, "_bucket", s->labels, "le=\"+Inf\"", (double)sum);
    sample(to, name, "_sum", s->labels, "", value_of(s));
    sample(to, name, "_count", s->labels, "", (double)sum);
}

void metrics_text(struct metrics *m, struct str *to)
{
    static const char *const kinds[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    const struct series *s;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->n; i++) {
        const struct metric *metric = &m->table[i];

        if (!m->family[i])
            continue;
        str_printf(to, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
                   kinds[metric->kind]);
        for (s = m->family[i]; s; s = s->hh.next)
            if (metric->kind == METRIC_HISTOGRAM)
                histogram(to, metric->name, s);
            else
                sample(to, metric->name, "", s->labels, "", value_of(s));
    }
    pthread_mutex_unlock(&m->lock);
}
