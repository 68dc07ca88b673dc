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

void log_error(const char *fmt, ...) PRINTF(1, 2);
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_info(const char *fmt, ...) PRINTF(1, 2);
