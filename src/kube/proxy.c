/* Chooses the proxy for a server, by the rules of Go. */

#include "kube/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned char v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const unsigned char *address) {
    return memcmp(address, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool address_parse(Str text, unsigned char ret[ADDRESS_BYTES]) {
    char c[INET6_ADDRSTRLEN + 1];

    if (text.len >= sizeof(c) || str_find(text, '\0') != SIZE_MAX)
        return false;
    (void)snprintf(c, sizeof(c), "%.*s", STR_FMT(text));
    if (inet_pton(AF_INET6, c, ret) == 1)
        return true;
    memcpy(ret, v4_prefix, sizeof(v4_prefix));
    return inet_pton(AF_INET, c, ret + sizeof(v4_prefix)) == 1;
}

bool address_starts_alike(const unsigned char *a, const unsigned char *b, unsigned bits) {
    for (unsigned i = 0; i < bits; i++)
        if ((a[i / 8] ^ b[i / 8]) & (0x80u >> (i % 8)))
            return false;
    return true;
}

/* "10.0.0.0/8" or "10.1.2.3". */
static bool range_has(Str range, const unsigned char *host) {
    size_t slash = str_find(range, '/');
    unsigned char base[ADDRESS_BYTES];
    int64_t bits = 128;

    if (!address_parse(str_take(range, slash), base))
        return false;
    if (slash != SIZE_MAX && (!str_to_int64(str_skip(range, slash + 1), &bits) || bits < 0 ||
                                 bits > (is_v4(base) ? 32 : 128)))
        return false;
    if (slash != SIZE_MAX && is_v4(base))
        bits += 96;
    return address_starts_alike(base, host, (unsigned)bits);
}

/* "corp" matches a.corp and corp itself, ".corp" only names below it. */
static bool domain_has(Str domain, Str host) {
    Str below;

    if (str_has_prefix(domain, STR("*.")))
        domain = str_skip(domain, 1);
    if (!str_has_prefix(domain, STR(".")) && str_eq_nocase(domain, host))
        return true;
    if (str_has_prefix(domain, STR(".")))
        domain = str_skip(domain, 1);
    if (domain.len == 0 || host.len <= domain.len + 1)
        return false;
    below = str_skip(host, host.len - domain.len);
    return below.ptr[-1] == '.' && str_eq_nocase(below, domain);
}

/* Cuts the port off the end of an entry; true if it has none or it is @port. */
static bool port_fits(Str *entry, uint16_t port) {
    size_t colon = str_find_last(*entry, ':');
    bool is_v6 = str_has_prefix(*entry, STR("["));
    int64_t number = port;

    if (is_v6 ? !str_has_suffix(*entry, STR("]"))
              : colon != SIZE_MAX && colon == str_find(*entry, ':')) {
        if (!str_to_int64(str_skip(*entry, colon + 1), &number))
            return false;
        *entry = str_take(*entry, colon);
    }
    if (is_v6)
        *entry = str_take(str_skip(*entry, 1), str_find(*entry, ']') - 1);
    return number == port;
}

static bool is_this_machine(const Origin *origin, const unsigned char *address) {
    static const unsigned char v6[ADDRESS_BYTES] = {[15] = 1};

    if (!address)
        return str_eq_nocase(origin->host, STR("localhost"));
    return memcmp(address, v6, sizeof(v6)) == 0 || (is_v4(address) && address[12] == 127);
}

static bool is_excepted(const Origin *origin, const char *no_proxy) {
    Str list = str_from_c(no_proxy), entry;
    unsigned char address[ADDRESS_BYTES];
    const unsigned char *known = address_parse(origin->host, address) ? address : NULL;

    if (is_this_machine(origin, known))
        return true;
    while (str_split(&list, ',', &entry)) {
        entry = str_trim(entry);
        if (str_is(entry, "*"))
            return true;
        if (entry.len > 0 && port_fits(&entry, origin->port) &&
            (known ? range_has(entry, known) : domain_has(entry, origin->host)))
            return true;
    }
    return false;
}

static const char *variable(const char *upper, const char *lower) {
    const char *value = getenv(upper);

    if (!value || value[0] == '\0')
        value = getenv(lower);
    return value && value[0] != '\0' ? value : NULL;
}

const char *proxy_choose(const Origin *origin, const char *configured) {
    const char *proxy = origin->is_tls ? variable("HTTPS_PROXY", "https_proxy")
                                       : variable("HTTP_PROXY", "http_proxy");

    if (configured)
        return configured;
    return proxy && !is_excepted(origin, variable("NO_PROXY", "no_proxy")) ? proxy : NULL;
}
