#include "commands/serve-namespace.h"

#include <stdio.h>
#include <stdlib.h>

#include "input/file.h"

#define NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

static bool take(Str text, char ret[static OWN_NAMESPACE_MAX]) {
    text = str_trim(text);
    if (str_is_empty(text) || text.len >= OWN_NAMESPACE_MAX)
        return false;
    (void)snprintf(ret, OWN_NAMESPACE_MAX, "%.*s", STR_FMT(text));
    return true;
}

bool own_namespace(bool is_in_cluster, char ret[static OWN_NAMESPACE_MAX]) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1024);
    char error[FILE_ERROR_MAX];

    if (take(str_from_c(getenv("POD_NAMESPACE")), ret))
        return true;
    return is_in_cluster && file_read(NAMESPACE_FILE, &text, error) == 0 &&
           take(buf_str(&text), ret);
}
