/*
 * Metrics: one table of counters, gauges and histograms, and the text Prometheus reads.
 *
 *	static const struct metric table[] = {
 *	    {"stormlint_jobs_total", "Jobs by outcome", METRIC_COUNTER},
 *	};
 *	struct metrics *m = metrics_new(table, ARRAY_LEN(table));
 *	metric_add(m, 0, "outcome=\"done\"", 1);
 *	metrics_text(m, &str);
 *
 * A label set is one text, as it stands between the braces ("" for none). Whoever makes it takes
 * care that there are few of them: words of our own tables, never anything a client or a store
 * says. All functions may be called by any thread.
 */
#pragma once

#include "base/str.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name;
    const char *help; /* one line */
    enum metric_kind kind;
};

struct metrics;

/* The table must outlive the metrics. Never NULL. */
struct metrics *metrics_new(const struct metric *table, size_t n);
void metrics_free(struct metrics *metrics);

/* `at` is the row in the table; `labels` is copied when it is seen first. */
void metric_add(struct metrics *metrics, size_t at, const char *labels, double by);
void metric_set(struct metrics *metrics, size_t at, const char *labels, double value);

/*
 * What is counted under one label set: never freed before its metrics. Whoever counts often keeps
 * it, and then counts without any lock.
 */
struct series;
struct series *metric_series(struct metrics *metrics, size_t at, const char *labels);
void series_add(struct series *series, double by);
/* Of a histogram: one more observation. Buckets are those of latencies: 100 us to 10 s. */
void series_observe(struct series *series, double seconds);

/* Append everything in the text format 0.0.4, families in the order of the table. */
void metrics_text(struct metrics *metrics, struct str *to);
