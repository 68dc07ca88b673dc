#include "tests/unit/unit.h"

#include "base/metric.h"

#include <string.h>

static const struct metric table[] = {
    {"a_total", "Things counted", METRIC_COUNTER},
    {"b", "A level", METRIC_GAUGE},
    {"c_seconds", "Times", METRIC_HISTOGRAM},
    {"never", "Never used", METRIC_GAUGE},
};

static void test_text(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct metrics *m = metrics_new(table, ARRAY_LEN(table));
    struct str text = {.arena = &arena};

    metric_add(m, 0, "x=\"1\"", 1);
    metric_add(m, 0, "x=\"1\"", 2);
    metric_add(m, 0, "x=\"2\"", 0.5);
    metric_set(m, 1, "", 7);
    metric_set(m, 1, "", -3);
    metrics_text(m, &text);
    assert_string_equal(text.text, "# HELP a_total Things counted\n# TYPE a_total counter\n"
                                   "a_total{x=\"1\"} 3\na_total{x=\"2\"} 0.5\n"
                                   "# HELP b A level\n# TYPE b gauge\nb -3\n");
    metrics_free(m);
}

static void test_histogram(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct metrics *m = metrics_new(table, ARRAY_LEN(table));
    struct str text = {.arena = &arena};
    struct series *s;

    s = metric_series(m, 2, "r=\"/\"");
    series_observe(s, 0.0001); /* on a bound: counted in it */
    series_observe(s, 0.3);
    series_observe(s, 99);
    metrics_text(m, &text);
    assert_non_null(strstr(text.text, "c_seconds_bucket{r=\"/\",le=\"0.0001\"} 1\n"));
    assert_non_null(strstr(text.text, "c_seconds_bucket{r=\"/\",le=\"0.25\"} 1\n"));
    assert_non_null(strstr(text.text, "c_seconds_bucket{r=\"/\",le=\"0.5\"} 2\n"));
    assert_non_null(strstr(text.text, "c_seconds_bucket{r=\"/\",le=\"10\"} 2\n"));
    assert_non_null(strstr(text.text, "c_seconds_bucket{r=\"/\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text.text, "c_seconds_sum{r=\"/\"} 99.3001\n"));
    assert_non_null(strstr(text.text, "c_seconds_count{r=\"/\"} 3\n"));
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_histogram),
    };

    return UNIT_RUN(tests);
}
