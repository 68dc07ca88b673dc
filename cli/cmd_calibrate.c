/*
 * stormlint calibrate DIR: what one of the loader's failed calls costs in a directory.
 */
#include "base/json.h"
#include "cli/options.h"
#include "planner/cost.h"

#include <errno.h>
#include <stdio.h>

enum { OPENS = 4096 };

struct calibrate_arguments {
    struct options common; /* of these only --json */
    const char *directory;
};

static const struct flag rows[] = {
    {ROWS(struct calibrate_arguments, common, json_rows)},
    {NULL, "DIR", NULL, INTO(struct calibrate_arguments, directory)},
    {0},
};

static int check(void *into, struct err *err)
{
    const struct calibrate_arguments *a = into;

    return a->directory ? 0 : err_set(err, EINVAL, "which directory?");
}

static const struct flags flags = {
    .row = rows,
    .check = check,
    .args = "DIR",
    .doc = "Open names that are not there, each a new one, and measure: what --probe-cost of "
           "'stormlint plan' and 'stormlint compare' wants to know. Nothing is written.",
};

static int print_json(const struct calibrate_arguments *a, const struct calibration *c,
                      struct err *err)
{
    json_t *out = json_object();
    int r;

    json_put_text(out, "directory", a->directory);
    json_put(out, "median_us", json_real(c->median_us));
    json_put(out, "best_us", json_real(c->best_us));
    json_put_int(out, "opens", c->n);
    r = json_print(out, stdout, true, err);
    json_decref(out);
    return r;
}

static int measure(void *into, struct arena *arena UNUSED, struct err *err)
{
    const struct calibrate_arguments *a = into;
    struct calibration c;

    if (calibrate(a->directory, OPENS, &c, err) < 0)
        return command_failed(EXIT_INCOMPLETE, err);
    if (a->common.json)
        return print_json(a, &c, err) < 0 ? command_failed(EXIT_FAILED, err) : EXIT_FINE;
    printf("%.2f us for a failed open (median of %u; best %.2f)\n", c.median_us, c.n, c.best_us);
    return EXIT_FINE;
}

const struct command cmd_calibrate = {
    .name = "calibrate",
    .summary = "what a failed call costs in a directory",
    .flags = &flags,
    WORK(measure, struct calibrate_arguments),
};
