/* The whole in numbers, and one package's in a badge. */
#include "server/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Programs by how many of their calls fail: the upper ends of the classes. */
static const uint64_t classes[] = {0, 10, 50, 100, 200, 500, 1000, 2000, 5000, UINT64_MAX};

json_t *histogram_json(uint64_t (*failed)(const void *data, size_t at), const void *data, size_t n)
{
    json_t *array = json_array();
    uint64_t from = 0;

    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        int64_t programs = 0;
        json_t *one = json_object();

        for (size_t k = 0; k < n; k++) {
            const uint64_t of = failed(data, k);

            programs += of >= from && of <= classes[i];
        }
        json_put_int(one, "from", (int64_t)from);
        json_put(one, "to",
                 classes[i] == UINT64_MAX ? json_null() : json_integer((int64_t)classes[i]));
        json_put_int(one, "programs", programs);
        json_push(array, one);
        from = classes[i] + 1;
    }
    return array;
}

static uint64_t failed_of(const void *data, size_t at)
{
    const struct snapshot *snap = data;

    return storm_failed(&snap->program[at].of.storm);
}

static json_t *index_json(const struct snapshot *snap)
{
    const struct index_totals *t = &snap->totals;
    const struct number {
        const char *key;
        int64_t value;
    } numbers[] =
        {
            {"generation", snap->moment.generation},
            {"packages", t->packages},
            {"incomplete", t->incomplete},
            {"gone", t->gone},
            {"files", t->files},
            {"objects", t->objects},
            {"programs", t->programs},
            {"macho", t->macho},
            {"malformed", t->malformed},
            {"unread", t->unread},
        },
      *number;
    json_t *json = json_object();

    for_each (number, numbers)
        json_put_int(json, number->key, number->value);
    json_put(json, "changed", json_time(snap->index_at));
    json_put(json, "unfinished", json_boolean(snap->moment.unfinished));
    return json;
}

/* What plans come to, as far as they are made; programs without one stay as they are. */
static json_t *plans_json(struct snapshot *snap)
{
    json_t *json = json_object(), *after = json_object(), *strategies = json_object();
    int64_t opens = 0, stats = 0;
    size_t planned, to_plan;
    unsigned revision;

    snapshot_progress(snap, &planned, &to_plan, &revision);
    for (size_t i = 0; i < snap->n_programs; i++) {
        const struct storm *storm = &snap->program[i].of.storm;
        const struct remedy remedy = snapshot_remedy(snap, &snap->program[i]);

        opens += remedy.known ? remedy.after_opens : storm->failed_opens;
        stats += remedy.known ? remedy.after_stats : storm->failed_stats;
        if (remedy.known)
            json_put_int(strategies, remedy.strategy,
                         json_integer_value(json_object_get(strategies, remedy.strategy)) + 1);
    }
    json_put_int(after, "failed_opens", opens);
    json_put_int(after, "failed_stats", stats);
    json_put_int(json, "packages", (int64_t)to_plan);
    json_put_int(json, "planned", (int64_t)planned);
    json_put(json, "after", after);
    json_put(json, "strategies", strategies);
    return json;
}

int get_summary(struct query *query, struct reply *reply, struct err *err)
{
    struct snapshot *snap = query->snapshot;
    json_t *json = json_object(), *worst = json_array();
    int64_t broken = 0;

    (void)err;
    for (size_t i = 0; i < snap->n_programs; i++)
        broken +=
            snap->program[i].of.exit != EXIT_OK && snap->program[i].of.exit != EXIT_NOT_DYNAMIC;
    for (size_t i = 0; i < snap->n_programs && i < 5; i++)
        json_push(worst, program_json(query, &snap->program[i]));
    json_put_text(json, "version", VERSION);
    json_put_text(json, "cpu", snap->cpu);
    json_put(json, "read", json_time(snap->made_at));
    json_put(json, "index", index_json(snap));
    json_put(json, "storm", storm_json(&snap->sum));
    json_put_int(json, "failed", (int64_t)storm_failed(&snap->sum));
    json_put_int(json, "not_starting", broken);
    json_put(json, "histogram", histogram_json(failed_of, snap, snap->n_programs));
    json_put(json, "plans", plans_json(snap));
    json_put(json, "worst", worst);
    reply->json = json;
    return 0;
}

/* ---- badges: https://shields.io/badges/endpoint-badge */

static const char *colour(uint64_t failed)
{
    return failed < 50 ? "brightgreen" : failed < 200 ? "yellow" : failed < 500 ? "orange" : "red";
}

int get_badge(struct query *query, struct reply *reply, struct err *err)
{
    struct snapshot *snap = query->snapshot;
    const char *pname = query->segment[0];
    const struct program_row *worst = NULL;
    struct remedy remedy;
    char message[80];
    bool known = false;

    for (size_t i = 0; i < snap->n_packages; i++) {
        const struct package_row *p = &snap->package[i];

        if (strcmp(p->pname, pname) != 0 && strcmp(p->base, pname) != 0)
            continue;
        known = true;
        if (p->n_programs && (!worst || p->program[0] < (uint32_t)(worst - snap->program)))
            worst = &snap->program[p->program[0]];
    }
    if (!known)
        return err_set(err, ENOENT, "there is no such package");
    (void)snprintf(message, sizeof(message), "no programs");
    if (worst) {
        const unsigned long long failed = storm_failed(&worst->of.storm);

        remedy = snapshot_remedy(snap, worst);
        if (remedy.known && strcmp(remedy.strategy, "none") != 0)
            (void)snprintf(message, sizeof(message), "%llu failed calls, %llu with %s", failed,
                           (unsigned long long)remedy.after_opens + remedy.after_stats,
                           remedy.strategy);
        else
            (void)snprintf(message, sizeof(message), "%llu failed calls", failed);
    }
    reply->json = json_object();
    json_put_int(reply->json, "schemaVersion", 1);
    json_put_text(reply->json, "label", "stat storm");
    json_put_text(reply->json, "message", message);
    json_put_text(reply->json, "color", worst ? colour(storm_failed(&worst->of.storm)) : "grey");
    return 0;
}
