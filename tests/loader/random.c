/*
 * Random trees: the real loader and the model, on the same files, call for call.
 *
 *	random SEED COUNT [--machine NAME] [--loader FILE]
 *	random --case CASE.json [--loader FILE]
 *
 * Makes COUNT samples (tests/sample.h), the first from SEED, the next from SEED + 1 and so on.
 * Each becomes real files in a scratch directory; its program is started there in a private root
 * under our tracer, with a copy of the machine's own loader or of FILE; the model looks at the
 * same files. When they differ, the sample is made smaller as long as it still differs, then
 * printed and kept as build/random/SEED.json: a case that belongs into tests/loader/regress. The
 * search goes on until five are found.
 *
 * With --case a case made by hand is run instead, and its file rewritten with what the real loader
 * did.
 *
 * With --machine the samples are for another machine (tests/machine.h), and its loader is the one
 * of Debian's cross compiler. What is not installed counts as skipped.
 *
 * Private roots take root or user namespaces, tracing takes ptrace: where the machine forbids
 * them everything counts as skipped.
 */
#include "tests/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_REPORTS = 5, JSON_MAX = 16 * 1024 * 1024 };
static const char folder[] = "build/random";

struct totals {
    unsigned passed, failed, skipped;
};

static void print_verdict(const struct sample *s, const struct verdict *v)
{
    printf("    model ends: %s; status %d; loader says: %s\n", v->model_exit, v->traced.status,
           *v->traced.stderr_text ? v->traced.stderr_text : "nothing");
    lines_print(&v->real, &v->model, v->at);
    for (size_t i = 0; i < s->n_args; i++)
        printf("    argument %s\n", s->args[i]);
    for (size_t i = 0; i < s->n_env; i++)
        printf("    %s\n", s->env[i]);
}

static void report(const struct judge *judge, struct sample *s)
{
    const char *path = arena_printf(s->arena, "%s/%" PRIu64 ".json", folder, s->seed);
    const char *name = arena_printf(s->arena, "random_%" PRIu64, s->seed);
    struct verdict v;
    struct err err;
    json_t *record;

    sample_shrink(judge, s);
    if (judge_sample(judge, s, &v, &err) < 0)
        return;
    printf("FAIL seed %" PRIu64 ", line %zu, kept as %s\n", s->seed, v.at + 1, path);
    print_verdict(s, &v);
    record = sample_record(judge, s, &v, name, "");
    if (sample_write_case(path, judge, record, &err) < 0)
        printf("%s\n", err.text);
    json_decref(record);
}

static void run_seed(const struct judge *judge, uint64_t seed, struct totals *totals)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct sample sample;
    struct verdict verdict;
    struct err err;
    int r;

    sample_make(&arena, seed, &judge->settings, &sample);
    if (judge->machine)
        machine_sample(judge->machine, judge->profile.soname, &sample);
    r = judge_sample(judge, &sample, &verdict, &err);
    if (r == -EPERM) {
        if (!totals->skipped)
            printf("skipped: %s\n", err.text);
        totals->skipped++;
    } else if (r < 0) {
        printf("FAIL seed %" PRIu64 ": %s\n", seed, err.text);
        totals->failed++;
    } else if (verdict.same) {
        totals->passed++;
    } else {
        totals->failed++;
        report(judge, &sample);
    }
}

static int run_case(const struct judge *judge, const char *path, struct totals *totals,
                    struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct sample s;
    struct verdict v;
    json_t *file, *record, *fresh;
    int r = json_read_file(path, JSON_MAX, &file, err);

    if (r < 0)
        return r;
    record = json_array_get(json_object_get(file, "records"), 0);
    r = sample_of_record(judge, record, &arena, &s, err);
    if (r == 0)
        r = judge_sample(judge, &s, &v, err);
    if (r == 0) {
        const char *name = json_string_value(json_object_get(record, "case"));
        const char *shows = json_string_value(json_object_get(record, "shows"));

        fresh = sample_record(judge, &s, &v, name ? name : "", shows ? shows : "");
        r = sample_write_case(path, judge, fresh, err);
        json_decref(fresh);
        totals->passed += v.same;
        totals->failed += !v.same;
        if (!v.same) {
            printf("FAIL %s\n", path);
            print_verdict(&s, &v);
        }
    }
    json_decref(file);
    return r;
}

/* -ENOENT: what it takes to run the machine's programs is not installed. */
static int find_machine(const char *name, const char *loader, struct judge *judge, struct err *err)
{
    const struct machine *m = name ? machine_find(name) : NULL;

    judge->machine = m;
    if (name && !m)
        return err_set(err, EINVAL, "'%s': no machine of that name", name);
    if (m && !loader && access(m->loader, R_OK) < 0)
        return err_set(err, ENOENT, "'%s' is not there", m->loader);
    if (m && m->emulator && access(m->emulator, X_OK) < 0)
        return err_set(err, ENOENT, "'%s' is not there", m->emulator);
    return 0;
}

int main(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *loader = NULL, *machine = NULL, *file = NULL, *number[2] = {"1", "100"};
    struct judge judge = {0};
    struct totals totals = {0};
    size_t n_numbers = 0;
    struct err err;
    int r;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--loader") && i + 1 < argc)
            loader = argv[++i];
        else if (!strcmp(argv[i], "--machine") && i + 1 < argc)
            machine = argv[++i];
        else if (!strcmp(argv[i], "--case") && i + 1 < argc)
            file = argv[++i];
        else if (n_numbers < ARRAY_LEN(number))
            number[n_numbers++] = argv[i];
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)mkdir("build", 0755);
    (void)mkdir(folder, 0755);
    r = find_machine(machine, loader, &judge, &err);
    if (r == -ENOENT) {
        printf("skipped: %s\n%s skipped\n0 passed, 0 failed\n", err.text, number[1]);
        return 0;
    }
    if (r == 0)
        r = judge_open(&judge, loader, folder, &arena, &err);
    if (r == 0 && file)
        r = run_case(&judge, file, &totals, &err);
    if (r < 0) {
        printf("%s\n", err.text);
        totals.failed++;
    } else if (!file) {
        const uint64_t seed = strtoull(number[0], NULL, 10);
        const uint64_t count = strtoull(number[1], NULL, 10);

        printf("%s, %s\n", judge.profile.text, judge.cpu.name);
        for (uint64_t i = 0; i < count && totals.failed < MAX_REPORTS; i++)
            run_seed(&judge, seed + i, &totals);
    }
    if (judge.scratch)
        judge_close(&judge);
    if (totals.skipped)
        printf("%u skipped\n", totals.skipped);
    printf("%u passed, %u failed\n", totals.passed, totals.failed);
    return totals.failed ? 1 : 0;
}
