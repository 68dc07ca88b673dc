/* Pages: the dashboard's files, and a plain table for whoever has no scripts. */
#include "server/api.h"
#include "server/asset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where the start page takes the table. */
static const char MARK[] = "<!--offenders-->";

/* ---- HTML */

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text ? text : "";
}

static int64_t number_of(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

/* A cell with a number; its label is for narrow windows. */
static void add_number(struct str *to, const char *label, int64_t number)
{
    str_printf(to, "<td class=\"num\" data-label=\"%s\">%" PRId64 "</td>", label, number);
}

/* Who maintains its package, beneath its name; each leads to what is theirs. */
static void add_whom(struct str *to, const struct query *query, const json_t *maintainers)
{
    const json_t *one;
    size_t i;

    json_array_foreach (maintainers, i, one) {
        const char *text = json_string_value(one) ? json_string_value(one) : "";

        str_printf(to, "%s<a href=\"/table?maintainer=%s\">", i ? ", " : "<br><small>",
                   url_escape(query->arena, text + (*text == '@')));
        str_add_markup(to, text);
        str_add(to, "</a>");
    }
    if (json_array_size(maintainers))
        str_add(to, "</small>");
}

static void add_row(struct str *to, const struct query *query, const json_t *program)
{
    const json_t *storm = json_object_get(program, "storm");
    const json_t *plan = json_object_get(program, "plan");
    const json_t *after = json_object_get(plan, "after");

    str_add(to, "<tr><th scope=\"row\" class=\"main\"><a href=\"/programs/");
    str_add_markup(to, text_of(program, "id"));
    str_add(to, "\">");
    str_add_markup(to, text_of(program, "path"));
    str_add(to, "</a>");
    add_whom(to, query, json_object_get(json_object_get(program, "package"), "maintainers"));
    str_add(to, "</th>");
    add_number(to, "failed opens", number_of(storm, "failed_opens"));
    add_number(to, "failed stats", number_of(storm, "failed_stats"));
    add_number(to, "objects", number_of(storm, "objects"));
    add_number(to, "directories", number_of(storm, "directories"));
    str_add(to, "<td data-label=\"best strategy\">");
    str_add_markup(to, json_is_object(plan) ? text_of(plan, "strategy") : "not planned yet");
    str_add(to, "</td>");
    if (json_is_object(plan))
        add_number(to, "failing after it",
                   number_of(after, "failed_opens") + number_of(after, "failed_stats"));
    else
        str_add(to, "<td></td>");
    str_add(to, "<td data-label=\"outcome\">");
    str_add_markup(to, text_of(program, "exit"));
    str_add(to, "</td></tr>\n");
}

/* What the table was narrowed to, for its links: "&amp;q=...". */
static void add_filters(struct str *to, const struct query *query)
{
    static const char *const names[] = {"q", "maintainer"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *text = query_text(query, names[i]);

        if (text && *text)
            str_printf(to, "&amp;%s=%s", names[i], url_escape(query->arena, text));
    }
}

/* A column's head; by a click the table is sorted by it. */
static void add_head(struct str *to, const struct query *query, const char *sort, const char *title)
{
    const bool by_name = !strcmp(sort, "path");
    const char *now = query_text(query, "sort");
    const bool down = *now == '-' && !strcmp(now + 1, sort), up = !strcmp(now, sort);

    str_printf(to, "<th scope=\"col\"%s%s><a href=\"/table?sort=%s%s",
               by_name ? "" : " class=\"num\"",
               down ? " aria-sort=\"descending\""
               : up ? " aria-sort=\"ascending\""
                    : "",
               down || (by_name && !up) ? "" : "-", sort);
    add_filters(to, query);
    str_printf(to, "\">%s</a></th>", title);
}

static void add_table(struct str *to, const struct query *query, const json_t *page)
{
    const json_t *items = json_object_get(page, "items");
    const json_t *program;
    size_t i;

    str_printf(to,
               "<table class=\"list\">\n<caption>Programs by the calls that fail before they "
               "start: %zu of "
               "%" PRId64 "</caption>\n<thead><tr>",
               json_array_size(items), number_of(page, "total"));
    add_head(to, query, "path", "program");
    add_head(to, query, "failed_opens", "failed opens");
    add_head(to, query, "failed_stats", "failed stats");
    add_head(to, query, "objects", "objects");
    add_head(to, query, "directories", "directories");
    str_add(to, "<th scope=\"col\">best strategy</th><th scope=\"col\" class=\"num\">failing after "
                "it</th><th scope=\"col\">outcome</th></tr></thead>\n<tbody>\n");
    json_array_foreach (items, i, program)
        add_row(to, query, program);
    str_add(to, "</tbody>\n</table>\n");
}

static void add_next(struct str *to, const struct query *query, const char *next)
{
    if (!next)
        return;
    str_printf(to, "<p><a rel=\"next\" href=\"/table?sort=%s&amp;after=%s",
               query_text(query, "sort"), next);
    add_filters(to, query);
    str_add(to, "\">Next page</a></p>\n");
}

static void add_form(struct str *to, const struct query *query)
{
    const char *q = query_text(query, "q"), *maintainer = query_text(query, "maintainer");

    str_add(to, "<form method=\"get\" action=\"/table\"><label>Path contains <input name=\"q\" "
                "value=\"");
    str_add_markup(to, q ? str_escape(query->arena, q) : "");
    str_add(to, "\"></label> ");
    if (maintainer) {
        str_add(to, "<input type=\"hidden\" name=\"maintainer\" value=\"");
        str_add_markup(to, str_escape(query->arena, maintainer));
        str_add(to, "\"> ");
    }
    str_add(to, "<button>Search</button></form>\n");
}

/* Whose programs alone the table shows, and why there are none. */
static void add_maintainer(struct str *to, const struct query *query, const json_t *page)
{
    const char *name = query_text(query, "maintainer");

    if (!name || !*name)
        return;
    str_add(to, "<p>Only what ");
    str_add_markup(to, str_escape(query->arena, name));
    str_add(to, " maintains; <a href=\"/table\">all programs</a>.</p>\n");
    if (!json_object_get(page, "why_none"))
        return;
    str_add(to, "<p>");
    str_add_markup(to, text_of(page, "why_none"));
    str_add(to, ".</p>\n");
}

static bool has_style(const struct query *query)
{
    struct asset asset;
    struct err err;

    return asset_find(service_options(query->service)->web, "style.css", query->arena, &asset,
                      &err) == 0;
}

/* The table with what belongs to it, as one piece of HTML. */
static int table_html(struct query *query, struct str *to, struct err *err)
{
    struct reply page = {0};
    int r = list_programs(query, &page, err);

    if (r < 0)
        return r;
    add_form(to, query);
    add_maintainer(to, query, page.json);
    add_table(to, query, page.json);
    add_next(to, query, page.next);
    json_decref(page.json);
    return 0;
}

static int reply_html(struct str *html, struct reply *reply)
{
    reply->type = "text/html; charset=utf-8";
    reply->n_text = html->len;
    reply->text = strdup(html->text);
    if (!reply->text)
        abort();
    return 0;
}

int get_table(struct query *query, struct reply *reply, struct err *err)
{
    struct str html = {.arena = query->arena};
    int r;

    str_add(&html, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n"
                   "<title>stormlint: worst offenders</title>\n");
    if (has_style(query))
        str_add(&html, "<link rel=\"stylesheet\" href=\"/style.css\">\n"
                       "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n");
    str_add(&html, "</head>\n<body>\n<main>\n<h1>Worst offenders</h1>\n");
    r = table_html(query, &html, err);
    if (r < 0)
        return r;
    str_printf(&html,
               "<p>On %s. Everything here as JSON: <a href=\"/api/v1/programs\">programs</a>, "
               "<a href=\"/openapi.json\">the whole interface</a>.</p>\n"
               "</main>\n</body>\n</html>\n",
               query->snapshot->cpu);
    return reply_html(&html, reply);
}

/* ---- the dashboard: index.html, and what stands in it where there are no scripts */

/* The route that lists programs for people: its parameters are the table's. */
static const struct route *table_route(void)
{
    size_t n;
    const struct route *route = routes(&n);

    while (strcmp(route->id, "table") != 0)
        route++;
    return route;
}

/* `html` where the mark is. */
static int reply_index(struct query *query, const struct asset *index, const char *html,
                       struct reply *reply)
{
    struct str page = {.arena = query->arena}, whole = {.arena = query->arena};
    const char *mark;

    str_add_n(&page, (const char *)index->bytes, index->len);
    mark = strstr(page.text, MARK);
    if (!mark)
        return reply_html(&page, reply);
    str_add_n(&whole, page.text, (size_t)(mark - page.text));
    str_add(&whole, html);
    str_add(&whole, mark + strlen(MARK));
    return reply_html(&whole, reply);
}

static int find_index(struct query *query, struct asset *ret_index, struct err *err)
{
    return asset_find(service_options(query->service)->web, "index.html", query->arena, ret_index,
                      err);
}

int get_start(struct query *query, struct reply *reply, struct err *err)
{
    struct str html = {.arena = query->arena};
    struct query table = *query;
    struct asset index;
    struct err ignored;
    int r = 0;

    table.route = table_route();
    table.n_arguments = 0; /* the page's own */
    if (find_index(query, &index, &ignored) < 0)
        return query->snapshot ? get_table(&table, reply, err)
                               : err_set(err, EAGAIN, "there is no index yet");
    if (query->snapshot)
        r = table_html(&table, &html, err);
    else
        str_add(&html, "<p>There is no index yet.</p>");
    return r < 0 ? r : reply_index(query, &index, html.text, reply);
}

int get_page(struct query *query, struct reply *reply, struct err *err)
{
    struct str html = {.arena = query->arena};
    struct asset index;
    int r = find_index(query, &index, err);

    if (r < 0)
        return r;
    str_add(&html,
            "<p>This page is made by scripts. Without them there are <a href=\"/table\">the worst "
            "offenders as a plain table</a> and ");
    if (!strcmp(query->path, "/compare")) { /* what it compares, its query says */
        str_add(&html, "<a href=\"/openapi.json\">everything as JSON</a>.</p>");
    } else {
        str_add(&html, "<a href=\"/api/v1");
        str_add_markup(&html, query->path);
        str_add(&html, "\">what it shows, as JSON</a>.</p>");
    }
    return reply_index(query, &index, html.text, reply);
}

int get_file(struct query *query, struct reply *reply, struct err *err)
{
    struct asset asset;
    uint64_t hash = 14695981039346656037u;
    int r = asset_find(service_options(query->service)->web, query->segment[0], query->arena,
                       &asset, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < asset.len; i++)
        hash = (hash ^ asset.bytes[i]) * 1099511628211u;
    reply->etag = arena_printf(query->arena, "%016" PRIx64, hash);
    reply->type = asset_type(asset.path);
    reply->text = malloc(asset.len + 1);
    if (!reply->text)
        abort();
    memcpy(reply->text, asset.bytes, asset.len);
    reply->n_text = asset.len;
    return 0;
}
