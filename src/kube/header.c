/* Headers that an operator adds to requests: checks and copies. */

#include "kube/header.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "kube/secret.h"

static bool is_token_char(char c) {
    return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_name(Str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!is_token_char(name.ptr[i]))
            return false;
    return name.len > 0;
}

static bool is_value(Str value) {
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < ' ' || value.ptr[i] > '~')
            return false;
    return true;
}

/* Headers that berth sets itself, and those that delimit a message. */
static bool is_our_own(Str name) {
    static const Str ours[] = {
        STR("Accept"),
        STR("Accept-Encoding"),
        STR("Authorization"),
        STR("Connection"),
        STR("Content-Encoding"),
        STR("Content-Length"),
        STR("Content-Type"),
        STR("Expect"),
        STR("Host"),
        STR("Keep-Alive"),
        STR("Proxy-Authorization"),
        STR("Proxy-Connection"),
        STR("TE"),
        STR("Trailer"),
        STR("Transfer-Encoding"),
        STR("Upgrade"),
        STR("User-Agent"),
    };

    for (size_t i = 0; i < ELEMENTS_OF(ours); i++)
        if (str_eq_nocase(name, ours[i]))
            return true;
    return false;
}

const char *header_complaint(Str name, Str value) {
    if (!is_name(name))
        return "is no name of a header";
    if (is_our_own(name))
        return "is set by berth itself";
    if (!is_value(value))
        return "has a character that a header cannot have";
    if (name.len + value.len > HEADER_SIZE_MAX)
        return "is longer than 4096 bytes";
    return str_is_empty(str_trim(value)) ? "has no value" : NULL;
}

Header *headers_free(Header *headers, size_t n) {
    for (size_t i = 0; headers && i < n; i++) {
        (void)secret_free((char *)(uintptr_t)headers[i].name.ptr);
        (void)secret_free((char *)(uintptr_t)headers[i].value.ptr);
    }
    free(headers);
    return NULL;
}

Header *headers_copy(const Header *headers, size_t n) {
    Header *copies = calloc(n > 0 ? n : 1, sizeof(*copies));

    for (size_t i = 0; copies && i < n; i++) {
        copies[i].name = str_of(secret_copy(headers[i].name), headers[i].name.len);
        copies[i].value = str_of(secret_copy(headers[i].value), headers[i].value.len);
        if (!copies[i].name.ptr || !copies[i].value.ptr)
            return headers_free(copies, n);
    }
    return copies;
}
