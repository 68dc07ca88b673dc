/*
 * Hashes of archives, in the one form that Nix's database has: "sha256:<base16>". Others write the
 * same in Nix's own base 32, or in base 64 behind a dash (SRI).
 */
#pragma once

#include "base/arena.h"

/* `text` in the database's form; as it is when it is no SHA-256. NULL for NULL and "". */
const char *nar_hash_text(struct arena *arena, const char *text);
