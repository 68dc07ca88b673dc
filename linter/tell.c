/*
 * Telling: findings by their identity, each once.
 */
#include "linter/lint_private.h"

#include "base/intern.h"
#include "base/table.h"

#include <stdlib.h>

enum { MAX_EVIDENCE = 8 };

static uint32_t mix(uint32_t h, const char *text)
{
    return text ? (h ^ intern_hash(text, strlen(text))) * 0x9e3779b1u : h;
}

/* The rule, the path, and what finding_identity() tells. */
static uint32_t identity_hash(const struct rule *rule, const struct finding *f)
{
    return mix(mix(mix(mix(0, rule->code), f->path), f->key), f->subject);
}

static bool is_same(const struct told *told, uint32_t hash, const struct rule *rule,
                    const struct finding *like)
{
    const struct finding *f = told->finding;

    return told->hash == hash && f->rule == rule && !strcmp(f->path, like->path) &&
           !strcmp(f->key, like->key) && str_same(f->subject, like->subject);
}

static void told_grow(struct lint *lint)
{
    const uint32_t n = lint->told ? lint->told_mask + 1 : 0, size = n ? n * 2 : 256;
    struct told *old = lint->told;

    lint->told = table_calloc(size, sizeof(*lint->told));
    lint->told_mask = size - 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = old[i].hash & lint->told_mask;

        if (!old[i].finding)
            continue;
        while (lint->told[at].finding)
            at = (at + 1) & lint->told_mask;
        lint->told[at] = old[i];
    }
    free(old);
}

/* What was told, or the place for it. */
static struct told *told_slot(struct lint *lint, uint32_t hash, const struct rule *rule,
                              const struct finding *like)
{
    uint32_t at;

    if (!lint->told || lint->findings.n * 2 > lint->told_mask)
        told_grow(lint);
    at = hash & lint->told_mask;
    while (lint->told[at].finding && !is_same(&lint->told[at], hash, rule, like))
        at = (at + 1) & lint->told_mask;
    return &lint->told[at];
}

static struct finding *tell(struct check *check, const struct finding *like, const char *message,
                            va_list ap)
{
    struct lint *lint = check->lint;
    struct arena *arena = lint->arena, *of_list = &lint->closure->arena;
    uint32_t hash;
    struct told *told;
    struct finding *f;

    if (lint->n_left == 0)
        return NULL;
    hash = identity_hash(check->rule, like);
    told = told_slot(lint, hash, check->rule, like);
    f = told->finding;
    if (f) {
        f->programs += check->trace && told->start != check->object;
        told->start = check->object;
        return NULL;
    }
    lint->n_left--;
    f = arena_memdup(of_list, like, sizeof(*like));
    f->rule = check->rule;
    f->severity = f->rule->severity;
    f->confidence = f->rule->confidence;
    f->key = arena_strdup(arena, like->key);
    f->subject = like->subject ? arena_strdup(arena, like->subject) : NULL;
    f->message = arena_vprintf(arena, message, ap);
    f->programs = check->trace != NULL;
    *told = (struct told){f, check->object, hash};
    lint->findings.item =
        arena_grow(of_list, lint->findings.item, lint->findings.n, sizeof(struct finding *));
    lint->findings.item[lint->findings.n++] = f;
    return f;
}

struct finding *report_object(struct check *check, const struct lint_object *object,
                              const char *subject, const char *message, ...)
{
    const struct finding like = {.path = object->path,
                                 .package = object->package ? object->package->path : NULL,
                                 .origin = object->package ? object->package->origin : NULL,
                                 .key = closure_key(object, check->arena),
                                 .subject = subject};
    struct finding *f;
    va_list ap;

    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

struct finding *report_package(struct check *check, const struct lint_package *package,
                               const char *subject, const char *message, ...)
{
    const struct finding like = {.path = package->path,
                                 .package = package->path,
                                 .origin = package->origin,
                                 .key = package->key,
                                 .subject = subject};
    struct finding *f;
    va_list ap;

    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

struct finding *report_file(struct check *check, const struct lint_package *package,
                            const char *path, const char *subject, const char *message, ...)
{
    struct finding like = {.path = path, .key = path, .subject = subject};
    struct finding *f;
    va_list ap;

    if (package) {
        const char *below = path + strlen(package->path);

        like.package = package->path;
        like.origin = package->origin;
        like.key = arena_printf(check->arena, "%s:%s", package->key, below + (*below == '/'));
    }
    va_start(ap, message);
    f = tell(check, &like, message, ap);
    va_end(ap);
    return f;
}

bool wants_more(const struct check *check)
{
    return check->lint->n_left > 0;
}

bool wants_evidence(const struct finding *finding)
{
    return finding && finding->n_evidence < MAX_EVIDENCE;
}

void evidence(struct check *check, struct finding *finding, const char *fmt, ...)
{
    struct arena *arena = check->lint->arena;
    const char *text;
    va_list ap;

    if (!wants_evidence(finding))
        return;
    va_start(ap, fmt);
    text = arena_vprintf(check->arena, fmt, ap);
    va_end(ap);
    finding->evidence =
        arena_grow(arena, finding->evidence, finding->n_evidence, sizeof(*finding->evidence));
    finding->evidence[finding->n_evidence++] = intern(check->lint->evidence, text)->text;
}
