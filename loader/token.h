/*
 * Dynamic string tokens: $ORIGIN, $PLATFORM, $LIB and their ${...} forms (docs/loader.md, 7).
 */
#pragma once

#include "base/arena.h"

/* What the tokens stand for in one object. NULL: cannot be told. */
struct tokens {
    const char *origin, *platform, *lib;
};

/* Does `text` hold a token the loader knows? Anything else after '$' is literal. */
bool token_present(const char *text);

/*
 * `text` with every token replaced; the text itself when it holds none; NULL when one of its
 * tokens cannot be told, or gives nothing: the loader then drops the whole component.
 */
const char *token_expand(struct arena *arena, const char *text, const struct tokens *tokens);

/*
 * Secure mode's rule for $ORIGIN: only at the very start of a component, alone or followed by a
 * slash (docs/loader.md, 14). True when `text` keeps to it (also when it holds no $ORIGIN).
 */
bool token_origin_is_secure(const char *text);
