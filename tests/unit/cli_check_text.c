/*
 * What is said about one checked program: assumptions about its loader are never left out.
 */
#include "cli/check_text.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const char assumed[] = "profile unknown, assumed glibc 2.42: 'ld.so' does not tell";

static struct checked example(enum check_result result, bool known)
{
    static const struct hop hop = {.exec = "/bin/app", .program = "/bin/app"};
    struct checked checked = {.program = "/bin/app",
                              .result = result,
                              .reason = result == CHECK_AGREES ? NULL : "because",
                              .hop = &hop,
                              .n_hops = 1,
                              .has_trace = result != CHECK_NOT_COMPARABLE};

    checked.predicted.profile.assumed = known ? NULL : assumed;
    return checked;
}

static char *text_of(const struct checked *checked)
{
    const struct term term = {0};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    check_text(to, &term, checked);
    (void)fclose(to);
    return text;
}

static void assumptions_are_shown(void **state UNUSED)
{
    static const struct row {
        enum check_result result;
        bool known, shown;
    } rows[] = {
        {CHECK_AGREES, false, true},
        {CHECK_DIFFERS, false, true},
        {CHECK_NOT_COMPARABLE, false, false}, /* nothing was predicted */
        {CHECK_AGREES, true, false},
    };
    const struct row *row;

    for_each (row, rows) {
        const struct checked checked = example(row->result, row->known);
        char *text = text_of(&checked);
        json_t *json = check_json(&checked);
        const char *said = json_string_value(json_object_get(json, "assumed"));

        assert_int_equal(strstr(text, assumed) != NULL, row->shown);
        assert_int_equal(said != NULL, row->shown);
        if (said)
            assert_string_equal(said, assumed);
        json_decref(json);
        free(text);
    }
}

/* What was dlopened is told, and is no difference. */
static void dlopens_are_told(void **state UNUSED)
{
    static const char *foreseen[] = {"/a/liba.so"}, *unforeseen[] = {"/b/lib\xff.so"};
    struct checked checked = example(CHECK_AGREES, true);
    json_t *json;
    char *text;

    checked.has_later = true;
    checked.foreseen = foreseen;
    checked.unforeseen = unforeseen;
    checked.n_foreseen = checked.n_unforeseen = 1;
    checked.predicted.n_phases = 3;
    checked.predicted.dlopen.failed_opens = 7;
    text = text_of(&checked);
    assert_non_null(
        strstr(text, "2 libraries opened, 1 of them foreseen (3 dlopens predicted: 7 "));
    assert_non_null(strstr(text, "    not foreseen: /b/lib\\xff.so\n"));
    free(text);
    json = check_json(&checked);
    assert_string_equal(json_string_value(json_object_get(json, "result")), "ok");
    assert_int_equal(json_array_size(json_object_get(json, "foreseen")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "unforeseen"), 0)),
                        "/b/lib\\xff.so");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assumptions_are_shown),
        cmocka_unit_test(dlopens_are_told),
    };

    return UNIT_RUN(tests);
}
