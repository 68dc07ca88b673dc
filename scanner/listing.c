#include "scanner/listing.h"

#include "base/json.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ends of names by which, when they are not executable, files are never ELF. Guile compiles to ELF in
 * ".go", GRUB's modules are ELF in ".mod": what else has these names is read, too.
 */
static const char *const data_ends[] = {
    ".1",       ".2",    ".3",     ".4",    ".5",    ".6",     ".7",       ".8",    ".ac",
    ".ada",     ".adb",  ".ads",   ".ali",  ".am",   ".bib",   ".bmp",     ".bz2",  ".c",
    ".cc",      ".cfg",  ".cmake", ".cmi",  ".conf", ".cpp",   ".css",     ".csv",  ".dat",
    ".desktop", ".dtd",  ".el",    ".elc",  ".eps",  ".ent",   ".example", ".eot",  ".f90",
    ".gif",     ".gir",  ".glsl",  ".gmo",  ".gz",   ".h",     ".hh",      ".hi",   ".hpp",
    ".hs",      ".htm",  ".html",  ".hxx",  ".icns", ".ico",   ".in",      ".inc",  ".info",
    ".ini",     ".ipp",  ".jar",   ".java", ".jpeg", ".jpg",   ".js",      ".json", ".jsx",
    ".la",      ".lisp", ".log",   ".lua",  ".m4",   ".map",   ".md",      ".mjs",  ".ml",
    ".mli",     ".mk",   ".mo",    ".nix",  ".nls",  ".nroff", ".ogg",     ".otf",  ".page",
    ".patch",   ".pc",   ".pcf",   ".pdf",  ".pem",  ".pfb",   ".php",     ".pl",   ".pm",
    ".png",     ".po",   ".pod",   ".pot",  ".ps",   ".proto", ".py",      ".pyc",  ".pyi",
    ".qml",     ".rb",   ".rst",   ".rs",   ".scm",  ".scss",  ".service", ".sgml", ".sh",
    ".sty",     ".svg",  ".svgz",  ".tcl",  ".tex",  ".texi",  ".theme",   ".tfm",  ".tga",
    ".tif",     ".tiff", ".toml",  ".ts",   ".tsx",  ".ttf",   ".txt",     ".ui",   ".upp",
    ".vert",    ".vf",   ".vim",   ".wav",  ".webp", ".woff",  ".woff2",   ".xml",  ".xpm",
    ".xsd",     ".xsl",  ".xz",    ".yaml", ".yml",  ".zip",   ".zst",
};
static const char *const data_names[] = {
    "AUTHORS",    "BUGS",    "CHANGES", "CONTRIBUTING", "COPYING",   "ChangeLog",
    "FAQ",        "HISTORY", "INSTALL", "LICENSE",      "Makefile",  "NEWS",
    "NOTICE",     "README",  "THANKS",  "TODO",         "copyright", "propagated-build-inputs",
    "setup-hook",
};

bool listing_may_be_elf(const char *name, bool executable, uint64_t size)
{
    const char *const *data;

    if (size < 4)
        return false;
    if (executable || strstr(name, ".so")) /* liba.so.1 is no manual page */
        return true;
    for_each (data, data_ends)
        if (str_ends(name, *data))
            return false;
    for_each (data, data_names)
        if (strcmp(name, *data) == 0)
            return false;
    return true;
}

/* ---- reading */

struct reading {
    const struct nar_sink *sink;
    void *data;
    struct err *err;
};

static int malformed(const struct reading *r, const char *what)
{
    return err_set(r->err, EINVAL, "malformed listing: %s", what);
}

static const char *text_of(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);
    const char *text = json_string_value(value);

    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool is_name(const char *name)
{
    const size_t len = strlen(name);

    return len && len <= NAR_NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static int read_file(struct reading *r, const char *name, const json_t *node)
{
    const json_int_t size = json_integer_value(json_object_get(node, "size"));
    const json_int_t offset = json_integer_value(json_object_get(node, "narOffset"));
    int code;

    if (size < 0 || offset < 0 || (!json_is_integer(json_object_get(node, "size"))))
        return malformed(r, "a file without a size");
    code = r->sink->file(r->data, name, json_is_true(json_object_get(node, "executable")),
                         (uint64_t)size, (uint64_t)offset, r->err);
    return code < 0 ? code : r->sink->file_end(r->data, r->err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_node(struct reading *r, const char *name, json_t *node, int depth);

/* Entries in the order of an archive, whatever the order they stand in. */
static int read_entries(struct reading *r, json_t *entries, int depth)
{
    const size_t n = json_object_size(entries);
    const char **names = malloc((n + 1) * sizeof(*names)), *name;
    json_t *child;
    size_t i = 0;
    int code = 0;

    if (!names)
        abort();
    json_object_foreach (entries, name, child) {
        names[i++] = name;
        if (!is_name(name))
            code = malformed(r, "a name that no entry can have");
    }
    if (n)
        qsort(names, n, sizeof(*names), compare_names);
    for (i = 0; i < n && code == 0; i++)
        code = read_node(r, names[i], json_object_get(entries, names[i]), depth + 1);
    free(names);
    return code;
}

static int read_directory(struct reading *r, const char *name, json_t *node, int depth)
{
    json_t *entries = json_object_get(node, "entries");
    int code;

    if (!json_is_object(entries))
        return malformed(r, "a directory without entries");
    if (depth >= NAR_DEPTH_MAX)
        return malformed(r, "directories are nested too deeply");
    code = r->sink->enter(r->data, name, r->err);
    if (code == 0)
        code = read_entries(r, entries, depth);
    return code < 0 ? code : r->sink->leave(r->data, r->err);
}

static int read_node(struct reading *r, const char *name, json_t *node, int depth)
{
    const char *type = text_of(node, "type"), *target;

    if (type && strcmp(type, "directory") == 0)
        return read_directory(r, name, node, depth);
    if (type && strcmp(type, "regular") == 0)
        return read_file(r, name, node);
    if (type && strcmp(type, "symlink") == 0) {
        target = text_of(node, "target");
        if (!target || !*target || strlen(target) > NAR_TARGET_MAX)
            return malformed(r, "a link without a target");
        return r->sink->link(r->data, name, target, r->err);
    }
    return malformed(r, "an unknown type of node");
}

int listing_read(const char *text, size_t len, const struct nar_sink *sink, void *data,
                 struct err *err)
{
    struct reading r = {sink, data, err};
    json_error_t at;
    json_t *json;
    int code;

    if (len > LISTING_MAX)
        return malformed(&r, "it is too large");
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);
    if (!json)
        return err_set(err, EINVAL, "malformed listing: line %d: %s", at.line, at.text);
    if (json_integer_value(json_object_get(json, "version")) != 1)
        code = malformed(&r, "not of version 1");
    else
        code = read_node(&r, "", json_object_get(json, "root"), 0);
    json_decref(json);
    return code;
}

/* ---- adding up */

static int pass_enter(void *data UNUSED, const char *name UNUSED, struct err *err UNUSED)
{
    return 0;
}

static int pass_end(void *data UNUSED, struct err *err UNUSED)
{
    return 0;
}

static int pass_link(void *data UNUSED, const char *name UNUSED, const char *target UNUSED,
                     struct err *err UNUSED)
{
    return 0;
}

static int sum_file(void *data, const char *name, bool executable, uint64_t size, uint64_t offset,
                    struct err *err UNUSED)
{
    struct listing_sum *sum = data;

    if (!listing_may_be_elf(name, executable, size))
        return 0;
    sum->candidates++;
    sum->bytes += size;
    sum->has_all_offsets = sum->has_all_offsets && offset;
    return 0;
}

int listing_sum(const char *text, size_t len, struct listing_sum *ret_sum, struct err *err)
{
    static const struct nar_sink sink = {.enter = pass_enter,
                                         .leave = pass_end,
                                         .link = pass_link,
                                         .file = sum_file,
                                         .file_end = pass_end};

    *ret_sum = (struct listing_sum){.has_all_offsets = true};
    return listing_read(text, len, &sink, ret_sum, err);
}
