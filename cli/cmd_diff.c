/*
 * stormlint diff A B: what got worse between two audits.
 */
#include "audit/diff.h"
#include "cli/diffing.h"
#include "cli/whose.h"

#include <errno.h>
#include <string.h>

enum diff_form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN };

struct diff_arguments {
    struct diff_limits limits;
    struct maintainer whose;
    enum diff_form form;
    const char **file;
    size_t n_files;
};

static int take_format(void *into, const char *text, struct arena *arena UNUSED, struct err *err)
{
    static const char *const forms[] = {"text", "json", "markdown"};
    struct diff_arguments *a = into;
    size_t i;

    for (i = 0; i < ARRAY_LEN(forms) && strcmp(forms[i], text) != 0; i++)
        ;
    if (i == ARRAY_LEN(forms))
        return err_set(err, EINVAL, "--format wants text, json or markdown, not '%s'", text);
    a->form = (enum diff_form)i;
    return 0;
}

static int take_json(void *into, const char *text UNUSED, struct arena *arena, struct err *err)
{
    return take_format(into, "json", arena, err);
}

static const struct flag rows[] = {
    {"format", "FORMAT", "text, json or markdown (for pull requests); default: text",
     CALL(take_format)},
    {"json", NULL, "The same as --format json", CALL(take_json)},
    {ROWS(struct diff_arguments, whose, whose_rows)},
    {ROWS(struct diff_arguments, limits, diffing_rows)},
    {NULL, "A B", NULL, LIST(struct diff_arguments, file, n_files)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct diff_arguments *a = into;

    if (a->n_files > 2)
        return err_set(err, EINVAL, "two audits are compared");
    return a->n_files == 2 ? 0 : err_set(err, EINVAL, "which two audits?");
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "A B",
    .doc = "Compare two audits: new offenders, what got worse and better, new and fixed findings, "
           "packages.\v"
           "Programs and findings are matched by keys without hashes. "
           "With --maintainer it is as if nothing else were in them: totals and the budget are of "
           "that. Exit code: 0, within the budget; 1, over it; 3, an audit cannot be read, or is "
           "cut off, or nobody of --maintainer's NAME is known.",
};

static int compare(void *into, struct arena *arena, struct err *err)
{
    struct diff_arguments *a = into;
    struct audit before, after;
    struct diff diff;
    int r = audit_read(a->file[0], arena, &before, err);

    if (r == 0)
        r = audit_read(a->file[1], arena, &after, err);
    if (r < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    a->whose.arena = arena;
    audit_keep_own(&a->whose, &before, &after);
    diff_make(&before, &after, &a->limits, arena, &diff);
    if (a->form == FORM_JSON)
        r = diff_json(&diff, stdout, err);
    else if (a->form == FORM_MARKDOWN)
        diff_markdown(&diff, stdout, arena);
    else
        diff_text(&diff, stdout, arena);
    if (r < 0)
        return command_failed(EXIT_FAILED, err);
    if (before.incomplete || after.incomplete)
        return EXIT_INCOMPLETE;
    return whose_code(&a->whose, a->whose.n_own, diff.n_over ? EXIT_FINDINGS : EXIT_FINE);
}

const struct command cmd_diff = {
    .name = "diff",
    .summary = "what got worse between two audits",
    .flags = &flags,
    WORK(compare, struct diff_arguments, .limits = DIFF_LIMITS),
};
