/*
 * stormlint syspath [LOADER]: the search path that a loader has built in, for ROOT and its like.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "base/term.h"
#include "cli/options.h"
#include "loader/syspath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "ROOT_LDSYSPATH"

struct syspath_options {
    const char *root, *cpu;
    const char **loader; /* at most one; none: that of /bin/sh */
    size_t n_loaders;
    bool json, shell, exec;
    char **command; /* behind --exec, NULL-ended; NULL: not given */
};

static const struct flag rows[] = {
    {"root", "DIR", "Take the tree below DIR for /", INTO(struct syspath_options, root)},
    {"cpu", "NAME", "For this CPU instead of this machine's", INTO(struct syspath_options, cpu)},
    {"shell", NULL, "Print a line for a shell that sets " VARIABLE,
     INTO(struct syspath_options, shell)},
    {"exec", NULL, "Set " VARIABLE " and become the command that follows, with its arguments",
     INTO(struct syspath_options, exec)},
    {"json", NULL, "Print JSON, with what the value depends on",
     INTO(struct syspath_options, json)},
    {NULL, "LOADER", NULL, LIST(struct syspath_options, loader, n_loaders)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct syspath_options *o = into;

    if (o->exec || (o->command && !*o->command)) /* the first is one that was cut short */
        return err_set(err, EINVAL, "--exec wants a command behind it");
    if (o->n_loaders > 1)
        return err_set(err, EINVAL, "one loader, please");
    if (o->json + o->shell + (o->command != NULL) > 1)
        return err_set(err, EINVAL, "--shell, --exec and --json do not go together");
    return 0;
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .until = "--exec",
    .rest = offsetof(struct syspath_options, command),
    .args = "[LOADER]\n[LOADER] --exec COMMAND [ARGS...]",
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

static int print(const struct syspath_options *o, const struct syspath *s, const struct cpu *cpu,
                 struct arena *arena, struct err *err)
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
        printf("export %s=%s\n", VARIABLE, quoted(arena, s->value));
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
static const char *absolute(const struct syspath_options *o, struct arena *arena)
{
    const char *loader = o->n_loaders ? o->loader[0] : "/bin/sh";

    return o->root ? str_join(arena, "/", loader) : options_absolute(arena, loader);
}

static int syspath(void *into, struct arena *arena, struct err *err)
{
    CLEANUP(world_closep) struct world *world = NULL;
    const struct syspath_options *o = into;
    const char *path = absolute(o, arena);
    struct syspath s;
    struct cpu cpu;
    int r = world_live(o->root ? o->root : "/", getuid(), getgid(), &world, err);

    if (r == 0)
        r = find_cpu(o, world, path, &cpu, err);
    if (r < 0)
        return command_failed(EXIT_USAGE, err);
    r = syspath_read(world, path, &cpu, arena, &s, err);
    if (r < 0)
        return r == -ENOTSUP ? command_failed(EXIT_FINDINGS, err) : r;
    if (s.profile.assumed)
        log_warn("%s", s.profile.assumed);
    if (o->command)
        return become(o->command, s.value);
    return print(o, &s, &cpu, arena, err) < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
}

const struct command cmd_syspath = {
    .name = "syspath",
    .summary = "The search path that a loader has built in, for ROOT_LDSYSPATH",
    .flags = &flags,
    WORK(syspath, struct syspath_options),
};
