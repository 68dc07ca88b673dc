/*
 * Header fields of requests, as texts that anybody may have sent. NULL: it was not.
 */
#pragma once

#include "base/base.h"

/* Does a list of entity tags ("\"a\", W/\"b\"") hold this one? A compressed answer's ends in -gz. */
bool field_names_tag(const char *list, const char *etag);

/* Does Accept-Encoding take gzip? `gzip;q=0` refuses it. */
bool field_takes_gzip(const char *list);
