/*
 * What world.c offers to the kinds of worlds beside it, and to nobody else.
 */
#pragma once

#include "loader/world.h"

/* Remember that (dir, name) is `node`, or, when that is NULL, gives `error` (an errno). */
void world_remember(struct world *world, const struct node *dir, const struct name *name,
                    struct node *node, int error);
