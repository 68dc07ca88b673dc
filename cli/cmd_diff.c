/*
 * stormlint diff A B: what got worse between two audits.
 */
#include "audit/diff.h"
#include "cli/command.h"
#include "cli/diffing.h"

#include <string.h>

enum diff_form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN };

struct diff_arguments {
    struct diff_limits limits;
    enum diff_form form;
    const char *file[2];
    size_t n_files;
};

enum { OPT_FORMAT = 0x200, OPT_JSON };

static const struct argp_option rows[] = {
    {"format", OPT_FORMAT, "FORMAT", 0, "text, json or markdown (for pull requests); default: text",
     0},
    {"json", OPT_JSON, NULL, 0, "The same as --format json", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char *const forms[] = {"text", "json", "markdown"};
    struct diff_arguments *a = state->input;
    size_t i;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->limits;
        return 0;
    case OPT_FORMAT:
        for (i = 0; i < ARRAY_LEN(forms) && strcmp(forms[i], arg) != 0; i++)
            ;
        if (i == ARRAY_LEN(forms))
            argp_error(state, "--format wants text, json or markdown, not '%s'", arg);
        a->form = (enum diff_form)i;
        return 0;
    case OPT_JSON:
        a->form = FORM_JSON;
        return 0;
    case ARGP_KEY_ARG:
        if (a->n_files == 2)
            argp_error(state, "two audits are compared");
        a->file[a->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n_files != 2)
            argp_error(state, "which two audits?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "A B",
    .doc = "Compare two audits: new offenders, what got worse and better, new and fixed findings, "
           "packages.\v"
           "Programs and findings are matched by keys without hashes. "
           "Exit code: 0, within the budget; 1, over it; 3, an audit cannot be read, or is cut "
           "off.",
    .children = diffing_children,
};

static int compare(const void *arguments, struct arena *arena, struct err *err)
{
    const struct diff_arguments *a = arguments;
    struct audit before, after;
    struct diff diff;
    int r = audit_read(a->file[0], arena, &before, err);

    if (r == 0)
        r = audit_read(a->file[1], arena, &after, err);
    if (r < 0)
        return EXIT_INCOMPLETE;
    diff_make(&before, &after, &a->limits, arena, &diff);
    if (a->form == FORM_JSON)
        r = diff_json(&diff, stdout, err);
    else if (a->form == FORM_MARKDOWN)
        diff_markdown(&diff, stdout, arena);
    else
        diff_text(&diff, stdout, arena);
    if (r < 0)
        return EXIT_FAILED;
    if (before.incomplete || after.incomplete)
        return EXIT_INCOMPLETE;
    return diff.n_over ? EXIT_FINDINGS : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    struct diff_arguments a = {.limits = DIFF_LIMITS};

    return diffing_run(&argp, argc, argv, &a, compare);
}

const struct command cmd_diff = {
    .name = "diff",
    .summary = "what got worse between two audits",
    .run = run,
};
