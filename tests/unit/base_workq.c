/*
 * The work queue: every job once, failures stop everything, nothing is lost or leaked.
 */
#include "tests/unit/unit.h"

#include "base/workq.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { JOBS = 1000 };

struct sum {
    unsigned seen[JOBS]; /* writer's */
    size_t fail_at;      /* writes before it fails; 0: never */
    size_t written;
    atomic_int readers, results;
};

static void *open_reader(void *data)
{
    struct sum *sum = data;

    atomic_fetch_add(&sum->readers, 1);
    return data;
}

static void close_reader(void *data, void *reader)
{
    assert_ptr_equal(data, reader);
    atomic_fetch_sub(&((struct sum *)data)->readers, 1);
}

static struct sum *dropped_from;

static void *read_job(void *data, void *reader, size_t job)
{
    size_t *result = malloc(sizeof(*result));

    (void)reader;
    if (!result)
        abort();
    *result = job;
    atomic_fetch_add(&((struct sum *)data)->results, 1);
    return result;
}

static int write_job(void *data, void *result, struct err *err)
{
    struct sum *sum = data;
    const size_t job = *(size_t *)result;

    free(result);
    atomic_fetch_sub(&sum->results, 1);
    sum->seen[job]++;
    sum->written++;
    return sum->written == sum->fail_at ? err_set(err, ENOSPC, "full") : 0;
}

static void drop_job(void *result)
{
    free(result);
    atomic_fetch_sub(&dropped_from->results, 1);
}

static int run(struct sum *sum, unsigned readers)
{
    const struct work work = {.data = sum,
                              .reader_open = open_reader,
                              .reader_close = close_reader,
                              .read = read_job,
                              .write = write_job,
                              .drop = drop_job};
    struct err err;

    dropped_from = sum;
    return work_run(&work, JOBS, readers, &err);
}

static void every_job_once(void **state)
{
    (void)state;
    for (unsigned readers = 0; readers < 5; readers++) {
        struct sum sum = {0};

        assert_int_equal(run(&sum, readers), 0);
        assert_int_equal(sum.written, JOBS);
        for (size_t i = 0; i < JOBS; i++)
            assert_int_equal(sum.seen[i], 1);
        assert_int_equal(sum.readers, 0);
        assert_int_equal(sum.results, 0);
    }
}

static void failure_stops_all(void **state)
{
    (void)state;
    for (unsigned readers = 0; readers < 5; readers++) {
        struct sum sum = {.fail_at = 10};

        assert_int_equal(run(&sum, readers), -ENOSPC);
        assert_int_equal(sum.written, 10);
        assert_int_equal(sum.readers, 0);
        assert_int_equal(sum.results, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job_once),
                                       cmocka_unit_test(failure_stops_all)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
