#include "loader/internal.h"

#include <errno.h>
#include <string.h>

/* Options of both loaders. `value` is where the argument goes; SIZE_MAX: the option has none. */
static const struct option {
    const char *name;
    size_t value;
    bool has_value; /* takes an argument that the model does not need */
    bool flag;      /* `value` is a bool to set */
    bool glibc_only;
} options[] = {
    {.name = "library-path", .value = offsetof(struct explicit, library_path)},
    {.name = "preload", .value = offsetof(struct explicit, preload)},
    {.name = "argv0", .value = SIZE_MAX, .has_value = true},
    {.name = "list", .value = offsetof(struct explicit, list_only), .flag = true},
    {.name = "audit", .value = offsetof(struct explicit, audit), .glibc_only = true},
    {.name = "inhibit-rpath",
     .value = offsetof(struct explicit, inhibit_rpath),
     .glibc_only = true},
    {.name = "inhibit-cache",
     .value = offsetof(struct explicit, inhibit_cache),
     .flag = true,
     .glibc_only = true},
    {.name = "glibc-hwcaps-prepend",
     .value = offsetof(struct explicit, prepend),
     .glibc_only = true},
    {.name = "glibc-hwcaps-mask", .value = offsetof(struct explicit, mask), .glibc_only = true},
};

static const struct option *option_find(const char *arg, bool musl)
{
    const struct option *option;

    if (strncmp(arg, "--", 2) != 0)
        return NULL;
    for_each (option, options)
        if (strcmp(arg + 2, option->name) == 0 && !(musl && option->glibc_only))
            return option;
    return NULL;
}

int explicit_parse(const struct start *start, bool musl, struct explicit *ret_explicit,
                   struct err *err)
{
    struct explicit explicit = {0};
    size_t i;

    for (i = 0; i < start->n_ld_args && start->ld_args[i][0] == '-'; i++) {
        const char *arg = start->ld_args[i];
        const struct option *option = option_find(arg, musl);

        if (strcmp(arg, "--") == 0 && musl) {
            i++;
            break;
        }
        if (!option)
            return err_set(err, EINVAL, "'%s': an option of the loader that is not predicted", arg);
        if (option->flag) {
            *(bool *)((char *)&explicit + option->value) = true;
            continue;
        }
        if (++i >= start->n_ld_args)
            return err_set(err, EINVAL, "'%s': this option of the loader needs a value", arg);
        if (!option->has_value)
            *(const char **)(void *)((char *)&explicit + option->value) = start->ld_args[i];
    }
    if (i >= start->n_ld_args)
        return err_set(err, EINVAL, "'%s': no program is named for the loader to start",
                       start->program);
    explicit.program = start->ld_args[i];
    *ret_explicit = explicit;
    return 0;
}
