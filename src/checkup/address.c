/* Kinds of addresses: scheme, loopback, Service. */

#include "checkup/address.h"

#include "base/origin.h"

static bool has_scheme(Str url, Str scheme) {
    return str_eq_nocase(str_take(url, scheme.len), scheme);
}

bool address_is_https(Str url) {
    return has_scheme(url, STR("https://"));
}

bool address_is_http(Str url) {
    return has_scheme(url, STR("http://"));
}

bool address_is_loopback(Str url) {
    Origin origin;

    return origin_parse(url, &origin) && origin_is_loopback(&origin);
}

bool address_is_service(Str url) {
    Origin origin;
    Str part;

    if (!origin_parse(url, &origin))
        return false;
    for (size_t i = 0; str_split(&origin.host, '.', &part); i++)
        if (i == 2 && str_eq_nocase(part, STR("svc")))
            return true;
    return false;
}
