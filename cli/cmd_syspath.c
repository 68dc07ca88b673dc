/*
 * stormlint syspath [LOADER]: the search path that a loader has built in, for ROOT and its like.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/options.h"
#include "loader/syspath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "ROOT_LDSYSPATH"

enum { OPT_ROOT = 0x100, OPT_CPU, OPT_JSON, OPT_SHELL, OPT_EXEC };

struct syspath_options {
    const char *root, *cpu;
    const char *loader; /* NULL: that of /bin/sh */
    bool json, shell;
    char **command; /* behind --exec, NULL-ended; NULL: not given */
    struct arena arena;
};

static const struct argp_option rows[] = {
    {"root", OPT_ROOT, "DIR", 0, "Take the tree below DIR for /", 0},
    {"cpu", OPT_CPU, "NAME", 0, "For this CPU instead of this machine's", 0},
    {"shell", OPT_SHELL, NULL, 0, "Print a line for a shell that sets " VARIABLE, 0},
    {"exec", OPT_EXEC, NULL, 0,
     "Set " VARIABLE " and become the command that follows, with its arguments", 0},
    {"json", OPT_JSON, NULL, 0, "Print JSON, with what the value depends on", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct syspath_options *o = state->input;

    switch (key) {
    case OPT_ROOT:
        o->root = arg;
        return 0;
    case OPT_CPU:
        o->cpu = arg;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_SHELL:
        o->shell = true;
        return 0;
    case OPT_EXEC: /* the command itself was taken off the line before */
        argp_error(state, "--exec wants a command behind it");
        return 0;
    case ARGP_KEY_ARG:
        if (o->loader)
            argp_error(state, "one loader, please");
        o->loader = str_unescape(&o->arena, arg);
        return 0;
    case ARGP_KEY_END:
        if (o->json + o->shell + (o->command != NULL) > 1)
            argp_error(state, "--shell, --exec and --json do not go together");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "[LOADER]\n[LOADER] --exec COMMAND [ARGS...]",
    .doc = "Print the directories that a dynamic loader searches on its own account, as it prints "
           "them itself under LD_DEBUG=libs, without running it: the value of " VARIABLE ".\v"
           "LOADER is a dynamic loader, or a program whose loader is meant (default: /bin/sh). "
           "The value holds for this loader file on this CPU. Exit code: 0; 1, the loader has no "
           "such path; 3, it cannot be read; with --exec that of COMMAND.",
};

/* ---- output */

/* One word for any shell, whatever is in it. */
static const char *quoted(struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};

    str_add(&out, "'");
    for (; *text; text++)
        if (*text == '\'')
            str_add(&out, "'\\''");
        else
            str_add_n(&out, text, 1);
    str_add(&out, "'");
    return out.text;
}

static json_t *syspath_json(const struct syspath *s, const struct cpu *cpu)
{
    json_t *object = json_object(), *array = json_array();
    char *list = strdup(s->value), *rest = list;

    while (rest)
        json_push(array, json_text(strsep(&rest, ":")));
    free(list);
    json_put_text(object, "syspath", s->value);
    json_put(object, "directories", array);
    json_put_text(object, "loader", s->loader);
    json_put_text(object, "build_id", s->build_id);
    json_put_text(object, "cpu", cpu->name);
    json_put_text(object, "profile", s->profile.text);
    json_put_text(object, "assumed", s->profile.assumed);
    return object;
}

static int print(struct syspath_options *o, const struct syspath *s, const struct cpu *cpu,
                 struct err *err)
{
    json_t *value;
    int r;

    if (o->json) {
        value = syspath_json(s, cpu);
        r = json_print(value, stdout, term_of(stdout).is_terminal, err);
        json_decref(value);
        return r;
    }
    if (o->shell)
        printf("export %s=%s\n", VARIABLE, quoted(&o->arena, s->value));
    else
        puts(s->value);
    return 0;
}

/* Returns only when the command cannot be started. */
static int become(char **command, const char *value)
{
    if (setenv(VARIABLE, value, 1) == 0)
        (void)execvp(command[0], command);
    log_error("'%s': %s", command[0], strerror(errno));
    return EXIT_FAILED;
}

/* ---- the command */

/*
 * The CPU that is asked for. The host as its programs see it (GLIBC_TUNABLES can hide features);
 * when the loader is of another machine, that machine's default.
 */
static int find_cpu(const struct syspath_options *o, struct world *world, const char *path,
                    struct cpu *ret_cpu, struct err *err)
{
    const struct place at = world_walk(world, NULL, path);
    const struct object *object =
        at.error || at.node->kind != NODE_FILE ? NULL : world_object(world, at.node);
    const char *tunables = getenv("GLIBC_TUNABLES"), *other;
    int r;

    if (o->cpu)
        return cpu_find(o->cpu, ret_cpu, err);
    r = cpu_find(CPU_LIVE, ret_cpu, err);
    if (r == 0 && tunables && !cpu_hide(ret_cpu, tunables))
        log_warn("GLIBC_TUNABLES says something about the CPU that is not predicted");
    other = object && (r < 0 || object->machine != ret_cpu->machine) ? cpu_default(object->machine)
                                                                     : NULL;
    return other ? cpu_find(other, ret_cpu, err) : r;
}

/* The path as the world knows it. */
static const char *absolute(struct syspath_options *o)
{
    char here[4096];

    if (!o->loader)
        return "/bin/sh";
    if (*o->loader == '/' || !getcwd(here, sizeof(here)))
        return o->loader;
    return str_join(&o->arena, o->root ? "/" : here, o->loader);
}

static int syspath(struct syspath_options *o)
{
    CLEANUP(world_closep) struct world *world = NULL;
    const char *path = absolute(o);
    struct syspath s;
    struct cpu cpu;
    struct err err = {0};
    int r = world_live(o->root ? o->root : "/", getuid(), getgid(), &world, &err);

    if (r == 0)
        r = find_cpu(o, world, path, &cpu, &err);
    if (r < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    r = syspath_read(world, path, &cpu, &o->arena, &s, &err);
    if (r < 0) {
        log_error("%s", err.text);
        return r == -ENOTSUP ? EXIT_FINDINGS : r == -EINVAL ? EXIT_USAGE : EXIT_INCOMPLETE;
    }
    if (s.profile.assumed)
        log_warn("%s", s.profile.assumed);
    if (o->command)
        return become(o->command, s.value);
    if (print(o, &s, &cpu, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

/* Take "--exec COMMAND ARGS..." off the line: it belongs to another program. */
static int split_command(struct syspath_options *o, int argc, char **argv)
{
    int n = 0;

    while (n < argc && strcmp(argv[n], "--exec") != 0)
        n++;
    if (n + 1 >= argc)
        return argc;
    o->command = argv + n + 1;
    return n;
}

static int run(int argc, char **argv)
{
    struct syspath_options o = {0};
    int code;

    argc = split_command(&o, argc, argv);
    options_parse(&argp, argc, argv, &o);
    code = syspath(&o);
    arena_release(&o.arena);
    return code;
}

const struct command cmd_syspath = {
    .name = "syspath",
    .summary = "The search path that a loader has built in, for ROOT_LDSYSPATH",
    .run = run,
};
