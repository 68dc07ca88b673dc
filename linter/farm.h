/*
 * Telling farms from other directories.
 */
#pragma once

#include "linter/check.h"

/*
 * Is it a farm: stormlint's own place for them, or a directory of a package that holds nothing but
 * links into other packages?
 */
bool is_farm(struct check *check, struct node *dir);
