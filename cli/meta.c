#include "cli/meta.h"

#include "base/log.h"

const struct flag meta_rows[] = {
    {"meta", "FILE",
     "A channel's packages.json, which may be packed (br, xz, zstd): attributes, maintainers and "
     "positions of packages",
     .kind = FLAG_TEXT},
    {0},
};

int meta_read(const char *meta, struct arena *arena, struct origins **ret_origins, struct err *err)
{
    *ret_origins = NULL;
    return meta ? origins_read(meta, arena, ret_origins, err) : 0;
}

int meta_note(struct db *db, const char *meta, const struct origins *origins, struct err *err)
{
    size_t found = 0;
    int r;

    if (!origins)
        return 0;
    r = origins_index(db, origins, &found, err);
    if (r == 0)
        log_info("'%s': %zu packages, %zu of the index's names among them", meta,
                 origins_count(origins), found);
    return r;
}
