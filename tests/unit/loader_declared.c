/*
 * What objects declare: dlopen notes, also hostile ones, and constants (docs/dlopen.md).
 */
#include "loader/declared.h"

#include "base/str.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { MAX_STRINGS = 6 };

struct row {
    const char *shows;
    const char *note[3];
    const char *constant[MAX_STRINGS];
    const char *expected; /* "NAME|NAME(source priority feature) ..." */
    const char *problem;  /* the first one; NULL: none */
    bool no_import;
};

static const struct row rows[] = {
    {.shows = "nothing", .expected = ""},
    {.shows = "one name",
     .note = {"[{\"soname\":[\"liba.so.1\"]}]"},
     .expected = "liba.so.1(note recommended -)"},
    {.shows = "alternatives keep their order",
     .note = {"[{\"soname\":[\"libbpf.so.1\",\"libbpf.so.0\"],\"feature\":\"bpf\","
              "\"description\":\"x\",\"priority\":\"suggested\"}]"},
     .expected = "libbpf.so.1|libbpf.so.0(note suggested bpf)"},
    {.shows = "several objects, several notes, file order",
     .note = {"[{\"soname\":[\"b\"]},{\"soname\":[\"a\"],\"priority\":\"required\"}]",
              "[{\"soname\":[\"c\"]}]"},
     .expected = "b(note recommended -) a(note required -) c(note recommended -)"},
    {.shows = "a feature twice: both are wanted",
     .note = {"[{\"soname\":[\"a\"],\"feature\":\"f\"},{\"soname\":[\"b\"],\"feature\":\"f\"}]"},
     .expected = "a(note recommended f) b(note recommended f)"},
    {.shows = "constants come last, in file order",
     .note = {"[{\"soname\":[\"libn.so.1\"]}]"},
     .constant = {"libz.so.1", "liba.so.1"},
     .expected = "libn.so.1(note recommended -) libz.so.1(constant - -) liba.so.1(constant - -)"},
    {.shows = "a constant that a note names is the note's",
     .note = {"[{\"soname\":[\"liba.so.2\",\"liba.so.1\"]}]"},
     .constant = {"liba.so.1"},
     .expected = "liba.so.2|liba.so.1(note recommended -)"},
    {.shows = "its own name and its loader's are no dlopens",
     .constant = {"libself.so.1", "/lib/ld.so"},
     .expected = ""},
    {.shows = "pieces of names",
     .constant = {"_driver.so", "-x.so", "plugins/lib.so", "/opt/lib/libp.so", "7zip.so"},
     .expected = "/opt/lib/libp.so(constant - -) 7zip.so(constant - -)"},
    {.shows = "constants of an object that dlopens nothing",
     .constant = {"liba.so"},
     .no_import = true,
     .expected = ""},
    {.shows = "an empty array", .note = {"[]"}, .expected = ""},
    {.shows = "broken JSON costs this note alone",
     .note = {"[{\"soname\":[\"a\"}", "[{\"soname\":[\"b\"]}]"},
     .expected = "b(note recommended -)",
     .problem = "a text that is not JSON is left out"},
    {.shows = "not an array",
     .note = {"{\"soname\":[\"a\"]}"},
     .expected = "",
     .problem = "JSON that is not an array is left out"},
    {.shows = "no sonames, no array of them, none that is text",
     .note = {"[{},7,{\"soname\":\"a\"},{\"soname\":[]},{\"soname\":[1,\"\"]}]"},
     .expected = "",
     .problem = "an entry without an array of sonames is left out"},
    {.shows = "a priority of its own",
     .note = {"[{\"soname\":[\"a\"],\"priority\":\"vital\"}]"},
     .expected = "a(note recommended -)",
     .problem = "a priority that is not known is taken for 'recommended'"},
    {.shows = "a priority that is no text",
     .note = {"[{\"soname\":[\"a\"],\"priority\":3}]"},
     .expected = "a(note recommended -)",
     .problem = "a priority that is not known is taken for 'recommended'"},
    {.shows = "bytes that are not UTF-8",
     .note = {"[{\"soname\":[\"\xff\"]}]"},
     .expected = "",
     .problem = "a text that is not JSON is left out"},
};

static struct object object_of(const struct row *row, struct note *note)
{
    struct object o = {.soname = "libself.so.1", .interp = "/lib/ld.so", .dlopen_note = note};

    o.imports = row->no_import ? IMPORT_DLADDR : IMPORT_DLMOPEN;
    for (size_t i = 0; i < ARRAY_LEN(row->note) && row->note[i]; i++)
        note[o.n_dlopen_notes++] =
            (struct note){(const unsigned char *)row->note[i], (uint32_t)strlen(row->note[i]) + 1};
    return o;
}

static const char *text_of(struct arena *arena, const struct declared_list *list)
{
    struct str out = {.arena = arena};

    str_add(&out, "");
    for (size_t i = 0; i < list->n; i++) {
        const struct declared *d = &list->item[i];

        str_add(&out, i ? " " : "");
        for (size_t k = 0; k < d->n_names; k++)
            str_printf(&out, "%s%s", k ? "|" : "", d->name[k]);
        str_printf(&out, "(%s %s %s)", dlopen_source_name(d->source),
                   d->priority ? d->priority : "-", d->feature ? d->feature : "-");
    }
    return out.text;
}

static void declarations(void **state UNUSED)
{
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct note note[ARRAY_LEN(row->note)];
        const char *constant[MAX_STRINGS];
        struct object object = object_of(row, note);
        struct declared_list list;
        const char *text;

        memcpy(constant, row->constant, sizeof(constant));
        object.dlopen_string = constant;
        while (object.n_dlopen_strings < MAX_STRINGS && constant[object.n_dlopen_strings])
            object.n_dlopen_strings++;
        declared_read(&arena, &object, &list);
        text = text_of(&arena, &list);
        if (strcmp(text, row->expected) != 0)
            fail_msg("%s: '%s', not '%s'", row->shows, text, row->expected);
        if (!row->problem != !list.n_problems)
            fail_msg("%s: %zu problems", row->shows, list.n_problems);
        if (row->problem && !str_starts(list.problem[0], row->problem))
            fail_msg("%s: '%s'", row->shows, list.problem[0]);
    }
}

/* A note's text ends inside it, or is not looked at. */
static void notes_end_inside(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char text[] = "[{\"soname\":[\"a\"]}]";
    struct note note[] = {
        {(const unsigned char *)text, sizeof(text) - 1},
        {(const unsigned char *)"", 0},
        {NULL, 0},
    };
    const struct object object = {.dlopen_note = note, .n_dlopen_notes = ARRAY_LEN(note)};
    struct declared_list list;

    declared_read(&arena, &object, &list);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.n_problems, 3);
}

/* A text of `n` equal rows, or of one row of n names. */
static struct note many(struct arena *arena, size_t n, bool names)
{
    struct str text = {.arena = arena};

    str_add(&text, names ? "[{\"soname\":[" : "[");
    for (size_t i = 0; i < n; i++)
        str_printf(&text, "%s%s", i ? "," : "", names ? "\"a\"" : "{\"soname\":[\"a\"]}");
    str_add(&text, names ? "]}]" : "]");
    return (struct note){(const unsigned char *)text.text, (uint32_t)text.len + 1};
}

static void sizes_are_bounded(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct note note[] = {many(&arena, DECLARED_MAX + 1, false),
                          many(&arena, DECLARED_NAMES_MAX + 1, true),
                          many(&arena, DECLARED_NOTE_MAX / 4 + 1, true)};
    struct object object = {.dlopen_note = note, .n_dlopen_notes = 1};
    struct declared_list list;

    declared_read(&arena, &object, &list);
    assert_int_equal(list.n, DECLARED_MAX);
    assert_int_equal(list.n_problems, 1);
    object.dlopen_note = note + 1;
    object.n_dlopen_notes = 2;
    declared_read(&arena, &object, &list);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.item[0].n_names, DECLARED_NAMES_MAX);
    assert_int_equal(list.n_problems, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations),
        cmocka_unit_test(notes_end_inside),
        cmocka_unit_test(sizes_are_bounded),
    };

    return UNIT_RUN(tests);
}
