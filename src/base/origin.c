/* URLs of servers, taken apart and compared. */

#include "base/origin.h"

#include "base/ascii.h"

#define HOST_NAME_MAX_LEN 255u

bool origin_cut_scheme(Str *url, bool *ret_is_tls) {
    *ret_is_tls = str_eq_nocase(str_take(*url, 8), STR("https://"));
    if (!*ret_is_tls && !str_eq_nocase(str_take(*url, 7), STR("http://")))
        return false;
    *url = str_skip(*url, *ret_is_tls ? 8 : 7);
    return true;
}

/* Cuts the host off the front; the rest is the port with its colon, or empty. */
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

    if (!origin_cut_scheme(&url, &ret->is_tls) || str_find(url, '@') != SIZE_MAX)
        return false;
    authority = str_take(url, str_find(url, '/'));
    ret->path = str_skip(url, authority.len);
    return read_host(&authority, ret) && read_port(authority, ret);
}

static bool is_url_text(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr("\"<>\\^`{|}", text.ptr[i]))
            return false;
    return true;
}

const char *origin_complaint(Str url) {
    Origin origin;
    Str rest = url;
    bool is_tls;

    if (!origin_cut_scheme(&rest, &is_tls))
        return "must begin with https:// (or http://)";
    if (!is_url_text(rest))
        return "has a character that a URL cannot have";
    if (str_find(rest, '@') != SIZE_MAX)
        return "has a user in it";
    if (str_find(rest, '?') != SIZE_MAX || str_find(rest, '#') != SIZE_MAX)
        return "has a query or a fragment";
    if (rest.len == 0 || rest.ptr[0] == '/' || rest.ptr[0] == ':')
        return "has no host";
    return origin_parse(url, &origin) ? NULL : "is no URL that can be used";
}

bool origin_is_host_name(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!ascii_is_alnum(c) && c != '.' && c != '-' && c != '_' && c != ':')
            return false;
    }
    return text.len > 0 && text.len <= HOST_NAME_MAX_LEN;
}

/* Four numbers, the first 127. */
static bool is_v4_loopback(Str host) {
    int64_t part;
    Str text;
    size_t n = 0;

    for (; str_split(&host, '.', &text); n++)
        if (!str_to_int64(text, &part) || part < 0 || part > 255 || (n == 0 && part != 127))
            return false;
    return n == 4;
}

bool origin_is_loopback(const Origin *origin) {
    return str_eq_nocase(origin->host, STR("localhost")) || str_is(origin->host, "::1") ||
           is_v4_loopback(origin->host);
}

/* Cuts the host and port off the front. */
static bool read_authority(Str *location, Origin *ret) {
    size_t end = 0;
    Str authority;

    while (end < location->len && !strchr("/?#", location->ptr[end]))
        end++;
    authority = str_take(*location, end);
    *location = str_skip(*location, end);
    return str_find(authority, '@') == SIZE_MAX && read_host(&authority, ret) &&
           read_port(authority, ret);
}

/* Cuts scheme and host off @location; whether it is the same server. "//host" means @origin's
 * scheme. */
static bool is_there(const Origin *origin, Str *location) {
    Origin target = {.is_tls = origin->is_tls};

    if (str_has_prefix(*location, STR("//")))
        *location = str_skip(*location, 2);
    else if (!origin_cut_scheme(location, &target.is_tls))
        return false;
    if (!read_authority(location, &target))
        return false;
    return target.is_tls == origin->is_tls && target.is_v6 == origin->is_v6 &&
           target.port == origin->port && str_eq_nocase(target.host, origin->host);
}

bool origin_is_same(Str url, Str location, Str *ret_path) {
    Str base = str_take(url, str_find(url, '?')); /* a query may contain an '@' */
    bool is_path = str_has_prefix(location, STR("/")) && !str_has_prefix(location, STR("//"));
    Origin origin;

    if (!origin_parse(base, &origin) || !is_url_text(location))
        return false;
    if (!is_path && !is_there(&origin, &location))
        return false;
    location = str_take(location, str_find(location, '#'));
    if (str_is_empty(location))
        location = STR("/");
    if (location.ptr[0] != '/') /* a query right after the host */
        return false;
    *ret_path = location;
    return true;
}
