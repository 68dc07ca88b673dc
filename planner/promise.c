#include "planner/promise.h"
#include "planner/subject.h"

#include <string.h>

/* By what edits leave behind: a farm, paths for names, notes. Whose they are does not matter. */
static bool is_edited(const struct object *o)
{
    if (o->layout & LAYOUT_LIFTED || o->resolution.size || o->closure.size)
        return true;
    if (o->runpath &&
        (strstr(o->runpath, "/" FARM_IN_PACKAGE) || strstr(o->runpath, "/" FARM_BESIDE)))
        return true;
    for (size_t i = 0; i < o->n_needs; i++)
        if (strchr(o->need[i].name, '/'))
            return true;
    return false;
}

static bool loads_edited(const struct trace *start)
{
    for (size_t i = 1; i < start->n_loaded; i++) /* 0: the program itself */
        if (start->loaded[i].object && is_edited(start->loaded[i].object))
            return true;
    return false;
}

bool promise_kept(const struct trace *start, const struct storm *promised)
{
    const struct storm *now = &start->storm;

    if (loads_edited(start))
        return now->failed_opens <= promised->failed_opens &&
               now->failed_stats <= promised->failed_stats &&
               now->failed_others <= promised->failed_others;
    return memcmp(now, promised, sizeof(*now)) == 0;
}
