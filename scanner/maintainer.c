#include "scanner/maintainer.h"
#include "base/str.h"

#include <string.h>

bool maintainer_wants(const struct maintainer *m, const struct origin *origin)
{
    return !m->name || (origin && origin_is_of(origin, m->name));
}

static void see_near(struct maintainer *m, const char *text)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    const char *name = maintainer_name(text, &scratch);

    if (m->n_near == ARRAY_LEN(m->near) || !strcasestr(name, m->name))
        return;
    for (size_t i = 0; i < m->n_near; i++)
        if (!strcmp(m->near[i], name))
            return;
    m->near[m->n_near++] = arena_strdup(m->arena, name);
}

void maintainer_see(struct maintainer *m, const struct origin *origin)
{
    if (!origin)
        return;
    m->n_known++;
    if (maintainer_wants(m, origin))
        m->n_own++;
    else
        for (size_t i = 0; i < origin->n_maintainers; i++)
            see_near(m, origin->maintainer[i]);
}

bool maintainer_is_known(const struct maintainer *m)
{
    return m->n_own > 0;
}

const char *maintainer_none(const struct maintainer *m)
{
    const char *name = str_escape(m->arena, m->name);
    struct str out = {.arena = m->arena};

    if (m->n_known == 0)
        return "nothing here tells who maintains what; an index does after 'stormlint scan --meta "
               "packages.json', and an audit that was made with --meta";
    if (m->n_own)
        return arena_printf(
            m->arena, "'%s' maintains %zu package%s here, and nothing of the kind is in %s", name,
            m->n_own, str_count(m->n_own, "", "s"), str_count(m->n_own, "it", "them"));
    str_printf(&out,
               "'%s' maintains no package here: a handle at GitHub is wanted, as packages.json "
               "spells it",
               name);
    for (size_t i = 0; i < m->n_near; i++)
        str_printf(&out, "%s%s", i ? ", " : "; is it ", str_escape(m->arena, m->near[i]));
    if (m->n_near)
        str_add(&out, "?");
    return out.text;
}
