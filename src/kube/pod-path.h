#pragma once

/* Where the API server has a pod. */

#include "base/url.h"

/* Appends the path of a pod. */
static inline void pod_path(Buf *out, Str namespace, Str name) {
    buf_append(out, STR("/api/v1/namespaces/"));
    url_escape(out, namespace);
    buf_append(out, STR("/pods/"));
    url_escape(out, name);
}
