#include "kube/origin.h"

static bool read_scheme(Str *url, bool *ret_is_tls) {
    *ret_is_tls = str_has_prefix(*url, STR("https://"));
    if (!*ret_is_tls && !str_has_prefix(*url, STR("http://")))
        return false;
    *url = str_skip(*url, *ret_is_tls ? 8 : 7);
    return true;
}

/* Cuts the host off the front; what is left is the port with its colon, or nothing. */
static bool read_host(Str *authority, Origin *ret) {
    size_t end;

    ret->is_v6 = str_has_prefix(*authority, STR("["));
    if (ret->is_v6) {
        end = str_find(*authority, ']');
        if (end == SIZE_MAX)
            return false;
        ret->host = str_of(authority->ptr + 1, end - 1);
        *authority = str_skip(*authority, end + 1);
    } else {
        ret->host = str_take(*authority, str_find(*authority, ':'));
        *authority = str_skip(*authority, ret->host.len);
    }
    return ret->host.len > 0;
}

static bool read_port(Str text, Origin *ret) {
    int64_t port = ret->is_tls ? 443 : 80;

    if (text.len > 0 && text.ptr[0] != ':')
        return false;
    if (text.len > 1 && (!str_to_int64(str_skip(text, 1), &port) || port < 1 || port > UINT16_MAX))
        return false;
    ret->port = (uint16_t)port;
    return true;
}

bool origin_parse(Str url, Origin *ret) {
    Str authority;

    if (!read_scheme(&url, &ret->is_tls) || str_find(url, '@') != SIZE_MAX)
        return false;
    authority = str_take(url, str_find(url, '/'));
    ret->path = str_skip(url, authority.len);
    return read_host(&authority, ret) && read_port(authority, ret);
}
