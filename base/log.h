/*
 * Log: what a command tells its user beside its answer. Commands only: library code returns errors
 * (base.h) and says nothing. Each failure is told once, by the function that gives up.
 *
 *	log_error("%s", err.text);		stormlint: error: '/x': no such store
 *
 * Under systemd's journal (JOURNAL_STREAM is set) a line starts with `<n>`, its priority.
 */
#pragma once

#include "base/base.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Say nothing beyond this level. The default is LOG_LEVEL_INFO. */
void log_limit(enum log_level level);

void log_error(const char *fmt, ...) PRINTF(1, 2);
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_debug(const char *fmt, ...) PRINTF(1, 2);
