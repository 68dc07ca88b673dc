/*
 * One sample, both ways: the real loader in a private root, the model over the same files.
 *
 *	struct judge j;
 *	judge_open(&j, NULL, "build/random", &arena, &err);
 *	sample_make(&arena, seed, &j.settings, &sample);
 *	judge_sample(&j, &sample, &verdict, &err);
 */
#pragma once

#include "base/json.h"
#include "tests/lines.h"
#include "tests/machine.h"
#include "tests/sample.h"
#include "tests/tracer.h"

struct judge {
    struct sample_settings settings;
    struct profile profile;
    struct cpu cpu;
    const struct machine *machine; /* NULL: this one; set before judge_open() */
    const char *scratch;           /* directory, made anew for every sample */
};

struct verdict {
    bool same;
    size_t at; /* first line that differs */
    struct lines real, model;
    struct traced traced;
    const char *model_exit;
};

/*
 * Get to know loader file `loader` (NULL: the machine's own). Scratch directories go below
 * `folder`, which exists. What is learned lives in `arena`.
 */
MUST_CHECK int judge_open(struct judge *judge, const char *loader, const char *folder,
                          struct arena *arena, struct err *err);

/*
 * 0: *ret_verdict tells; its memory is the sample's. -EPERM: this machine does not let us make a
 * private root. A start that the loader itself aborts is compared as far as it went.
 */
MUST_CHECK int judge_sample(const struct judge *judge, const struct sample *sample,
                            struct verdict *ret_verdict, struct err *err);

/* Remove the scratch directory. */
void judge_close(const struct judge *judge);

/* ---- tests/sample_shrink.c */

/* Take away whatever does not matter for the difference. */
void sample_shrink(const struct judge *judge, struct sample *sample);

/* ---- tests/sample_case.c: samples as recorded cases (tests/loader/README) */

json_t *sample_record(const struct judge *judge, const struct sample *sample,
                      const struct verdict *verdict, const char *name, const char *shows);

/* What is started, and where, of a record. Its loader is replaced by the judge's. */
MUST_CHECK int sample_of_record(const struct judge *judge, const json_t *record,
                                struct arena *arena, struct sample *ret_sample, struct err *err);

/* A file of one record, an entry or a call a line. */
MUST_CHECK int sample_write_case(const char *path, const struct judge *judge, const json_t *record,
                                 struct err *err);
