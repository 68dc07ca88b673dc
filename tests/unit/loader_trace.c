/*
 * Traces as JSON, and the words for their parts.
 */
#include "loader/trace.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

/* A program that needs two libraries: the first found at once, the second nowhere. */
static const char *caps[] = {"glibc-hwcaps/x86-64-v3/", ""};
static const char *dirs[] = {"/lib/"};
static struct loaded loaded[] = {
    {.path = "/s/app/bin/app", .by = -1},
    {.path = "/s/a/lib/liba.so", .soname = "liba.so.1", .by = 0},
};
static struct request requests[] = {
    {.kind = REQUEST_NEEDED, .stage = STAGE_RUNPATH, .answer = 1, .name = "liba.so", .n_calls = 3},
    {.kind = REQUEST_NEEDED,
     .result = RESULT_MISSING,
     .asker = 1,
     .answer = -1,
     .name = "lib\xff.so",
     .first_call = 3,
     .n_calls = 1},
};
static struct call calls[] = {
    {CALL_READLINK, STAGE_DIRECT, OUTCOME_INFO, 0, false, 0, -1, "/proc/self/exe", NULL},
    {CALL_STAT, STAGE_RUNPATH, OUTCOME_INFO, 0, true, 0, 0, "/s/a/lib", NULL},
    {CALL_OPEN, STAGE_RUNPATH, OUTCOME_REJECTED, 0, false, 0, 0, "/s/b/lib/liba.so", "a reason"},
    {CALL_OPEN, STAGE_SYSTEM, OUTCOME_FAILED, ENOENT, false, 0, 1, "/lib/lib\xff.so", NULL},
};

static struct trace example(void)
{
    return (struct trace){
        .program = "/s/app/bin/app",
        .profile = {.libc = LIBC_GLIBC,
                    .version = 36,
                    .text = "glibc 2.36",
                    .interp = "/lib/ld.so",
                    .system_dirs = dirs,
                    .n_system_dirs = 1,
                    .caps = caps,
                    .n_caps = 2},
        .call = calls,
        .n_calls = ARRAY_LEN(calls),
        .request = requests,
        .n_requests = ARRAY_LEN(requests),
        .loaded = loaded,
        .n_loaded = ARRAY_LEN(loaded),
        .storm = {.opens = 2, .failed_opens = 1, .stats = 1, .objects = 2, .directories = 3},
        .exit = EXIT_MISSING,
        .exit_text = "missing: lib\xff.so",
    };
}

/* A trace written and read back. */
static json_t *trace_json(const struct trace *trace)
{
    struct json_writer w = {0};
    json_t *json;

    json_write_begin(&w, NULL, '{');
    trace_write(&w, trace);
    json_write_end(&w);
    json = json_loadb(w.text, w.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    free(w.text);
    return json;
}

static void assert_json(json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    assert_string_equal(text, expected);
    free(text);
}

static void calls_say_who_asked(void **state UNUSED)
{
    const struct trace t = example();
    json_t *json = trace_json(&t), *array = json_object_get(json, "calls");

    assert_int_equal(json_array_size(array), 4);
    assert_json(json_array_get(array, 0),
                "{\"call\":\"readlink\",\"path\":\"/proc/self/exe\",\"result\":\"ok\",\"phase\":0,"
                "\"object\":null,\"needed\":null,\"stage\":\"direct\"}");
    assert_json(json_array_get(array, 1),
                "{\"call\":\"stat\",\"path\":\"/s/a/lib\",\"result\":\"ok-dir\",\"phase\":0,"
                "\"object\":\"/s/app/bin/app\",\"needed\":\"liba.so\",\"stage\":\"runpath\"}");
    assert_json(json_array_get(array, 2),
                "{\"call\":\"open\",\"path\":\"/s/b/lib/liba.so\",\"result\":\"ok\",\"phase\":0,"
                "\"object\":\"/s/app/bin/app\",\"needed\":\"liba.so\",\"stage\":\"runpath\","
                "\"why\":\"a reason\"}");
    assert_json(json_array_get(array, 3),
                "{\"call\":\"open\",\"path\":\"/lib/lib\\\\xff.so\",\"result\":\"ENOENT\","
                "\"phase\":0,\"object\":\"/s/a/lib/liba.so\",\"needed\":\"lib\\\\xff.so\","
                "\"stage\":\"system\"}");
    json_decref(json);
}

static void the_rest_is_told(void **state UNUSED)
{
    const struct trace t = example();
    json_t *json = trace_json(&t);

    assert_json(json_object_get(json, "loaded"),
                "[{\"path\":\"/s/app/bin/app\",\"soname\":null,\"by\":null,\"phase\":0},"
                "{\"path\":\"/s/a/lib/liba.so\",\"soname\":\"liba.so.1\",\"by\":\"/s/app/bin/app\","
                "\"phase\":0}]");
    assert_json(json_object_get(json, "storm"),
                "{\"failed_opens\":1,\"failed_stats\":0,\"failed_others\":0,\"opens\":2,"
                "\"stats\":1,\"others\":0,\"objects\":2,\"directories\":3}");
    assert_json(json_object_get(json, "exit"), "\"missing: lib\\\\xff.so\"");
    assert_json(json_object_get(json_object_get(json, "profile"), "version"), "\"2.36\"");
    assert_json(json_object_get(json_object_get(json, "profile"), "hwcaps"),
                "[\"glibc-hwcaps/x86-64-v3/\"]");
    assert_json(json_object_get(json, "assumptions"), "[]");
    json_decref(json);
}

static void no_loader_no_profile(void **state UNUSED)
{
    const struct trace t = {
        .program = "/s/static", .exit = EXIT_NOT_DYNAMIC, .exit_text = "not dynamic"};
    json_t *json = trace_json(&t);

    assert_true(json_is_null(json_object_get(json, "profile")));
    assert_int_equal(json_array_size(json_object_get(json, "calls")), 0);
    json_decref(json);
}

static void errors_have_names(void **state UNUSED)
{
    assert_string_equal(errno_name(ENOENT), "ENOENT");
    assert_string_equal(errno_name(ENAMETOOLONG), "ENAMETOOLONG");
    assert_string_equal(errno_name(EAGAIN), "EAGAIN");
    assert_string_equal(errno_name(99999), "errno 99999");
}

static void everything_has_a_name(void **state UNUSED)
{
    for (enum stage s = STAGE_DIRECT; s <= STAGE_AUDIT; s++)
        assert_non_null(stage_name(s));
    for (enum call_kind k = CALL_OPEN; k <= CALL_READLINK; k++)
        assert_non_null(call_kind_name(k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_say_who_asked),   cmocka_unit_test(the_rest_is_told),
        cmocka_unit_test(no_loader_no_profile),  cmocka_unit_test(errors_have_names),
        cmocka_unit_test(everything_has_a_name),
    };

    return UNIT_RUN(tests);
}
