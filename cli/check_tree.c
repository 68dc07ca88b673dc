#include "cli/check_tree.h"

#include "base/log.h"
#include "check/spawn.h"
#include "cli/check_text.h"
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A command and its children run as they would without us: with our environment, and --env. */
static const char **environment(const struct tree_options *o, struct arena *arena, size_t *ret_n)
{
    const char **env;
    size_t n = 0;

    while (environ[n])
        n++;
    env = arena_calloc(arena, n + o->n_env + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        env[i] = environ[i];
    for (size_t i = 0; i < o->n_env; i++)
        env[n++] = o->env[i];
    *ret_n = n;
    return env;
}

static int run_tree(const struct tree_options *o, struct arena *arena, struct proctree *ret_tree,
                    struct err *err)
{
    const char **argv = arena_calloc(arena, o->n_words + 1, sizeof(*argv));
    char *here = getcwd(NULL, 0);
    struct checker *checker = NULL;
    int r;

    memcpy(argv, o->word, o->n_words * sizeof(*argv));
    argv[0] = spawn_find(arena, o->word[0]);
    r = argv[0] && here ? checker_new(o->check, &checker, err)
                        : err_set(err, ENOENT, "'%s': no such command", o->word[0]);
    if (r == 0) {
        struct run run = {
            .argv = argv,
            .cwd = o->check->cwd ? o->check->cwd : here,
            .scratch = checker_scratch(checker),
            .limit_ms = o->check->limit_ms,
            .interrupt = o->check->interrupt,
        };

        run.env = environment(o, arena, &run.n_env);
        r = proctree_run(&run, arena, ret_tree, err);
    }
    checker_free(checker);
    free(here);
    return r;
}

int check_tree(const struct tree_options *o)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct term term = term_of(stdout);
    struct proctree tree = {0};
    struct err err = {0};
    int r = run_tree(o, &arena, &tree, &err);

    if (r == 0 && o->json) {
        json_t *value = proctree_json(&tree);

        r = json_print(value, stdout, term.is_terminal, &err);
        json_decref(value);
    } else if (r == 0) {
        proctree_text(stdout, &term, &tree, o->top);
    }
    if (r < 0) {
        log_error("%s", err.text);
        return EXIT_FAILED;
    }
    if (tree.status && !tree.ended)
        log_warn("the command ended with status %d", tree.status);
    return tree.ended ? EXIT_INCOMPLETE : EXIT_FINE;
}
