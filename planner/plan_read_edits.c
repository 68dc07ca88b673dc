/* Reading the edits of plans. */
#include "base/str.h"
#include "planner/plan_read_private.h"

#include <errno.h>
#include <string.h>

static bool is_farm_name(const char *name)
{
    return *name && *name != '/' && !strstr(name, "..") && !strstr(name, "//");
}

static int read_links(const struct plan_reader *r, json_t *links, const char *place, struct edit *e)
{
    const char *name, *last = "";
    json_t *value;

    if (!json_is_object(links) || json_object_size(links) > MAX_PLAN_LIST)
        return plan_refuse(r, place, "links: expected an object, not too large");
    e->link = arena_calloc(r->arena, json_object_size(links) + 1, sizeof(*e->link));
    json_object_foreach (links, name, value) {
        struct farm_link *link = &e->link[e->n_links++];

        link->name = plan_raw_text(r, name);
        link->target = plan_raw_text(r, json_string_value(value));
        if (!is_farm_name(link->name) || !link->target || *link->target != '/')
            return plan_refuse(r, place,
                               "links: expected names inside the farm and absolute targets");
        if (strcmp(last, link->name) >= 0)
            return plan_refuse(r, place, "links: expected them sorted by name");
        last = link->name;
    }
    return 0;
}

static int read_renames(const struct plan_reader *r, json_t *renames, const char *place,
                        struct edit *e)
{
    const char *name;
    json_t *value;

    if (!json_is_object(renames) || json_object_size(renames) > MAX_PLAN_LIST)
        return plan_refuse(r, place, "renames: expected an object, not too large");
    e->renames = arena_calloc(r->arena, json_object_size(renames) + 1, sizeof(*e->renames));
    json_object_foreach (renames, name, value) {
        if (!json_is_string(value))
            return plan_refuse(r, place, "renames: expected strings");
        e->renames[e->n_renames++] =
            (struct rename){plan_raw_text(r, name), plan_raw_text(r, json_string_value(value))};
    }
    return 0;
}

static int read_pairs(const struct plan_reader *r, json_t *pairs, const char *place, struct edit *e)
{
    struct str out = {.arena = r->arena};
    const char *name, *list;
    json_t *pair;
    size_t i;

    if (!json_is_array(pairs) || json_array_size(pairs) > MAX_PLAN_LIST)
        return plan_refuse(r, place, "pairs: expected a list, not too long");
    json_array_foreach (pairs, i, pair) {
        if (plan_unpack(r, pair, place, "[s, s!]", &name, &list) < 0)
            return -EINVAL;
        name = plan_raw_text(r, name);
        list = plan_raw_text(r, list);
        str_add_n(&out, name, strlen(name) + 1);
        str_add_n(&out, list, strlen(list) + 1);
    }
    str_add_n(&out, "", 1);
    if (out.len > UINT32_MAX)
        return plan_refuse(r, place, "pairs: too large");
    e->note = (struct note){.bytes = (const unsigned char *)out.text, .size = (uint32_t)out.len};
    return 0;
}

static int read_closure(const struct plan_reader *r, json_t *texts, const char *audit,
                        const char *place, struct edit *e)
{
    struct str out = {.arena = r->arena};
    json_t *value;
    size_t i;

    if (!audit || !json_is_array(texts) || json_array_size(texts) > MAX_PLAN_LIST)
        return plan_refuse(r, place, "closure: expected 'audit' and a list of texts, not too long");
    json_array_foreach (texts, i, value) {
        if (!json_is_string(value))
            return plan_refuse(r, place, "texts: expected strings");
        str_add_n(&out, plan_raw_text(r, json_string_value(value)),
                  strlen(plan_raw_text(r, json_string_value(value))) + 1);
    }
    if (out.len > UINT32_MAX)
        return plan_refuse(r, place, "texts: too large");
    e->audit = plan_raw_text(r, audit);
    e->note = (struct note){.bytes = (const unsigned char *)out.text, .size = (uint32_t)out.len};
    return 0;
}

static int read_edit(const struct plan_reader *r, json_t *json, const char *place,
                     struct edit *ret_edit)
{
    struct edit e = {0};
    const char *name = NULL, *path = NULL, *run_path = NULL, *audit = NULL;
    json_t *links = NULL, *needed = NULL, *renames = NULL, *pairs = NULL, *texts = NULL;
    int kind, failed;

    if (plan_unpack(r, json, place, "{s:s, s:s, s?o, s?o, s?s, s?o, s?o, s?s, s?o!}", "edit", &name,
                    "path", &path, "links", &links, "needed", &needed, "run_path", &run_path,
                    "renames", &renames, "pairs", &pairs, "audit", &audit, "texts", &texts) < 0)
        return -EINVAL;
    if ((kind = edit_kind_find(name)) < 0)
        return plan_refuse(r, place, "no such kind of edit");
    e.kind = (enum edit_kind)kind;
    e.path = plan_raw_text(r, path);
    if (*e.path != '/')
        return plan_refuse(r, place, "path: expected an absolute one");
    if ((links != NULL) + (needed != NULL) + (run_path != NULL) + (renames != NULL) +
            (pairs != NULL) + (texts != NULL) !=
        1)
        return plan_refuse(r, place, "expected exactly what this kind of edit changes");
    if (e.kind == EDIT_FARM && links)
        failed = read_links(r, links, place, &e);
    else if (e.kind == EDIT_NEEDED && needed)
        failed = plan_read_texts(r, needed, place, &e.needed, &e.n_needed);
    else if (e.kind == EDIT_VERNEED && renames)
        failed = read_renames(r, renames, place, &e);
    else if (e.kind == EDIT_NOTE && pairs)
        failed = read_pairs(r, pairs, place, &e);
    else if (e.kind == EDIT_CLOSURE && texts)
        failed = read_closure(r, texts, audit, place, &e);
    else if (e.kind == EDIT_RUN_PATH && run_path) {
        e.run_path = plan_raw_text(r, run_path);
        failed = 0;
    } else
        failed = plan_refuse(r, place, "the kind of edit and what it changes do not fit");
    *ret_edit = e;
    return failed;
}

int plan_read_edits(const struct plan_reader *r, json_t *array, const char *place,
                    struct edits *edits)
{
    json_t *value;
    size_t i;

    if (!json_is_array(array) || json_array_size(array) > MAX_PLAN_EDITS)
        return plan_refuse(r, place, "edits: expected a list, not too long");
    edits->item = arena_calloc(r->arena, json_array_size(array) + 1, sizeof(*edits->item));
    json_array_foreach (array, i, value) {
        if (read_edit(r, value, arena_printf(r->arena, "%s.edits[%zu]", place, i),
                      &edits->item[edits->n++]) < 0)
            return -EINVAL;
    }
    return 0;
}
