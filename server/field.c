#include "server/field.h"

#include <string.h>
#include <strings.h>

/* One entity tag of a list: `W/"tag"`. A compressed answer's tag ends in -gz. */
static bool tag_is(const char *tag, size_t len, const char *etag)
{
    const size_t n = strlen(etag);

    if (len == n + 3 && !memcmp(tag + n, "-gz", 3))
        len -= 3;
    return len == n && !memcmp(tag, etag, n);
}

bool field_names_tag(const char *at, const char *etag)
{
    const char *end;

    while (at && (at = strchr(at, '"')) && (end = strchr(at + 1, '"'))) {
        if (tag_is(at + 1, (size_t)(end - at - 1), etag))
            return true;
        at = end + 1;
    }
    return false;
}

bool field_takes_gzip(const char *at)
{
    for (; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t space = strspn(at, " \t"), len = strcspn(at + space, " \t;,");
        const char *name = at + space, *q = name + len, *end = at + strcspn(at, ",");

        if ((len != 4 || strncasecmp(name, "gzip", 4) != 0) && (len != 1 || *name != '*'))
            continue;
        q += strspn(q, " \t;");
        if (q >= end || strncasecmp(q, "q=", 2) != 0)
            return true;
        for (q += 2; q < end; q++)
            if (*q >= '1' && *q <= '9')
                return true;
        return false;
    }
    return false;
}
