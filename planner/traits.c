#include "planner/traits.h"

#define STATIC_DATA                                                                                \
    "ELF facts and directory trees decide, this program's own editor writes: no target code runs"

static const struct traits rows[N_METHODS] = {
    [METHOD_NONE] = {.cross = "nothing is done",
                     .maintenance = "nothing",
                     .easy = true,
                     .small = true},
    [METHOD_FARM_OWN] = {.cross = STATIC_DATA,
                         .maintenance = "a folder of links that each build makes anew; nobody "
                                        "outside the package knows of it",
                         .easy = true,
                         .small = true},
    [METHOD_FARM_LIFTED] = {.cross = STATIC_DATA,
                            .maintenance = "a folder of links and a list of names that each build "
                                           "makes anew; it must be the last edit of the file",
                            .easy = true,
                            .small = true},
    [METHOD_ABSOLUTE_OWN] = {.cross = STATIC_DATA,
                             .needs = "glibc 2.28 or later: older ones abort when libc is named by "
                                      "path",
                             .maintenance = "a list of libraries that must stay bare, kept by "
                                            "whoever knows which ones hosts replace",
                             .small = true},
    [METHOD_ABSOLUTE_LIFTED] = {.cross = STATIC_DATA,
                                .needs = "glibc 2.28 or later: older ones abort when libc is named "
                                         "by path",
                                .maintenance = "a list of libraries that must stay bare, kept by "
                                               "whoever knows which ones hosts replace; it must be "
                                               "the last edit of the file",
                                .small = true},
    [METHOD_NOTE_OWN] = {.cross = STATIC_DATA,
                         .needs = "a loader that reads resolution notes: a patch of glibc, carried "
                                  "along through its releases",
                         .maintenance = "a patch of glibc and a format that an editor and a loader "
                                        "share, kept by the maintainers of both",
                         .glibc_fork = true,
                         .patchelf_change = true,
                         .small = true},
    [METHOD_NOTE_CLOSURE] = {.cross = STATIC_DATA,
                             .needs = "the resolver library, named by DT_AUDIT, and glibc 2.35 or "
                                      "later: stock loaders will do",
                             .maintenance = "one small library that follows glibc's audit "
                                            "interface; a note that each build makes anew",
                             .small = true},
};

const struct traits *traits_of(enum method method)
{
    return &rows[method];
}
