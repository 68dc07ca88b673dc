/*
 * What the loader prints about itself, read; and programs timed in turns.
 */
#include "check/timing.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static void test_parse(void **state)
{
    static const char text[] = "  123:\t\n  123:\truntime linker statistics:\n"
                               "  total startup time in dynamic loader: 1 cycles\n"
                               "  time needed for relocation: 1 cycles (9%)\n"
                               "  time needed to load objects: 1 cycles (9%)\n"
                               "  total startup time in dynamic loader: 1000 cycles\n"
                               "  time needed for relocation: 600 cycles (60.0%)\n"
                               "  time needed to load objects: 300 cycles (30.0%)\n";
    double total, relocation, load;

    (void)state;
    assert_true(timing_parse(text, &total, &relocation, &load));
    assert_int_equal((int)total, 1000); /* the last one's: a wrapper came before */
    assert_int_equal((int)relocation, 600);
    assert_int_equal((int)load, 300);
    assert_false(timing_parse("nothing of that", &total, &relocation, &load));
}

static int time_true(const char *const *args, unsigned limit_ms, struct timed *timed,
                     struct arena *arena, struct err *err)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    char dir[] = "/tmp/stormlint-timing.XXXXXX";
    const struct timing timing = {.timed = timed,
                                  .n_timed = 2,
                                  .rounds = 3,
                                  .args = args,
                                  .env = env,
                                  .cwd = "/",
                                  .scratch = mkdtemp(dir),
                                  .interrupt = -1,
                                  .limit_ms = limit_ms};
    int r = timing_run(&timing, arena, err);

    assert_int_equal(rmdir(dir), 0); /* nothing is left behind */
    return r;
}

static void test_run(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct timed timed[2] = {{.program = "/bin/sh"}, {.program = "/bin/sh"}};
    static const char *const args[] = {"-c", "exit 3", NULL};
    static const char *const slow[] = {"-c", "sleep 10", NULL};
    struct err err = {0};

    (void)state;
    assert_int_equal(time_true(args, 10000, timed, &arena, &err), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(timed[i].wall_us > 0 && timed[i].wall_us < 5e6);
        assert_true(timed[i].minor_faults > 0 && timed[i].memory_kib > 0);
        assert_int_equal(timed[i].status, 3 << 8);
    }
    assert_int_equal(time_true(slow, 50, timed, &arena, &err), -ETIMEDOUT);
    timed[1].program = "/no/such/program";
    assert_int_equal(time_true(args, 10000, timed, &arena, &err), -ENOEXEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_run)};

    return UNIT_RUN(tests);
}
