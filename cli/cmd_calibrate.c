/*
 * stormlint calibrate DIR: what one of the loader's failed calls costs in a directory.
 */
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/options.h"
#include "planner/cost.h"

#include <stdio.h>

enum { OPENS = 4096, OPT_JSON = 0x200 };

struct calibrate_arguments {
    const char *directory;
    bool json;
};

static const struct argp_option rows[] = {
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct calibrate_arguments *a = state->input;

    switch (key) {
    case OPT_JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->directory)
            argp_usage(state);
        a->directory = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->directory)
            argp_error(state, "which directory?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .args_doc = "DIR",
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

static int run(int argc, char **argv)
{
    struct calibrate_arguments a = {0};
    struct calibration c;
    struct err err;

    options_parse(&argp, argc, argv, &a);
    if (calibrate(a.directory, OPENS, &c, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_INCOMPLETE;
    }
    if (!a.json)
        printf("%.2f us for a failed open (median of %u; best %.2f)\n", c.median_us, c.n,
               c.best_us);
    else if (print_json(&a, &c, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

const struct command cmd_calibrate = {
    .name = "calibrate",
    .summary = "what a failed call costs in a directory",
    .run = run,
};
