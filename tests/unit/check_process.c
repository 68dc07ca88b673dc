/*
 * Whole starts as strace shows them: what is counted, and where start-up ends.
 */
#include "check/process.h"

#include "check/compare.h"
#include "check/proctree.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

/* Feed lines, ended by NULL; every one must be understood. */
static struct process seen(struct arena *arena, const char *const *line)
{
    struct process process = {.arena = arena};
    struct err err;

    for (; *line; line++)
        if (process_line(&process, *line, strlen(*line), &err) < 0)
            fail_msg("%s: %s", *line, err.text);
    return process;
}

#define EXEC(path)     "execve(\"" path "\", [\"x\"], 0x7ffd /* 1 var */) = 0"
#define OPEN(path)     "openat(AT_FDCWD, \"" path "\", O_RDONLY|O_CLOEXEC) = 3"
#define NO_OPEN(path)  "openat(AT_FDCWD, \"" path "\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such)"
#define NO_STAT(path)  "newfstatat(AT_FDCWD, \"" path "\", 0x7ffe, 0) = -1 ENOENT (No such)"
#define NO_PRELOAD     "access(\"/etc/ld.so.preload\", R_OK) = -1 ENOENT (No such)"
#define THREAD_POINTER "arch_prctl(ARCH_SET_FS, 0x7f283d696740) = 0"
#define TID            "set_tid_address(0x7f0c87d57f10) = 5736"
#define SEAL           "mprotect(0x7f0c87fc2000, 16384, PROT_READ) = 0"
#define GAP            "mprotect(0x7faa59c29000, 3067904, PROT_NONE) = 0"
#define STOPPED        "--- stopped by SIGSTOP ---"
#define EXITED         "+++ exited with 127 +++"
#define KILLED         "+++ killed by SIGKILL +++"

static void ends_of_startup(void **state UNUSED)
{
    static const struct row {
        const char *shows;
        const char *line[12];
        enum startup_end end;
        size_t n_calls;
    } rows[] = {
        {"glibc: the thread pointer",
         {EXEC("/p"), NO_PRELOAD, OPEN("/lib/libc.so.6"), THREAD_POINTER, TID, SEAL, OPEN("/own"),
          KILLED},
         STARTUP_DONE,
         2},
        {"glibc before the thread pointer: gaps between segments do not count",
         {EXEC("/p"), NO_PRELOAD, OPEN("/lib/liba.so"), GAP, OPEN("/lib/libc.so.6"),
          THREAD_POINTER},
         STARTUP_DONE,
         3},
        {"a machine that sets its thread pointer without a system call",
         {EXEC("/p"), NO_PRELOAD, OPEN("/lib/libc.so.6"), TID, OPEN("/own")},
         STARTUP_DONE,
         2},
        {"glibc 2.31 on such a machine: sealing",
         {EXEC("/p"), NO_PRELOAD, OPEN("/lib/libc.so.6"), SEAL, OPEN("/own")},
         STARTUP_DONE,
         2},
        {"musl sets the thread pointer first",
         {EXEC("/p"), THREAD_POINTER, TID, "open(\"/lib/liba.so\", O_RDONLY) = 3", SEAL, SEAL,
          "open(\"/own\", O_RDONLY) = 3"},
         STARTUP_DONE,
         1},
        {"a library is missing",
         {EXEC("/p"), NO_PRELOAD, NO_OPEN("/lib/liba.so"), EXITED},
         STARTUP_EXITED,
         2},
        {"the loader is killed", {EXEC("/p"), NO_PRELOAD, KILLED}, STARTUP_KILLED, 1},
        {"nothing more", {EXEC("/p"), NO_PRELOAD}, STARTUP_OPEN, 1},
        {"before the program: nothing counts",
         {OPEN("/strace's own"), EXEC("/p"), NO_PRELOAD, THREAD_POINTER},
         STARTUP_DONE,
         1},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct process p = seen(&arena, row->line);

        if (p.n_starts != 1 || p.start[0].end != row->end || p.start[0].n_calls != row->n_calls)
            fail_msg("%s: end %u, %zu calls", row->shows, p.start[0].end, p.start[0].n_calls);
    }
}

/* Of what comes after the start, opened libraries are kept, each path once. */
static void libraries_opened_later(void **state UNUSED)
{
    static const char *const lines[] = {
        EXEC("/p"),
        NO_PRELOAD,
        OPEN("/lib/libc.so.6"),
        THREAD_POINTER,
        SEAL,
        OPEN("/lib/libdl.so"),
        OPEN("/lib/module.cpython-311.so"),
        NO_OPEN("/lib/libgone.so.1"),
        NO_STAT("/lib/libx.so"),
        OPEN("/etc/ld.so.cache"),
        OPEN("/etc/ld.so.conf"),
        OPEN("/a.sofa/data"),
        OPEN("/lib/a.sound.so.2"),
        OPEN("/lib/libdl.so"),
        "openat(AT_FDCWD, \"/lib/libcut.so\"..., O_RDONLY|O_CLOEXEC) = 3",
        NULL,
    };
    static const char *const expected[] = {"/lib/libdl.so", "/lib/module.cpython-311.so",
                                           "/lib/a.sound.so.2"};
    CLEANUP(arena_release) struct arena arena = {0};
    const struct process p = seen(&arena, lines);

    assert_int_equal(p.start[0].n_calls, 2);
    assert_int_equal(p.start[0].n_later, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_string_equal(p.start[0].later[i], expected[i]);
}

static void a_wrapper_and_what_it_becomes(void **state UNUSED)
{
    static const char *const lines[] = {
        "execve(\"/a/x\", [\"x\"], 0x7 /* 1 var */) = -1 ENOENT (No such)",
        EXEC("/b/x"),
        NO_PRELOAD,
        OPEN("/lib/libc.so.6"),
        THREAD_POINTER,
        STOPPED,
        OPEN("/b/x"),
        EXEC("/b/.x-wrapped"),
        NO_PRELOAD,
        NO_OPEN("/lib/hw/libc.so.6"),
        NO_STAT("/lib/hw"),
        OPEN("/lib/libc.so.6"),
        THREAD_POINTER,
        STOPPED,
        NULL,
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct process p = seen(&arena, lines);
    struct proctree tree = {0};

    assert_int_equal(p.n_starts, 2);
    assert_int_equal(p.n_done, 2);
    assert_int_equal(p.failed_execs, 1);
    assert_int_equal(p.exec_error, ENOENT);
    assert_true(p.stopped);
    assert_string_equal(p.start[1].program, "/b/.x-wrapped");
    assert_int_equal(p.start[0].n_calls, 2);
    assert_int_equal(p.start[1].n_calls, 4);

    proctree_add(&tree, &p, &arena);
    proctree_add(&tree, &p, &arena);
    proctree_finish(&tree);
    assert_int_equal(tree.n, 2);
    assert_string_equal(tree.row[0].program, "/b/.x-wrapped");
    assert_int_equal(tree.row[0].starts, 2);
    assert_int_equal(tree.row[0].storm.failed_opens, 2);
    assert_int_equal(tree.row[0].storm.failed_stats, 2);
    assert_int_equal(tree.row[0].storm.opens, 4);
    assert_int_equal(tree.row[0].storm.others, 2);
    assert_int_equal(tree.sum.starts, 4);
    assert_int_equal(tree.sum.storm.opens, 6);
    assert_int_equal(tree.failed_execs, 2);
}

/* ---- comparing */

static struct call predicted[] = {
    {.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
    {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
    {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
    {.kind = CALL_OPEN, .path = "/b/liba.so"},
};

static void differences(void **state UNUSED)
{
    static const struct row {
        const char *shows;
        struct call call[6];
        size_t n;
        enum startup_end end;
        enum trace_exit exit;
        bool differs;
        size_t at;
    } rows[] = {
        {"equal",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
          {.kind = CALL_OPEN, .path = "/b/liba.so"}},
         4,
         STARTUP_DONE,
         EXIT_OK,
         false,
         4},
        {"a missing tail",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"}},
         2,
         STARTUP_DONE,
         EXIT_OK,
         true,
         2},
        {"one call too many",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
          {.kind = CALL_OPEN, .path = "/b/liba.so"},
          {.kind = CALL_OPEN, .path = "/own"}},
         5,
         STARTUP_DONE,
         EXIT_OK,
         true,
         4},
        {"another path",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld-nix.so.preload"}},
         1,
         STARTUP_DONE,
         EXIT_OK,
         true,
         0},
        {"another error",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = EACCES, .path = "/a/hw/liba.so"}},
         2,
         STARTUP_DONE,
         EXIT_OK,
         true,
         1},
        {"another kind of call",
         {{.kind = CALL_OPEN, .error = ENOENT, .path = "/etc/ld.so.preload"}},
         1,
         STARTUP_DONE,
         EXIT_OK,
         true,
         0},
        {"a directory is a file",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .path = "/a/hw"}},
         3,
         STARTUP_DONE,
         EXIT_OK,
         true,
         2},
        {"equal, but it should have failed",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
          {.kind = CALL_OPEN, .path = "/b/liba.so"}},
         4,
         STARTUP_DONE,
         EXIT_MISSING,
         true,
         4},
        {"equal, but its end was not seen",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
          {.kind = CALL_OPEN, .path = "/b/liba.so"}},
         4,
         STARTUP_OPEN,
         EXIT_OK,
         true,
         4},
        {"equal, and it failed as predicted",
         {{.kind = CALL_ACCESS, .error = ENOENT, .path = "/etc/ld.so.preload"},
          {.kind = CALL_OPEN, .error = ENOENT, .path = "/a/hw/liba.so"},
          {.kind = CALL_STAT, .is_dir = true, .path = "/a/hw"},
          {.kind = CALL_OPEN, .path = "/b/liba.so"}},
         4,
         STARTUP_EXITED,
         EXIT_BAD,
         false,
         4},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        static bool cut[6];
        const struct trace trace = {.call = predicted,
                                    .n_calls = ARRAY_LEN(predicted),
                                    .exit = row->exit,
                                    .exit_text = "missing: liba.so"};
        struct start_seen start = {.cut = cut, .n_calls = row->n, .end = row->end};
        struct difference d;
        const char *note;

        start.call = arena_memdup(&arena, row->call, sizeof(row->call));
        d = compare(&trace, &start, &arena, &note);
        if (d.found != row->differs || d.at != row->at || note)
            fail_msg("%s: found %d at %zu", row->shows, d.found, d.at);
        assert_int_equal(d.what != NULL, row->differs);
    }
}

static void gives_up_after_loading(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct trace trace = {.call = predicted, .n_calls = 1, .exit = EXIT_OK};
    bool cut = false;
    struct start_seen start = {
        .call = predicted, .cut = &cut, .n_calls = 1, .end = STARTUP_EXITED, .status = 1};
    const char *note;

    assert_false(compare(&trace, &start, &arena, &note).found);
    assert_string_equal(note, "the loader gave up after loading: exit status 1");
}

static void cut_paths(void **state UNUSED)
{
    const struct call whole = {.kind = CALL_OPEN, .error = ENAMETOOLONG, .path = "/aaaa"};
    const struct call begin = {.kind = CALL_OPEN, .error = ENAMETOOLONG, .path = "/aa"};

    assert_true(same_call(&whole, &begin, true));
    assert_false(same_call(&whole, &begin, false));
    assert_false(same_call(&begin, &whole, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_startup), cmocka_unit_test(a_wrapper_and_what_it_becomes),
        cmocka_unit_test(differences),     cmocka_unit_test(gives_up_after_loading),
        cmocka_unit_test(cut_paths),       cmocka_unit_test(libraries_opened_later),
    };

    return UNIT_RUN(tests);
}
