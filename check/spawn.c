#include "check/spawn.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Where a process must stand still to be looked at: what may end start-up (check/process.h). */
static const char inject[] = "inject=?arch_prctl,set_tid_address,mprotect:signal=SIGSTOP";

const char *spawn_find(struct arena *arena, const char *name)
{
    const char *path = getenv("PATH") ?: "/usr/bin:/bin";

    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    while (*path) {
        size_t len = strcspn(path, ":");
        const char *full = str_join(arena, arena_strndup(arena, path, len), name);

        if (len && access(full, X_OK) == 0)
            return full;
        path += len + (path[len] == ':');
    }
    return NULL;
}

struct words {
    struct arena *arena;
    const char **word;
    size_t n;
};

static void add_word(struct words *words, const char *word)
{
    words->word = arena_grow(words->arena, words->word, words->n, sizeof(*words->word));
    words->word[words->n++] = word;
}

/* strace's command line, as far as the program's own. */
static int strace_words(const struct run *run, const char *output, bool tree, struct words *words,
                        struct err *err)
{
    const char *strace = spawn_find(words->arena, "strace");
    const char *unshare = NULL;

    if (!strace)
        return err_set(err, ENOENT, "strace is not installed");
    if (run->root && !(unshare = spawn_find(words->arena, "unshare")))
        return err_set(err, ENOENT, "unshare (of util-linux) is not installed");
    add_word(words, strace);
    if (tree)
        add_word(words, "-ff");
    add_word(words, "-q"); /* once: exits are still told */
    add_word(words, "-xx");
    add_word(words, "-o");
    add_word(words, output);
    add_word(words, "-e");
    add_word(words, parse_syscalls);
    if (run->stop_after) {
        add_word(words, "-e");
        add_word(words, inject);
    }
    for (size_t i = 0; i < run->n_env; i++) {
        add_word(words, "-E");
        add_word(words, run->env[i]);
    }
    add_word(words, "--");
    if (unshare) {
        add_word(words, unshare);
        if (geteuid() != 0)
            add_word(words, "--map-root-user");
        add_word(words, arena_printf(words->arena, "--root=%s", run->root));
        add_word(words, arena_printf(words->arena, "--wd=%s", run->cwd ?: "/"));
        add_word(words, "--");
    }
    for (const char *const *a = run->argv; *a; a++)
        add_word(words, *a);
    add_word(words, NULL);
    return 0;
}

/* Between fork() and execve(): only calls that are safe there. */
static _Noreturn void become_strace(const char *const *word, const char *cwd, int text_fd,
                                    bool tree)
{
    static char *const no_env[] = {NULL};
    const struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* without us nobody would end it */
    setrlimit(RLIMIT_CORE, &no_core);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || chdir(cwd) < 0)
        _exit(126);
    if (dup2(tree ? STDERR_FILENO : null, STDOUT_FILENO) < 0)
        _exit(126);
    if (!tree && dup2(text_fd, STDERR_FILENO) < 0)
        _exit(126);
    execve(word[0], (char *const *)(uintptr_t)word, no_env);
    _exit(126);
}

int spawn_strace(const struct run *run, const char *output, bool tree, struct arena *arena,
                 struct spawned *ret_spawned, struct err *err)
{
    const char *cwd = run->root || !run->cwd ? "/" : run->cwd;
    struct words words = {.arena = arena};
    struct spawned s = {.pidfd = -1, .text_fd = -1};
    int text[2] = {-1, -1};
    int r = strace_words(run, output, tree, &words, err);

    if (r < 0)
        return r;
    if (!tree && pipe2(text, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set(err, errno, "pipe: %s", strerror(errno));
    s.text_fd = text[0];
    s.pid = fork();
    if (s.pid == 0)
        become_strace(words.word, cwd, text[1], tree);
    if (text[1] >= 0)
        close(text[1]);
    s.pidfd = s.pid < 0 ? -1 : pidfd_open(s.pid, 0);
    *ret_spawned = s; /* also on failure: what there is must be ended */
    return s.pidfd < 0 ? err_set(err, errno, "a new process: %s", strerror(errno)) : 0;
}
