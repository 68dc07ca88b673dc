#include "tests/sample_gen.h"

#include "base/str.h"

#include <string.h>

/* ---- path strings */

/* One component of a run path or LD_LIBRARY_PATH. */
const char *gen_component(struct gen *g)
{
    static const char *const tokens[] = {
        "$ORIGIN",
        "${ORIGIN}",
        "$ORIGIN/../lib",
        "$ORIGIN/lib",
        "$ORIGIN/",
        "/s/$PLATFORM",
        "/s/${PLATFORM}",
        "/$LIB",
        "/usr/$LIB",
        "/s/a/$LIB",
        "/s/a/${LIB}/",
        "$ORIGINX",
        "${ORIGIN/lib",
        "$FOO",
        "/s/$",
        "$",
        "$$ORIGIN/lib",
        "/s/$LIBX/lib",
        "$ORIGIN_",
        "/s${ORIGIN}",
        "${PLATFORM",
        "${ORIGINAL}/lib",
        "$ORIGIN$LIB",
        "/s/c/$lib",
        "${LIB}",
        "/s/$PLATFORM/x",
        "$ORIGIN/../../s/c",
        "$LIB/$PLATFORM",
        "//$LIB",
        "/s/a/$LIB64",
    };
    static const char *const odd[] = {
        "",
        "/",
        "rel",
        "rel/",
        "./rel",
        ".",
        "..",
        "//",
        "lib",
        "/s/a/lib/../lib",
        "/s/./a/lib",
        "no/such",
        "/w/../s/b/lib",
        "/s/a/lib/liba.so",
        "/app//lib",
    };
    const char *dir = gen_dir(g);

    switch (gen_below(g, 20)) {
    case 0:
    case 1:
    case 2:
        return PICK(g, tokens);
    case 3:
        return PICK(g, odd);
    case 4:
        return arena_printf(g->arena, "%s/", dir);
    case 5:
        return arena_printf(g->arena, "%s///", dir);
    case 6:
        return arena_printf(g->arena, "%s/.", dir);
    case 7:
        return gen_chance(g, 50) ? arena_printf(g->arena, "/%s", dir) : dir;
    default:
        return dir;
    }
}

const char *gen_path_list(struct gen *g, size_t max, const char *separators)
{
    struct str list = {.arena = g->arena};
    const size_t n = gen_below(g, max + 1);

    str_add(&list, "");
    for (size_t i = 0; i < n; i++) {
        if (i)
            str_add_n(&list, separators + gen_below(g, strlen(separators)), 1);
        str_add(&list, gen_component(g));
    }
    if (gen_chance(g, 4))
        str_add_n(&list, separators, 1);
    return list.text;
}

/* What stands in a DT_NEEDED, an LD_PRELOAD: mostly a plain name. */
const char *gen_request(struct gen *g)
{
    static const char *const odd[] = {
        "",
        "linux-vdso.so.1",
        "ld-linux-x86-64.so.2",
        "libmissing.so",
        "./liba.so",
        "w/x.so",
        "$ORIGIN",
        "lib$LIB.so",
        "/nowhere/x.so",
        "/s/a/lib",
        "$LIB",
        "libself.so",
        "$",
        "$ORIGINX/liba.so",
    };
    static const char *const before[] = {
        "$ORIGIN", "${ORIGIN}", "$ORIGIN/../lib", "/$LIB", "/s/$PLATFORM", "rel", ".", "/s/a/lib/.",
    };

    switch (gen_below(g, 40)) {
    case 0:
        return gen_chance(g, 40) ? PICK(g, odd) : gen_name(g);
    case 1:
        return g->settings->interp;
    case 2:
    case 3:
    case 4:
        return arena_printf(g->arena, "%s/%s", gen_dir(g), gen_name(g));
    case 5:
        return arena_printf(g->arena, "%s/%s", PICK(g, before), gen_name(g));
    case 6:
        return g->n_files ? g->file[gen_below(g, g->n_files)] : gen_name(g);
    default:
        return gen_name(g);
    }
}

const char *gen_request_list(struct gen *g, size_t max, const char *separators)
{
    struct str list = {.arena = g->arena};

    str_add(&list, "");
    for (size_t n = gen_below(g, max + 1); n; n--) {
        str_add(&list, gen_request(g));
        if (n > 1 || gen_chance(g, 20))
            str_add_n(&list, separators + gen_below(g, strlen(separators)), 1);
    }
    return list.text;
}
