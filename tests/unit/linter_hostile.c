/*
 * Objects that ask for endless work: linting them ends all the same, and says what was not asked.
 */
#include "base/str.h"
#include "linter/lint.h"
#include "tests/ldso_name.h"
#include "tests/scene.h"
#include "tests/unit/unit.h"

#include <string.h>

struct hostile {
    struct arena *arena;
    struct scene scene;
    struct closure closure;
    struct lint_result result;
};

/* A program that needs so many names in that run path. */
static void hostile_open(struct hostile *h, struct arena *arena, int names, const char *run_path)
{
    struct elf_dyn *dynamic = arena_calloc(arena, (size_t)names + 1, sizeof(*dynamic));

    h->arena = arena;
    scene_open(&h->scene, arena, NULL);
    for (int i = 0; i < names; i++)
        dynamic[i] = (struct elf_dyn){DT_NEEDED, arena_printf(arena, "lib%d.so", i), 0};
    dynamic[names] = (struct elf_dyn){DT_RUNPATH, run_path, 0};
    h->scene.program.dynamic = dynamic;
    h->scene.program.n_dynamic = (size_t)names + 1;
}

/* Lint it; returns the names that were looked up. */
static uint64_t hostile_lint(struct hostile *h)
{
    struct lint_options options = {0};
    struct ldso ldso;
    struct cpu cpu;
    struct err err;
    bool intel;

    assert_int_equal(ldso_by_name(h->arena, "glibc-2.41-debian", scene_interp, &ldso, &intel, &err),
                     0);
    assert_int_equal(cpu_find("x86-64-v1", &cpu, &err), 0);
    h->scene.world = tree_world(&h->scene.tree, &ldso, 0);
    options.cpu = &cpu;
    closure_init(&h->closure, h->scene.world);
    closure_add_file(&h->closure, world_walk(h->scene.world, NULL, "/prog").node);
    closure_finish(&h->closure);
    assert_int_equal(h->closure.n_objects, 1);
    assert_int_equal(lint_run(&h->closure, &options, h->arena, &h->result, &err), 0);
    return h->scene.world->n_steps;
}

static void hostile_close(struct hostile *h)
{
    closure_release(&h->closure);
    scene_close(&h->scene);
}

/* What a rule says that says something once. */
static const char *message(const struct hostile *h, const char *code)
{
    const char *found = "nothing";

    for (size_t i = 0; i < h->result.findings.n; i++)
        if (!strcmp(h->result.findings.item[i]->rule->code, code))
            found = h->result.findings.item[i]->message;
    return found;
}

static void many_names_in_many_directories(void **state UNUSED)
{
    enum { NAMES = 2000, DIRS = 2000 };
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(hostile_close) struct hostile h = {0};
    struct str path = {.arena = &arena};

    for (int i = 0; i < DIRS; i++)
        str_printf(&path, "%s/d/%d", i ? ":" : "", i);
    hostile_open(&h, &arena, NAMES, path.text);
    for (int i = 0; i < DIRS; i++)
        tree_add(&h.scene.tree, ENTRY_DIR, arena_printf(&arena, "/d/%d", i));
    assert_in_range(hostile_lint(&h), DIRS, NAMES * DIRS / 2);
    assert_string_equal(message(&h, "R105"),
                        "not asked: 2004 names in 2000 run path directories are "
                        "more than is looked up");
    assert_string_equal(message(&h, "R113"),
                        "not asked: 2000 names in 2000 run path directories are "
                        "more than is looked up");
}

/* One directory, whoever often and however it is named, is looked at once. */
static void many_names_in_one_directory(void **state UNUSED)
{
    enum { NAMES = 2000, SPELLINGS = 20000 };
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(hostile_close) struct hostile h = {0};
    struct str path = {.arena = &arena};

    for (int i = 0; i < SPELLINGS; i++)
        str_printf(&path, "%s%s", i ? ":" : "", i % 2 ? "/d/." : "/d");
    hostile_open(&h, &arena, NAMES, path.text);
    tree_add(&h.scene.tree, ENTRY_DIR, "/d");
    assert_in_range(hostile_lint(&h), SPELLINGS, 10 * (NAMES + SPELLINGS));
    assert_string_equal(message(&h, "R105"),
                        "20000 of 20000 run path directories find nothing: /d, /d/., /d, ...");
    assert_string_equal(message(&h, "R106"), "the run path names '/d/.' twice");
}

/* A run path that is wrong everywhere is told of a thousand times. */
static void many_findings(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(hostile_close) struct hostile h = {0};
    struct str path = {.arena = &arena};
    size_t n = 0;

    for (int i = 0; i < 5000; i++)
        str_printf(&path, "%srelative%d", i ? ":" : "", i);
    hostile_open(&h, &arena, 1, path.text);
    (void)hostile_lint(&h);
    for (size_t i = 0; i < h.result.findings.n; i++)
        n += !strcmp(h.result.findings.item[i]->rule->code, "R102");
    assert_int_equal(n, 1001);
    for (size_t i = 0; i < h.result.findings.n; i++)
        if (str_same(h.result.findings.item[i]->subject, "more"))
            assert_string_equal(h.result.findings.item[i]->message,
                                "there is more of this: the first 1000 findings are told");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_names_in_many_directories),
        cmocka_unit_test(many_names_in_one_directory),
        cmocka_unit_test(many_findings),
    };

    return UNIT_RUN(tests);
}
