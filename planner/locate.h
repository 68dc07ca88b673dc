/*
 * Self-location: which objects find files from the path they were opened by.
 *
 * A library found through a farm was opened by the farm's path: dladdr(), dlinfo() and $ORIGIN
 * answer with the farm. What it looks for beside itself is then looked for in the farm, and missed
 * without a word. Such objects stay out of the farm, and their directories follow it in the run
 * path, so that they are opened by the very string as before.
 */
#pragma once

struct subject;

/* Fill `keep` and `cleared` of every member of a subject. */
void locate_members(struct subject *subject);
