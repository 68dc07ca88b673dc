/*
 * The resolver's decision over a file system of a few paths: each row is one request.
 */
#include "base/base.h"
#include "resolver/decide.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { LOOKS_MAX = 64 };

/* What is there. A path that is not listed is absent. */
static const struct {
    const char *path;
    enum seen seen;
} files[] = {
    {"/a/libx.so", SEEN_THERE},
    {"/b/libx.so", SEEN_THERE},
    {"/other/libx.so", SEEN_FOREIGN},
    {"/closed/libx.so", SEEN_UNSURE},
    {"/plain/", SEEN_THERE},
    {"/levels/", SEEN_THERE},
    {"/levels/glibc-hwcaps", SEEN_THERE},
    {"/old/", SEEN_THERE},
    {"/old/tls", SEEN_THERE},
    {"/full/", SEEN_THERE},
    {"/full/libx.so", SEEN_FOREIGN},
    {"libx.so", SEEN_THERE},
    {"/lp/libx.so", SEEN_THERE},
    {"/lp-levels/glibc-hwcaps", SEEN_THERE},
    {"/lp-closed/libx.so", SEEN_UNSURE},
};

struct looks {
    const char *path[LOOKS_MAX];
    char text[LOOKS_MAX][64];
    size_t n;
};

static enum seen look(void *data, const char *path, bool verify)
{
    struct looks *looks = data;

    assert_true(looks->n < LOOKS_MAX);
    (void)strncpy(looks->text[looks->n++], path, 63);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i].seen == SEEN_FOREIGN && !verify ? SEEN_THERE : files[i].seen;
    return SEEN_ABSENT;
}

enum tags { NONE, RUNPATH, RPATH };

static const struct row {
    const char *what;
    const char *list;
    const char *library_path;
    enum tags tags;
    bool inherits;
    const char *answer;
    size_t looks;
} rows[] = {
    {"exact", "=/a/libx.so", NULL, RUNPATH, false, "/a/libx.so", 1},
    {"exact, not last", "=/a/libx.so:=/b/libx.so", NULL, RUNPATH, false, "/a/libx.so", 1},
    {"gone, then there", "=/gone/libx.so:=/b/libx.so", NULL, RUNPATH, false, "/b/libx.so", 2},
    {"gone", "=/gone/libx.so", NULL, RUNPATH, false, NULL, 1},
    {"another machine's", "=/other/libx.so:=/b/libx.so", NULL, RUNPATH, false, "/b/libx.so", 2},
    {"not to be read, or no library", "=/closed/libx.so:=/b/libx.so", NULL, RUNPATH, false, NULL,
     1},
    {"relative", "=a/libx.so", NULL, RUNPATH, false, NULL, 0},
    {"a token", "=/$LIB/libx.so:=/a/libx.so", NULL, RUNPATH, false, "/a/libx.so", 1},
    {"an unknown element", "/a/libx.so:=/b/libx.so", NULL, RUNPATH, false, "/b/libx.so", 1},
    {"empty elements", "::=/b/libx.so:", NULL, RUNPATH, false, "/b/libx.so", 1},
    {"hint: not there", "?/gone:=/a/libx.so", NULL, RUNPATH, false, "/a/libx.so", 2},
    {"hint: not in it", "?/plain:=/a/libx.so", NULL, RUNPATH, false, "/a/libx.so", 8},
    {"hint: in it, whatever it is", "?/full:=/a/libx.so", NULL, RUNPATH, false, NULL, 7},
    {"hint: for CPUs", "?/levels:=/a/libx.so", NULL, RUNPATH, false, NULL, 2},
    {"hint: for CPUs, old", "?/old:=/a/libx.so", NULL, RUNPATH, false, NULL, 3},
    {"hint: a token", "?$ORIGIN:=/a/libx.so", NULL, RUNPATH, false, NULL, 0},
    {"hint: relative", "?lib:=/a/libx.so", NULL, RUNPATH, false, NULL, 0},
    {"hint: empty", "?:=/a/libx.so", NULL, RUNPATH, false, NULL, 0},
    {"library path: not in it", "=/a/libx.so", "/lp-none", RUNPATH, false, "/a/libx.so", 7},
    {"library path: two", "=/a/libx.so", "/n1:/n2", RUNPATH, false, "/a/libx.so", 13},
    {"library path: semicolon", "=/a/libx.so", "/n1;/lp", RUNPATH, false, NULL, 12},
    {"library path: in it", "=/a/libx.so", "/lp", RUNPATH, false, NULL, 6},
    {"library path: not to be read", "=/a/libx.so", "/lp-closed", RUNPATH, false, NULL, 6},
    {"library path: for CPUs", "=/a/libx.so", "/lp-levels", RUNPATH, false, NULL, 1},
    {"library path: a token", "=/a/libx.so", "/x/$LIB", RUNPATH, false, NULL, 0},
    {"library path: empty component", "=/a/libx.so", "/n1:", RUNPATH, false, NULL, 12},
    {"library path: without run path", "=/a/libx.so", "/lp", NONE, false, NULL, 6},
    {"library path: after RPATH", "=/a/libx.so", "/lp", RPATH, false, "/a/libx.so", 1},
    {"somebody's RPATH, no tag", "=/a/libx.so", NULL, NONE, true, NULL, 0},
    {"somebody's RPATH, RUNPATH", "=/a/libx.so", NULL, RUNPATH, true, "/a/libx.so", 1},
    {"no tag", "=/a/libx.so", NULL, NONE, false, "/a/libx.so", 1},
};

static struct resolver *fresh(struct looks *looks)
{
    static struct resolver r;

    r = (struct resolver){.look = look, .data = looks, .machine = EM_X86_64};
    *looks = (struct looks){0};
    return &r;
}

/* A closure note with one row for the program. */
static size_t make_note(char *to, const char *list)
{
    static const char head[] = "1\0\0libx.so\0\0.\0libx.so";
    const size_t len = strlen(list) + 1;

    memcpy(to, head, sizeof(head));
    memcpy(to + sizeof(head), list, len);
    to[sizeof(head) + len] = '\0';
    return sizeof(head) + len + 1;
}

static void answers(void **state UNUSED)
{
    const struct row *row;

    for_each (row, rows) {
        struct looks looks;
        struct resolver *r = fresh(&looks);
        const struct asker asker = {.path = CLOSURE_PROGRAM,
                                    .is_program = true,
                                    .rpath = row->tags == RPATH,
                                    .runpath = row->tags == RUNPATH};
        char note[512];
        const char *answer;

        assert_true(closure_open(&r->closure, note, make_note(note, row->list)));
        r->library_path = row->library_path;
        r->inherits = row->inherits;
        answer = resolver_answer(r, &asker, "libx.so");
        if ((answer == NULL) != (row->answer == NULL) ||
            (answer && strcmp(answer, row->answer) != 0))
            fail_msg("%s: %s, not %s", row->what, answer, row->answer);
        if (looks.n != row->looks)
            fail_msg("%s: %zu looks, not %zu", row->what, looks.n, row->looks);
    }
}

static void steps_aside(void **state UNUSED)
{
    const struct asker program = {.path = CLOSURE_PROGRAM, .is_program = true, .runpath = true};
    const struct asker library = {.path = "/a/liby.so", .runpath = true};
    struct looks looks;
    struct resolver *r = fresh(&looks);
    char note[512];

    assert_true(closure_open(&r->closure, note, make_note(note, "=/a/libx.so")));
    assert_null(resolver_answer(r, &program, ""));
    assert_null(resolver_answer(r, &program, "./libx.so"));
    assert_null(resolver_answer(r, &program, "libz.so"));
    assert_null(resolver_answer(r, &library, "libx.so"));
    r->off = true;
    assert_null(resolver_answer(r, &program, "libx.so"));
    assert_int_equal(looks.n, 0);
}

/* What ld.so takes, passes over, or must see for itself: it may end on it, or pass over some. */
static void judges_heads(void **state UNUSED)
{
    static const struct seen_head good = {ELFCLASS64, ELFDATA2LSB, 1, 0, ET_DYN, EM_X86_64};
    static const struct {
        struct seen_head head;
        enum seen seen;
    } heads[] = {
        {{ELFCLASS64, ELFDATA2LSB, 1, ELFOSABI_GNU, ET_DYN, EM_X86_64}, SEEN_THERE},
        {{ELFCLASS64, ELFDATA2LSB, 1, 0, ET_DYN, EM_AARCH64}, SEEN_FOREIGN},
        {{ELFCLASS32, ELFDATA2MSB, 0, 9, ET_EXEC, EM_S390}, SEEN_FOREIGN},
        {{ELFCLASS64, ELFDATA2MSB, 1, 0, ET_DYN, EM_S390}, SEEN_UNSURE},
        {{ELFCLASS64, ELFDATA2LSB, 2, 0, ET_DYN, EM_X86_64}, SEEN_UNSURE},
        {{ELFCLASS64, ELFDATA2LSB, 1, 9, ET_DYN, EM_X86_64}, SEEN_UNSURE},
        {{ELFCLASS64, ELFDATA2LSB, 1, 0, ET_EXEC, EM_X86_64}, SEEN_UNSURE},
    };

    assert_int_equal(resolver_judge(EM_X86_64, &good), SEEN_THERE);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (resolver_judge(EM_X86_64, &heads[i].head) != heads[i].seen)
            fail_msg("head %zu", i);
}

/* Only the program has a resolution note that is read. */
static void reads_own_note(void **state UNUSED)
{
    static const char pairs[] = "libx.so\0=/b/libx.so\0";
    const struct asker program = {.path = CLOSURE_PROGRAM, .is_program = true, .runpath = true};
    const struct asker library = {.path = "/a/liby.so", .runpath = true};
    struct looks looks;
    struct resolver *r = fresh(&looks);
    char note[512];

    assert_true(resolution_open(&r->own, pairs, sizeof(pairs)));
    assert_string_equal(resolver_answer(r, &program, "libx.so"), "/b/libx.so");
    assert_null(resolver_answer(r, &library, "libx.so"));
    assert_true(closure_open(&r->closure, note, make_note(note, "=/a/libx.so")));
    assert_string_equal(resolver_answer(r, &program, "libx.so"), "/a/libx.so");
}

/* A directory is looked at once in a row of hints that name it. */
static void remembers_hints(void **state UNUSED)
{
    static const char rows_text[] =
        "1\0\0\0.\0libx.so\0?/gone:=/a/libx.so\0.\0liby.so\0?/gone:=/b/libx.so\0";
    const struct asker program = {.path = CLOSURE_PROGRAM, .is_program = true, .runpath = true};
    struct looks looks;
    struct resolver *r = fresh(&looks);

    assert_true(closure_open(&r->closure, rows_text, sizeof(rows_text)));
    assert_string_equal(resolver_answer(r, &program, "libx.so"), "/a/libx.so");
    assert_string_equal(resolver_answer(r, &program, "liby.so"), "/b/libx.so");
    assert_int_equal(looks.n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),         cmocka_unit_test(judges_heads),
        cmocka_unit_test(steps_aside),     cmocka_unit_test(reads_own_note),
        cmocka_unit_test(remembers_hints),
    };

    return UNIT_RUN(tests);
}
