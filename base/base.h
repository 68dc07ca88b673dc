/*
 * What every file may use: attributes, array length, errors that carry their own sentence.
 *
 *	return err_set(err, ENOENT, "'%s': no such store", path);
 *
 * Functions that can fail return 0 or a negative errno; outputs are named ret_..., come last but
 * for the error, and are not touched on failure.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEANUP(fn)       __attribute__((cleanup(fn)))
#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED            __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define for_each(item, table) for (item = (table); item < (table) + ARRAY_LEN(table); item++)

/* Why something failed. Filled once, where it happened; callers only pass it on. */
struct err {
    int code;        /* errno value, 0: nothing failed */
    char text[1200]; /* room for two store paths and the sentence around them */
};

/* Record the failure and return -code, so that `return err_set(...)` is the whole error path. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);
