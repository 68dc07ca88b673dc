/*
 * cmocka wants these four before itself, in any order; keep the formatter's hands off.
 *
 * Every test program ends with `return UNIT_RUN(tests);`, so that tests/unit/run can count.
 */
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#define UNIT_RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)
