/* What is wrong: findings of the linter, rules, and files that are broken or unread. */
#include "server/api.h"

#include <errno.h>
#include <string.h>

/* ---- findings of an audit */

struct finding_list {
    const struct query *query;
    const struct audit *audit;
    const char *rule, *severity, *q, *package, *standing;
    bool by_path;
};

static bool finding_wanted(void *data, size_t at)
{
    const struct finding_list *l = data;
    const struct audit_finding *f = &l->audit->finding[at];

    return (!l->rule || !strcmp(f->rule, l->rule) || !strcmp(f->code, l->rule)) &&
           (!l->severity || !strcmp(severity_name(f->severity), l->severity)) &&
           (!l->standing || str_same(f->standing, l->standing)) &&
           (!l->q || strcasestr(f->identity, l->q) || strcasestr(f->message, l->q)) &&
           (!l->package || (f->package && (!strcmp(str_base(f->package), l->package) ||
                                           !strcmp(f->package, l->package))));
}

/* Errors first, as the linter sorts them, or by what they are about. */
static struct page_key finding_key(void *data, size_t at)
{
    const struct finding_list *l = data;
    const struct audit_finding *f = &l->audit->finding[at];

    if (l->by_path)
        return (struct page_key){.text = f->identity};
    return (struct page_key){.number = (int64_t)SEVERITY_ERROR - (int64_t)f->severity};
}

static const char *finding_name(void *data, size_t at)
{
    const struct finding_list *l = data;
    const struct audit_finding *f = &l->audit->finding[at];

    /* a number behind it: two findings may differ in nothing that is shown */
    return arena_printf(l->query->arena, "%s %s %s %zu", f->identity, f->code,
                        f->path ? f->path : "", at);
}

static json_t *finding_item(void *data, size_t at)
{
    const struct finding_list *l = data;
    const struct audit_finding *f = &l->audit->finding[at];
    json_t *json = json_object();

    json_put_text(json, "rule", f->rule);
    json_put_text(json, "code", f->code);
    json_put_text(json, "severity", severity_name(f->severity));
    json_put_text(json, "confidence", f->confidence);
    json_put_text(json, "identity", f->identity);
    json_put_text(json, "message", f->message);
    json_put_text(json, "fix", f->fix);
    json_put_text(json, "path", f->path);
    json_put_text(json, "package", f->package ? str_base(f->package) : NULL);
    json_put_text(json, "standing", f->standing);
    json_put(json, "evidence", json_texts(f->evidence, f->n_evidence));
    origin_put(json, f->origin);
    return json;
}

static const struct origin *finding_origin(void *data, size_t at)
{
    return ((const struct finding_list *)data)->audit->finding[at].origin;
}

static void finding_see(void *data, struct maintainer *maintainer)
{
    see_audit(((const struct finding_list *)data)->audit, maintainer);
}

/* How many there are of each rule, whichever rule is asked for. */
static json_t *by_rule_json(const struct finding_list *list)
{
    const struct maintainer whose = query_maintainer(list->query);
    struct finding_list all = *list;
    json_t *json = json_object();

    all.rule = NULL;
    for (size_t i = 0; i < list->audit->n_findings; i++) {
        const char *rule = list->audit->finding[i].rule;

        if (maintainer_wants(&whose, list->audit->finding[i].origin) && finding_wanted(&all, i))
            json_put_int(json, rule, json_integer_value(json_object_get(json, rule)) + 1);
    }
    return json;
}

static int list_of(struct query *query, const char *audit, struct reply *reply, struct err *err)
{
    struct finding_list findings = {
        .query = query,
        .rule = query_text(query, "rule"),
        .severity = query_text(query, "severity"),
        .standing = query_text(query, "standing"),
        .q = query_text(query, "q"),
        .package = query_text(query, "package"),
        .by_path = str_same(query_text(query, "sort"), "identity"),
    };
    struct listing listing = {.data = &findings,
                              .wanted = finding_wanted,
                              .key = finding_key,
                              .name = finding_name,
                              .item = finding_item,
                              .origin = finding_origin,
                              .see = finding_see};
    struct looked_at looked_at;
    int r = looked_at_open(query, audit, &looked_at, err);

    if (r < 0)
        return r;
    findings.audit = looked_at.audit;
    listing.n = looked_at.audit->n_findings;
    r = page_reply(query, &listing, reply, err);
    if (r == 0)
        json_put(reply->json, "rules", by_rule_json(&findings));
    looked_at_close(&looked_at);
    return r;
}

int list_findings(struct query *query, struct reply *reply, struct err *err)
{
    return list_of(query, "index", reply, err);
}

int list_audit_findings(struct query *query, struct reply *reply, struct err *err)
{
    return list_of(query, query->segment[0], reply, err);
}

/* ---- rules */

static json_t *rule_json(const struct rule *rule)
{
    json_t *json = json_object();

    json_put_text(json, "code", rule->code);
    json_put_text(json, "id", rule->id);
    json_put_text(json, "severity", severity_name(rule->severity));
    json_put_text(json, "confidence", confidence_name(rule->confidence));
    json_put_text(json, "scope", rule_scope_name(rule->scope));
    json_put(json, "opt_in", json_boolean(rule->opt_in));
    json_put(json, "live", json_boolean(rule->live));
    json_put_text(json, "summary", rule->summary);
    json_put_text(json, "fix", rule->fix);
    return json;
}

int list_rules(struct query *query, struct reply *reply, struct err *err)
{
    json_t *items = json_array();

    (void)query;
    (void)err;
    for (size_t i = 0; i < N_RULES; i++)
        json_push(items, rule_json(&rules()[i]));
    reply->json = json_object();
    json_put(reply->json, "items", items);
    return 0;
}

int get_rule(struct query *query, struct reply *reply, struct err *err)
{
    const struct rule *rule = rule_find(query->segment[0]);
    json_t *page;

    if (!rule)
        return err_set(err, ENOENT, "there is no rule '%.60s'", query->segment[0]);
    reply->json = rule_json(rule);
    page = json_string(rule_page(rule)); /* our own text: nothing in it is escaped */
    json_put(reply->json, "page", page);
    return 0;
}

/* ---- files that are broken or unread */

static const char PROBLEMS[] =
    "SELECT p.base, s.path || '/' || p.base || iif(x.path = '', '', '/' || x.path), x.kind, "
    "x.text FROM problem x JOIN package p ON p.id = x.package JOIN store s ON s.id = p.store "
    "ORDER BY p.base, x.path";

struct problem {
    const char *package, *path, *kind, *text;
};

struct problems {
    struct problem *problem;
    size_t n;
    const char *kind, *package;
};

static bool problem_wanted(void *data, size_t at)
{
    const struct problems *l = data;
    const struct problem *p = &l->problem[at];

    return (!l->kind || !strcmp(p->kind, l->kind)) &&
           (!l->package || !strcmp(p->package, l->package));
}

static struct page_key problem_key(void *data, size_t at)
{
    const struct problems *l = data;

    return (struct page_key){.text = l->problem[at].path};
}

static const char *problem_name(void *data, size_t at)
{
    const struct problems *l = data;

    return l->problem[at].text;
}

static json_t *problem_item(void *data, size_t at)
{
    const struct problems *l = data;
    json_t *json = json_object();

    json_put_text(json, "package", l->problem[at].package);
    json_put_text(json, "path", l->problem[at].path);
    json_put_text(json, "kind", l->problem[at].kind);
    json_put_text(json, "text", l->problem[at].text);
    return json;
}

int list_problems(struct query *query, struct reply *reply, struct err *err)
{
    struct arena *a = query->arena;
    struct problems list = {.kind = query_text(query, "kind"),
                            .package = query_text(query, "package")};
    struct listing listing = {.data = &list,
                              .wanted = problem_wanted,
                              .key = problem_key,
                              .name = problem_name,
                              .item = problem_item};
    struct stmt *s = db_prepare(view_db(query->view), PROBLEMS, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        list.problem = arena_grow(a, list.problem, list.n, sizeof(*list.problem));
        list.problem[list.n++] =
            (struct problem){arena_strdup(a, stmt_text(s, 0)), arena_strdup(a, stmt_text(s, 1)),
                             arena_strdup(a, stmt_text(s, 2)), arena_strdup(a, stmt_text(s, 3))};
    }
    if (r < 0)
        return r;
    listing.n = list.n;
    return page_reply(query, &listing, reply, err);
}
