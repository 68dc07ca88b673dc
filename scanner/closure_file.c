#include "scanner/closure_private.h"

#include "base/str.h"
#include "scanner/nar_hash.h"
#include "scanner/store_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_MAX = 512 * 1024 * 1024, /* bytes; the path-info of 100,000 paths is some 150 MB */
    PATHS_MAX = 4 * 1000 * 1000,
    PATH_MAX_BYTES = 4096,
};

int reading_fail(struct reading *r, const char *what)
{
    if (r->line)
        return err_set(r->err, EINVAL, "'%s', line %zu: %s", r->name, r->line, what);
    return err_set(r->err, EINVAL, "'%s': %s", r->name, what);
}

/* ---- what is found */

/* The base name of a path of the store, or a base name as it is; NULL and an error: neither. */
const char *reading_base(struct reading *r, const char *path)
{
    const size_t len = strlen(r->store);
    const char *base = path;

    if (path[0] == '/') {
        if (strncmp(path, r->store, len) != 0 || path[len] != '/') {
            (void)err_set(r->err, EINVAL,
                          "'%s': '%s' is not in store '%s'; name its store with "
                          "--store",
                          r->name, str_escape(r->arena, path), r->store);
            return NULL;
        }
        base += len + 1;
    }
    if (!store_name_is_entry(base)) {
        (void)err_set(r->err, EINVAL, "'%s': '%s' is no store path", r->name,
                      str_escape(r->arena, path));
        return NULL;
    }
    return base;
}

struct closure_path *reading_add_any(struct reading *r, const char *path)
{
    struct closure_file *f = r->file;

    if (f->n_paths >= PATHS_MAX) {
        (void)err_set(r->err, EFBIG, "'%s': more than %d paths", r->name, PATHS_MAX);
        return NULL;
    }
    f->path = arena_grow(r->arena, f->path, f->n_paths, sizeof(*f->path));
    f->path[f->n_paths] = (struct closure_path){.path = path};
    return &f->path[f->n_paths++];
}

/* A path of the store, as a whole path. NULL: an error. */
struct closure_path *reading_add(struct reading *r, const char *path)
{
    const char *base = reading_base(r, path);

    return base ? reading_add_any(r, arena_printf(r->arena, "%s/%s", r->store, base)) : NULL;
}

bool reading_is_derivation(const char *path)
{
    return str_ends(path, ".drv");
}

/* ---- lines of text */

/* The next line, without its end; NULL: there is none, or, with an error, it is too long. */
static char *next_line(struct reading *r)
{
    const char *end;
    char *line;

    if (r->at >= r->end)
        return NULL;
    end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end)
        end = r->end;
    r->line++;
    if (end - r->at > PATH_MAX_BYTES) {
        (void)reading_fail(r, "the line is too long");
        return NULL;
    }
    line = arena_strndup(r->arena, r->at, (size_t)(end - r->at));
    r->at = end + 1;
    return line;
}

/* What a table has behind a path: a tabulator and sizes. */
static void cut_columns(char *line)
{
    size_t len = strcspn(line, "\t\r");

    while (len && line[len - 1] == ' ')
        len--;
    line[len] = '\0';
}

static int read_list(struct reading *r)
{
    char *line;

    while ((line = next_line(r))) {
        cut_columns(line);
        if (!*line || reading_is_derivation(line))
            r->file->n_left_out += *line != '\0';
        else if (line[0] != '/')
            return reading_fail(r, "no absolute path");
        else if (!reading_add_any(r, line))
            return -r->err->code;
    }
    return r->err->code ? -r->err->code : 0;
}

static int number(struct reading *r, const char *what, uint64_t max, uint64_t *ret_number)
{
    const char *line = next_line(r);
    char *end;

    if (!line)
        return r->err->code ? -r->err->code
                            : reading_fail(r, arena_printf(r->arena, "ends before %s", what));
    errno = 0;
    *ret_number = strtoull(line, &end, 10);
    if (errno || !isdigit((unsigned char)line[0]) || *end || *ret_number > max)
        return reading_fail(
            r, arena_printf(r->arena, "%s is no number up to %llu", what, (unsigned long long)max));
    return 0;
}

/* Deriver, count, references: what all registrations end with. */
static int read_references(struct reading *r, struct closure_path *path)
{
    const char *deriver = next_line(r), *line;
    uint64_t n = 0;
    int e;

    if (!deriver)
        return r->err->code ? -r->err->code : reading_fail(r, "ends before the deriver");
    path->deriver = *deriver ? str_base(deriver) : NULL;
    e = number(r, "the number of references", REFERENCES_MAX, &n);
    for (uint64_t i = 0; i < n && e == 0; i++) {
        line = next_line(r);
        if (!line)
            return r->err->code ? -r->err->code : reading_fail(r, "ends amidst references");
        line = reading_base(r, line);
        if (!line)
            return -r->err->code;
        path->reference =
            arena_grow(r->arena, path->reference, path->n_references, sizeof(*path->reference));
        path->reference[path->n_references++] = line;
    }
    return e;
}

static int read_records(struct reading *r, bool hashed)
{
    char *line;
    int e = 0;

    r->file->refers = true;
    while (e == 0 && (line = next_line(r))) {
        struct closure_path path = {0}, *to;
        uint64_t size = 0;

        if (line[0] != '/')
            return reading_fail(r, "a store path is expected here");
        if (hashed) {
            const char *hash = next_line(r);

            if (!hash || !*hash)
                return reading_fail(r, "a NAR hash is expected here");
            path.nar_hash = nar_hash_text(r->arena, hash);
            e = number(r, "the NAR size", INT64_MAX, &size);
            path.nar_size = (int64_t)size;
        }
        if (e == 0)
            e = read_references(r, &path);
        if (e < 0)
            return e;
        if (reading_is_derivation(line)) {
            r->file->n_left_out++;
            continue;
        }
        to = reading_add(r, line);
        if (!to)
            return -r->err->code;
        path.path = to->path;
        *to = path;
    }
    return r->err->code ? -r->err->code : e;
}

static int read_registration(struct reading *r)
{
    return read_records(r, true);
}

static int read_graph(struct reading *r)
{
    return read_records(r, false);
}

/* ---- what is what */

/* Line number `n` of the text, from 0; `*ret_len` its length. NULL: there is none. */
static const char *line_at(const struct reading *r, size_t n, size_t *ret_len)
{
    const char *at = r->at, *end;

    for (;; n--) {
        if (at >= r->end)
            return NULL;
        end = memchr(at, '\n', (size_t)(r->end - at));
        if (!end)
            end = r->end;
        if (n == 0)
            break;
        at = end + 1;
    }
    *ret_len = (size_t)(end - at);
    return at;
}

static bool is_number(const struct reading *r, size_t n)
{
    size_t len = 0;
    const char *line = line_at(r, n, &len);

    for (size_t i = 0; line && i < len; i++)
        if (!isdigit((unsigned char)line[i]))
            return false;
    return line && len > 0;
}

static bool begins_with_path(const struct reading *r)
{
    return r->at < r->end && *r->at == '/';
}

/* path, hash, size, deriver, number, ... */
static bool is_registration(const struct reading *r)
{
    return begins_with_path(r) && is_number(r, 2) && is_number(r, 4);
}

/* path, deriver, number, ... */
static bool is_graph(const struct reading *r)
{
    return begins_with_path(r) && is_number(r, 2);
}

/* The forms in lines, the first that fits. */
static const struct text_form {
    const char *name, *from;
    bool (*is)(const struct reading *r);
    int (*read)(struct reading *r);
} text_forms[] = {
    {"registration", "closureInfo's registration or nix-store --dump-db", is_registration,
     read_registration},
    {"graph", "the file of an exportReferencesGraph", is_graph, read_graph},
    {"list", "paths, one a line (nix-store -qR, guix gc -R, closureInfo's store-paths)",
     begins_with_path, read_list},
};

static const char *closure_file_forms(struct arena *arena)
{
    struct str out = {.arena = arena};
    const struct text_form *text;

    for_each (text, text_forms)
        str_printf(&out, "%s%s", out.len ? "; " : "", text->from);
    closure_json_forms(&out);
    return out.text;
}

int reading_refuse(struct reading *r)
{
    const size_t len = (size_t)(r->end - r->at), n = len < 40 ? len : 40;

    r->line = 0;
    if (len == 0)
        return reading_fail(r, "is empty: no closure");
    return err_set(r->err, EINVAL, "'%s' is no closure; it begins with '%s', and could be: %s",
                   r->name, str_escape_n(r->arena, r->at, n), closure_file_forms(r->arena));
}

static int parse_text(struct reading *r)
{
    const struct text_form *form;

    for_each (form, text_forms)
        if (form->is(r)) {
            r->file->format = form->name;
            return form->read(r);
        }
    return reading_refuse(r);
}

int closure_file_parse(const char *name, const char *text, size_t len, const char *store,
                       struct arena *arena, struct closure_file *ret_file, struct err *err)
{
    struct closure_file file = {0};
    struct reading r = {.name = str_escape(arena, name),
                        .store = store,
                        .arena = arena,
                        .file = &file,
                        .err = err,
                        .at = text,
                        .end = text + len};
    int e;

    err->code = 0;
    while (r.at < r.end && isspace((unsigned char)*r.at))
        r.at++;
    if (memchr(r.at, '\0', (size_t)(r.end - r.at)))
        return reading_fail(&r, "has bytes that are no text");
    if (r.at < r.end && (*r.at == '[' || *r.at == '{'))
        e = closure_json_parse(&r);
    else
        e = parse_text(&r);
    if (e == 0)
        *ret_file = file;
    return e;
}

/* ---- files */

static int read_all(FILE *from, const char *name, char **ret_text, size_t *ret_len, struct err *err)
{
    size_t len = 0, size = 1 << 16, n;
    char *text = malloc(size);

    if (!text)
        abort();
    while ((n = fread(text + len, 1, size - len, from)) > 0) {
        len += n;
        if (len > FILE_MAX) {
            free(text);
            return err_set(err, EFBIG, "'%s': more than %d MB", name, FILE_MAX >> 20);
        }
        if (len == size) {
            size *= 2;
            text = realloc(text, size);
            if (!text)
                abort();
        }
    }
    *ret_text = text;
    *ret_len = len;
    return ferror(from) ? err_set(err, EIO, "'%s': cannot be read", name) : 0;
}

int closure_file_read(const char *path, const char *store, struct arena *arena,
                      struct closure_file *ret_file, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *from = is_stdin ? stdin : fopen(path, "re");
    const char *name = is_stdin ? "standard input" : path;
    char *text = NULL;
    size_t len = 0;
    int r;

    if (!from)
        return err_set(err, errno, "closure file '%s': %s", path, strerror(errno));
    r = read_all(from, name, &text, &len, err);
    if (!is_stdin)
        (void)fclose(from);
    if (r == 0)
        r = closure_file_parse(name, text, len, store, arena, ret_file, err);
    free(text);
    return r;
}
