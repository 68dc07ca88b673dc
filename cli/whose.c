#include "cli/whose.h"
#include "base/log.h"
#include "cli/command.h"

static bool is_name(const char *text)
{
    return text[*text == '@'] != '\0';
}

const struct flag whose_rows[] = {
    {"maintainer", "NAME",
     "Only what NAME maintains: a handle at GitHub, as the packages.json of --meta spells it",
     PATH(struct maintainer, name), .is = is_name, .wants = "a name"},
    {0},
};

int whose_code(const struct maintainer *maintainer, size_t n, int code)
{
    if (!maintainer->name || n)
        return code;
    if (!maintainer_is_known(maintainer)) {
        log_warn("%s", maintainer_none(maintainer));
        return EXIT_INCOMPLETE;
    }
    log_info("%s", maintainer_none(maintainer));
    return code;
}
