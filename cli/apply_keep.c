#include "cli/apply_keep.h"

#include "base/json.h"
#include "base/str.h"
#include "planner/plan_json.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct err *err, const char *path, int code)
{
    return err_set(err, code, "'%s': %s", path, strerror(code));
}

static int make_directories(struct kept_plan *k, const char *const *path, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(k->made); i++) {
        if (mkdir(path[i], 0755) == 0)
            k->made[i] = path[i];
        else if (errno != EEXIST)
            return fail(err, path[i], errno);
    }
    return 0;
}

static int write_beside(const struct kept_plan *k, const struct plan *plan, struct arena *arena,
                        struct err *err)
{
    FILE *file = fopen(k->beside, "we");
    json_t *json;
    int r;

    if (!file)
        return fail(err, k->beside, errno);
    json = plan_json(plan, arena);
    r = json_print(json, file, true, err);
    json_decref(json);
    if (fclose(file) != 0 && r == 0)
        r = fail(err, k->beside, errno);
    return r;
}

/* Nothing is left of a plan that is not to be kept. */
static void forget(const struct kept_plan *k)
{
    (void)unlink(k->beside);
    for (size_t i = ARRAY_LEN(k->made); i-- > 0;)
        if (k->made[i])
            (void)rmdir(k->made[i]);
}

static int prepare_one(struct kept *kept, const char *root, const struct apply_output *output,
                       const struct plan *plan, struct err *err)
{
    struct arena *arena = kept->arena;
    const char *support =
        arena_printf(arena, "%s%s/nix-support", strcmp(root, "/") ? root : "", output->dir);
    const char *const folders[] = {support, str_join(arena, support, "stormlint")};
    struct kept_plan *k;
    struct stat st;
    int r;

    kept->item = arena_grow(arena, kept->item, kept->n, sizeof(*kept->item));
    k = &kept->item[kept->n++];
    *k = (struct kept_plan){.output = output->dir,
                            .path = str_join(arena, folders[1], "plan.json"),
                            .beside = str_join(arena, folders[1], "plan.json.new")};
    r = make_directories(k, folders, err);
    if (r == 0 && lstat(k->path, &st) == 0 && S_ISDIR(st.st_mode))
        r = fail(err, k->path, EISDIR);
    return r == 0 ? write_beside(k, plan, arena, err) : r;
}

int keep_prepare(struct kept *ret_kept, const struct apply_options *o, const struct plan *plan,
                 size_t n_plans, struct arena *arena, struct err *err)
{
    struct kept kept = {.arena = arena};
    int r = 0;

    for (size_t i = 0; i < n_plans && r == 0; i++)
        for (size_t k = 0; k < o->n_outputs && r == 0; k++)
            if (strcmp(o->output[k].name, plan[i].key.output) == 0)
                r = prepare_one(&kept, o->root, &o->output[k], &plan[i], err);
    for (size_t i = kept.n; r < 0 && i-- > 0;)
        forget(&kept.item[i]);
    if (r == 0)
        *ret_kept = kept;
    return r;
}

static bool has_edited(const struct apply_result *result, const char *dir)
{
    for (size_t i = 0; i < result->n; i++)
        if (result->item[i].state == APPLIED_EDITED && str_starts(result->item[i].path, dir) &&
            result->item[i].path[strlen(dir)] == '/')
            return true;
    return false;
}

int keep_finish(const struct kept *kept, const struct apply_result *result, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < kept->n; i++) {
        const struct kept_plan *k = &kept->item[i];

        if (!result || (access(k->path, F_OK) == 0 && !has_edited(result, k->output)))
            forget(k);
        else if (rename(k->beside, k->path) < 0 && r == 0)
            r = fail(err, k->path, errno);
    }
    return r;
}
