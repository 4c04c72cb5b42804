#include "load/address.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

typedef struct Range {
    uint8_t prefix[16];
    unsigned bits;
    AddressKind kind;
} Range;

static const Range v4_ranges[] = {
    {{0}, 8, ADDRESS_UNSPECIFIED},
    {{169, 254}, 16, ADDRESS_LINK_LOCAL},
    {{224}, 4, ADDRESS_MULTICAST},
    {{255, 255, 255, 255}, 32, ADDRESS_MULTICAST}, /* broadcast */
    {{100, 100, 100, 200}, 32, ADDRESS_OF_CLOUD},  /* Alibaba Cloud */
    {{168, 63, 129, 16}, 32, ADDRESS_OF_CLOUD},    /* Azure */
    {{192, 0, 0, 192}, 32, ADDRESS_OF_CLOUD},      /* Oracle Cloud */
};

static const Range v6_ranges[] = {
    {{0}, 128, ADDRESS_UNSPECIFIED},
    {{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
    {{0xff}, 8, ADDRESS_MULTICAST},
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, ADDRESS_OF_CLOUD}, /* AWS */
    {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, ADDRESS_OF_CLOUD}, /* Google Cloud */
};

#define MAPPED 0

/* Where an IPv4 address is inside. */
static const struct {
    Range range;
    uint8_t at[4];
} inner[] = {
    [MAPPED] = {{{[10] = 0xff, [11] = 0xff}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}}, /* mapped */
    {{{0}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},                                   /* compatible */
    {{{[8] = 0xff, [9] = 0xff}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},              /* SIIT */
    {{{0x00, 0x64, 0xff, 0x9b}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},              /* NAT64 */
    {{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_PLAIN}, {12, 13, 14, 15}}, /* local NAT64 */
    {{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_PLAIN}, {6, 7, 9, 10}},    /* ... by /48 */
    {{{0x20, 0x02}, 16, ADDRESS_PLAIN}, {2, 3, 4, 5}},                             /* 6to4 */
};

static bool is_in(const uint8_t *bytes, const Range *range) {
    size_t whole = range->bits / 8;
    unsigned mask = 0xff00u >> (range->bits % 8) & 0xffu;

    if (whole > 0 && memcmp(bytes, range->prefix, whole) != 0)
        return false;
    return range->bits % 8 == 0 || (bytes[whole] & mask) == (range->prefix[whole] & mask);
}

static AddressKind find_kind(const uint8_t *bytes, const Range *ranges, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_in(bytes, &ranges[i]))
            return ranges[i].kind;
    return ADDRESS_PLAIN;
}

static AddressKind v4_kind(const uint8_t *bytes) {
    return find_kind(bytes, v4_ranges, ELEMENTS_OF(v4_ranges));
}

static AddressKind v6_kind(const uint8_t *bytes) {
    static const Range this_machine = {{[15] = 1}, 128, ADDRESS_PLAIN};
    AddressKind kind = find_kind(bytes, v6_ranges, ELEMENTS_OF(v6_ranges));

    if (is_in(bytes, &this_machine))
        return ADDRESS_PLAIN;
    for (size_t i = 0; kind == ADDRESS_PLAIN && i < ELEMENTS_OF(inner); i++) {
        const uint8_t *at = inner[i].at;
        const uint8_t v4[4] = {bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]};

        if (is_in(bytes, &inner[i].range))
            kind = v4_kind(v4);
        /* Zeros are what is left where another form is meant; only mapped they lead somewhere. */
        if (kind == ADDRESS_UNSPECIFIED && i != MAPPED)
            kind = ADDRESS_PLAIN;
    }
    return kind;
}

AddressKind address_kind(const void *address, size_t len) {
    struct sockaddr_in6 v6 = {0};
    struct sockaddr_in v4 = {0};
    sa_family_t family;
    uint8_t bytes[16];

    if (len < sizeof(struct sockaddr) || len > sizeof(struct sockaddr_storage))
        return ADDRESS_FOREIGN;
    memcpy(&family, (const char *)address + offsetof(struct sockaddr, sa_family), sizeof(family));
    if (family == AF_INET && len >= sizeof(v4)) {
        memcpy(&v4, address, sizeof(v4));
        memcpy(bytes, &v4.sin_addr, sizeof(v4.sin_addr));
        return v4_kind(bytes);
    }
    if (family != AF_INET6 || len < sizeof(v6))
        return ADDRESS_FOREIGN;
    memcpy(&v6, address, sizeof(v6));
    memcpy(bytes, &v6.sin6_addr, sizeof(v6.sin6_addr));
    return v6_kind(bytes);
}
