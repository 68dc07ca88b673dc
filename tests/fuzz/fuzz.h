/*
 * A fuzz target is one function. `make fuzz` links it with libFuzzer; `make test` links it with
 * tests/fuzz/replay.c, which feeds it the kept inputs of tests/fuzz/corpus/NAME under asan.
 */
#pragma once

#include "base/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
