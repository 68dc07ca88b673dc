/*
 * Lines of strace, as its versions write them.
 */
#include "check/parse.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static struct line parsed(const char *text, struct arena *arena)
{
    struct line line;
    struct err err;
    int r = parse_line(text, strlen(text), arena, &line, &err);

    if (r < 0)
        fail_msg("%s: %s", text, err.text);
    return line;
}

static void calls_on_paths(void **state UNUSED)
{
    static const struct row {
        const char *text;
        enum call_kind kind;
        const char *path;
        int error;
        bool is_dir;
    } rows[] = {
        {"openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3", CALL_OPEN,
         "/etc/ld.so.cache", 0, false},
        {"openat(AT_FDCWD, \"\\x2f\\x61\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (\\x4e)", CALL_OPEN,
         "/a", ENOENT, false},
        {"openat(AT_FDCWD</tmp>, \"x/lib.so\", O_RDONLY) = 3</tmp/x/lib.so>", CALL_OPEN, "x/lib.so",
         0, false},
        {"openat(5, \"lib.so\", O_RDONLY) = 6", CALL_OPEN, "[5]/lib.so", 0, false},
        {"openat(5, \"/lib.so\", O_RDONLY) = 6", CALL_OPEN, "/lib.so", 0, false},
        {"open(\"/lib/libc.so\", O_RDONLY|O_LARGEFILE|O_CLOEXEC) = -1 ELOOP (Too many levels)",
         CALL_OPEN, "/lib/libc.so", ELOOP, false},
        {"openat2(AT_FDCWD, \"/a\", {flags=O_RDONLY, resolve=0}, 24) = 3", CALL_OPEN, "/a", 0,
         false},
        {"newfstatat(AT_FDCWD, \"/s/lib/\", {st_mode=S_IFDIR|0555, st_size=4096, ...}, 0) = 0",
         CALL_STAT, "/s/lib/", 0, true},
        {"newfstatat(AT_FDCWD, \"/s\", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0", CALL_STAT,
         "/s", 0, false},
        {"newfstatat(AT_FDCWD, \"/S_IFDIR\", 0x7ffe58bebd90, 0) = -1 EACCES (Permission denied)",
         CALL_STAT, "/S_IFDIR", EACCES, false},
        {"newfstatat(AT_FDCWD, \"\", 0x7ffe58bebd90, 0) = -1 ENOENT (No such file or directory)",
         CALL_STAT, "", ENOENT, false},
        {"stat(\"/lib/tls\", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0", CALL_STAT, "/lib/tls",
         0, true},
        {"statx(AT_FDCWD, \"/d\", AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS, "
         "{stx_mask=STATX_BASIC_STATS, stx_attributes=0, stx_mode=S_IFDIR|0755, ...}) = 0",
         CALL_STAT, "/d", 0, true},
        {"access(\"/etc/ld.so.preload\", R_OK)      = -1 ENOENT (No such file or directory)",
         CALL_ACCESS, "/etc/ld.so.preload", ENOENT, false},
        {"faccessat(AT_FDCWD, \"/etc/ld.so.preload\", R_OK) = 0", CALL_ACCESS, "/etc/ld.so.preload",
         0, false},
        {"faccessat2(AT_FDCWD, \"/a\", R_OK, AT_EACCESS) = 0", CALL_ACCESS, "/a", 0, false},
        {"readlink(\"/proc/self/exe\", \"/usr/bin/x\"..., 4096) = 10", CALL_READLINK,
         "/proc/self/exe", 0, false},
        {"readlinkat(AT_FDCWD, \"/proc/self/exe\", 0x1, 4096) = -1 ENAMETOOLONG (File name)",
         CALL_READLINK, "/proc/self/exe", ENAMETOOLONG, false},
        {"openat(AT_FDCWD, \"/a\\\"b\\\\c\\n\\t\\33[0m\\377\\0011\", O_RDONLY) = 3", CALL_OPEN,
         "/a\"b\\c\n\t\033[0m\377\0011", 0, false},
        {"openat(AT_FDCWD, \"/a), b) = 7\", O_RDONLY) = 3", CALL_OPEN, "/a), b) = 7", 0, false},
        {"openat(AT_FDCWD, \"/a <unfinished ...>\", O_RDONLY) = 3", CALL_OPEN,
         "/a <unfinished ...>", 0, false},
        {"openat(AT_FDCWD, \"/a\", O_RDONLY) = -1 ENOENT (No such file or directory) (INJECTED)",
         CALL_OPEN, "/a", ENOENT, false},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct line line = parsed(row->text, &arena);

        assert_int_equal(line.kind, LINE_CALL);
        assert_int_equal(line.call.kind, row->kind);
        assert_string_equal(line.call.path, row->path);
        assert_int_equal(line.call.error, row->error);
        assert_int_equal(line.call.is_dir, row->is_dir);
        assert_false(line.cut);
    }
}

static void other_lines(void **state UNUSED)
{
    static const struct row {
        const char *text;
        enum line_kind kind;
    } rows[] = {
        {"arch_prctl(ARCH_SET_FS, 0x7f283d696740) = 0", LINE_THREAD_POINTER},
        {"arch_prctl(0x3001 /* ARCH_??? */, 0x7ffe) = -1 EINVAL (Invalid argument)", LINE_OTHER},
        {"set_tid_address(0x7f0c87d57f10) = 5736", LINE_THREAD_POINTER},
        {"mprotect(0x7f0c87fc2000, 16384, PROT_READ) = 0", LINE_SEAL},
        {"mprotect(0x7f0c87fc2000, 16384, PROT_READ|PROT_WRITE) = 0", LINE_OTHER},
        {"mprotect(0x7faa59c29000, 3067904, PROT_NONE) = 0", LINE_OTHER},
        {"newfstatat(3, \"\", {st_mode=S_IFREG|0644, st_size=42043, ...}, AT_EMPTY_PATH) = 0",
         LINE_OTHER},
        {"openat(AT_FDCWD, \"/a\", O_RDONLY) = ? ERESTARTSYS (To be restarted)", LINE_OTHER},
        {"openat(AT_FDCWD, \"/a\" <unfinished ...>", LINE_OTHER},
        {"openat(AT_FDCWD, <unfinished ...>", LINE_OTHER},
        {"exit_group(0) = ?", LINE_OTHER},
        {"brk(NULL) = 0x55a4a39a7000", LINE_OTHER},
        {"execve(\"/bin/ls\", [\"/bin/ls\", \"a]b\"], 0x7ffd /* 37 vars */) = 0", LINE_EXEC},
        {"+++ exited with 127 +++", LINE_EXITED},
        {"+++ killed by SIGKILL +++", LINE_KILLED},
        {"+++ killed by SIGSEGV (core dumped) +++", LINE_KILLED},
        {"--- SIGSTOP {si_signo=SIGSTOP, si_code=SI_KERNEL} ---", LINE_OTHER},
        {"--- stopped by SIGSTOP ---", LINE_STOPPED},
        {"+++ superseded by execve in pid 5 +++", LINE_OTHER},
    };
    const struct row *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};

        assert_int_equal(parsed(row->text, &arena).kind, row->kind);
    }
}

static void what_lines_carry(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};

    assert_int_equal(parsed("+++ exited with 127 +++", &arena).status, 127);
    assert_string_equal(parsed("+++ killed by SIGSEGV (core dumped) +++", &arena).path, "SIGSEGV");
    assert_string_equal(parsed("execve(\"\\57x\", [], 0x0) = 0", &arena).path, "/x");
    assert_int_equal(
        parsed("execve(\"/x\", [\"/x\"], 0x7f /* 1 var */) = -1 ENOEXEC (Exec)", &arena).error,
        ENOEXEC);
    assert_true(parsed("open(\"/long\"..., O_RDONLY) = -1 ENAMETOOLONG (File name)", &arena).cut);
}

static void malformed_lines(void **state UNUSED)
{
    static const char *const rows[] = {
        "",
        "(",
        "openat",
        "openat(",
        "openat(AT_FDCWD, \"/a",
        "openat(AT_FDCWD, \"/a\\",
        "openat(AT_FDCWD, \"/a\\x2",
        "openat(AT_FDCWD, \"/a\\xzz\", O_RDONLY) = 3",
        "openat(AT_FDCWD, \"/a\\400\", O_RDONLY) = 3",
        "openat(AT_FDCWD, \"/a\\0\", O_RDONLY) = 3",
        "openat(AT_FDCWD, \"/a\\q\", O_RDONLY) = 3",
        "openat(AT_FDCWD, \"/a\", O_RDONLY)",
        "openat(AT_FDCWD, \"/a\", O_RDONLY) =",
        "openat(AT_FDCWD, \"/a\", O_RDONLY) = x",
        "openat(AT_FDCWD, \"/a\", O_RDONLY) = -1",
        "openat(AT_FDCWD, \"/a\", O_RDONLY) = -1 ENOSUCHNAME (x)",
        "openat(AT_FDCWD) = 3",
        "openat() = 3",
        "stat({) = 3",
        "stat(}) = 3",
        "+++ exited with  +++",
        "+++ what +++",
        "--- what ---",
        "strace: Process 5 attached",
        "x(((((((((((((((((((((((()))))))))))))))))))))))) = 0",
    };
    const char *const *row;

    for_each (row, rows) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct line line;
        struct err err;

        if (parse_line(*row, strlen(*row), &arena, &line, &err) != -EINVAL)
            fail_msg("accepted: %s", *row);
    }
}

static void too_long(void **state UNUSED)
{
    static char text[PARSE_LINE_MAX + 2];
    CLEANUP(arena_release) struct arena arena = {0};
    struct line line;
    struct err err;

    memset(text, 'a', sizeof(text) - 1);
    assert_int_equal(parse_line(text, sizeof(text) - 1, &arena, &line, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_paths),   cmocka_unit_test(other_lines),
        cmocka_unit_test(what_lines_carry), cmocka_unit_test(malformed_lines),
        cmocka_unit_test(too_long),
    };

    return UNIT_RUN(tests);
}
