/* IP addresses and ranges. Not parsed by libc: inet_pton() takes texts that Kubernetes rejects. An
 * address is its bytes; a range, and every special kind of address, is a prefix. */

#include "cel/ip.h"

#include <stdio.h>

#include "base/ascii.h"
#include "cel/number.h"

#define GROUPS 8 /* of two bytes, in an IPv6 address */

static bool refuse(const char **ret_why, const char *why) {
    if (ret_why)
        *ret_why = why;
    return false;
}

/* Takes one of the four numbers off the front of @text. */
static bool take_octet(Str *text, uint8_t *ret, const char **ret_why) {
    unsigned value = 0;
    size_t n = 0;

    for (; n < text->len && ascii_is_digit(text->ptr[n]); n++) {
        if (n == 1 && value == 0)
            return refuse(ret_why, "an IPv4 number has a leading zero");
        value = value * 10 + (unsigned)(text->ptr[n] - '0');
        if (value > 255)
            return refuse(ret_why, "an IPv4 number is greater than 255");
    }
    if (n == 0)
        return refuse(ret_why, "an IPv4 number is missing");
    *text = str_skip(*text, n);
    *ret = (uint8_t)value;
    return true;
}

/* False unless all of @text is "a.b.c.d". */
static bool octets_parse(Str text, uint8_t ret[4], const char **ret_why) {
    for (size_t i = 0; i < 4; i++) {
        if (i > 0 && !str_cut_char(&text, '.'))
            return refuse(ret_why, "IPv4 needs four numbers with dots between them");
        if (!take_octet(&text, &ret[i], ret_why))
            return false;
    }
    return text.len == 0 || refuse(ret_why, "something follows the IPv4 address");
}

/* Takes up to four hexadecimal digits off the front of @text; returns their number. */
static size_t take_group(Str *text, uint16_t *ret) {
    unsigned value = 0;
    size_t n = 0;

    while (n < text->len && n < 4 && ascii_hex_value(text->ptr[n]) >= 0)
        value = value * 16 + (unsigned)ascii_hex_value(text->ptr[n++]);
    *text = str_skip(*text, n);
    *ret = (uint16_t)value;
    return n;
}

/* An IPv6 address while it is parsed: groups before the "::" and after it. */
typedef struct Groups {
    uint16_t values[GROUPS];
    size_t n;
    size_t gap; /* groups before the "::"; SIZE_MAX: there is no "::" */
} Groups;

/* Adds the last two groups, written as IPv4. */
static bool take_embedded(Groups *groups, Str text, const char **ret_why) {
    uint8_t octets[4];

    if (groups->n > GROUPS - 2 || (groups->gap == SIZE_MAX && groups->n != GROUPS - 2))
        return refuse(ret_why, "IPv4 inside IPv6 stands for the last two groups");
    if (!octets_parse(text, octets, ret_why))
        return false;
    groups->values[groups->n++] = (uint16_t)(octets[0] << 8 | octets[1]);
    groups->values[groups->n++] = (uint16_t)(octets[2] << 8 | octets[3]);
    return true;
}

static bool take_gap(Groups *groups, Str *text, const char **ret_why) {
    if (groups->gap != SIZE_MAX)
        return refuse(ret_why, "\"::\" stands in it twice");
    groups->gap = groups->n;
    *text = str_skip(*text, 2);
    return true;
}

/* Takes the separator before the next group. */
static bool take_separator(Groups *groups, Str *text, const char **ret_why) {
    if (text->ptr[0] != ':')
        return refuse(ret_why, "a group of an IPv6 address has one to four hexadecimal digits");
    if (text->len == 1)
        return refuse(ret_why, "it ends with a colon");
    if (text->ptr[1] == ':')
        return take_gap(groups, text, ret_why);
    *text = str_skip(*text, 1);
    return true;
}

static bool groups_parse(Str text, Groups *groups, const char **ret_why) {
    *groups = (Groups){.gap = SIZE_MAX};
    if (str_has_prefix(text, STR("::")))
        (void)take_gap(groups, &text, ret_why); /* the first one */
    while (text.len > 0) {
        Str rest = text;
        uint16_t value;

        if (groups->n == GROUPS)
            return refuse(ret_why, "it has more than eight groups");
        if (take_group(&text, &value) == 0)
            return refuse(ret_why, "a group of an IPv6 address has no digits");
        if (text.len > 0 && text.ptr[0] == '.')
            return take_embedded(groups, rest, ret_why);
        groups->values[groups->n++] = value;
        if (text.len > 0 && !take_separator(groups, &text, ret_why))
            return false;
    }
    return true;
}

static bool ipv6_parse(Str text, CelIp *ret, const char **ret_why) {
    Groups groups;
    size_t n_zeros;

    if (str_find(text, '%') != SIZE_MAX)
        return refuse(ret_why, "an address with a zone is not allowed");
    if (!groups_parse(text, &groups, ret_why))
        return false;
    if (groups.gap == SIZE_MAX && groups.n < GROUPS)
        return refuse(ret_why, "it has fewer than eight groups");
    if (groups.gap != SIZE_MAX && groups.n == GROUPS)
        return refuse(ret_why, "\"::\" stands for no group");
    n_zeros = GROUPS - groups.n;
    *ret = (CelIp){.family = 6};
    for (size_t i = 0; i < groups.n; i++) {
        size_t to = i < groups.gap ? i : i + n_zeros;

        ret->bytes[2 * to] = (uint8_t)(groups.values[i] >> 8);
        ret->bytes[2 * to + 1] = (uint8_t)groups.values[i];
    }
    return true;
}

static bool is_mapped(const CelIp *ip) {
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return ip->family == 6 && memcmp(ip->bytes, prefix, sizeof(prefix)) == 0;
}

/* Keeps a mapped address as IPv6. The first '.' or ':' decides the family. */
static bool any_parse(Str text, CelIp *ret, const char **ret_why) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ':')
            return ipv6_parse(text, ret, ret_why);
        if (text.ptr[i] == '.') {
            *ret = (CelIp){.family = 4};
            return octets_parse(text, ret->bytes, ret_why);
        }
    }
    return refuse(ret_why, "neither IPv4 nor IPv6");
}

static const char mapped_refused[] = "an IPv4-mapped IPv6 address is not allowed";

bool cel_ip_parse(Str text, CelIp *ret, const char **ret_why) {
    CelIp ip;

    if (!any_parse(text, &ip, ret_why))
        return false;
    *ret = ip;
    if (!is_mapped(&ip))
        return true;
    /* network_ext/ip_type/parse_invalid_ipv4_in_ipv6, ipv4/ipv4_equals_ipv6 */
    if (str_find(text, '.') != SIZE_MAX)
        return refuse(ret_why, mapped_refused);
    *ret = (CelIp){.family = 4};
    memcpy(ret->bytes, ip.bytes + 12, 4);
    return true;
}

static unsigned family_bits(const CelIp *ip) {
    return ip->family == 4 ? 32 : 128;
}

bool cel_cidr_parse(Str text, CelCidr *ret, const char **ret_why) {
    size_t slash = str_find_last(text, '/');
    Str bits = slash == SIZE_MAX ? STR_NULL : str_skip(text, slash + 1);
    uint64_t n_bits;

    if (slash == SIZE_MAX)
        return refuse(ret_why, "a range needs \"/\" and the length of its prefix");
    if (!any_parse(str_take(text, slash), &ret->ip, ret_why))
        return false;
    if (is_mapped(&ret->ip))
        return refuse(ret_why, mapped_refused);
    if (bits.len > 3 || (bits.len > 1 && bits.ptr[0] == '0') || !cel_number_uint(bits, &n_bits))
        return refuse(ret_why, "the length of the prefix is no plain number");
    if (n_bits > family_bits(&ret->ip))
        return refuse(ret_why, "the prefix is longer than the address");
    ret->n_bits = (uint8_t)n_bits;
    return true;
}

static unsigned group_at(const CelIp *ip, size_t i) {
    return (unsigned)ip->bytes[2 * i] << 8 | ip->bytes[2 * i + 1];
}

/* The longest run of two or more groups of zeros, the first of equals: RFC 5952 §4.2. */
static size_t longest_zeros(const CelIp *ip, size_t *ret_n) {
    size_t start = 0, best = GROUPS;

    *ret_n = 1;
    for (size_t i = 0; i < GROUPS; i++) {
        if (group_at(ip, i) != 0)
            start = i + 1;
        else if (i + 1 - start > *ret_n) {
            best = start;
            *ret_n = i + 1 - start;
        }
    }
    return best;
}

static CelIpText ipv6_text(const CelIp *ip) {
    size_t n_zeros, zeros = longest_zeros(ip, &n_zeros), at = 0;
    CelIpText text;

    for (size_t i = 0; i < GROUPS; i++) {
        const char *before = i == 0 || i == zeros + n_zeros ? "" : ":";

        if (i == zeros) {
            at += (size_t)snprintf(text.text + at, sizeof(text.text) - at, "::");
            i += n_zeros - 1;
            continue;
        }
        at += (size_t)snprintf(
            text.text + at, sizeof(text.text) - at, "%s%x", before, group_at(ip, i));
    }
    return text;
}

CelIpText cel_ip_text(const CelIp *ip) {
    CelIpText text;

    if (ip->family == 6)
        return ipv6_text(ip);
    (void)snprintf(text.text, sizeof(text.text), "%u.%u.%u.%u", ip->bytes[0], ip->bytes[1],
        ip->bytes[2], ip->bytes[3]);
    return text;
}

CelIpText cel_cidr_text(const CelCidr *cidr) {
    CelIpText text = cel_ip_text(&cidr->ip);
    size_t len = strlen(text.text);

    (void)snprintf(text.text + len, sizeof(text.text) - len, "/%u", cidr->n_bits);
    return text;
}

bool cel_ip_equal(const CelIp *a, const CelIp *b) {
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool cel_cidr_equal(const CelCidr *a, const CelCidr *b) {
    return a->n_bits == b->n_bits && cel_ip_equal(&a->ip, &b->ip);
}

/* Whether the first @n_bits of both are the same. */
static bool has_prefix(const CelIp *ip, const uint8_t *prefix, unsigned n_bits) {
    unsigned whole = n_bits / 8, rest = n_bits % 8;

    if (memcmp(ip->bytes, prefix, whole) != 0)
        return false;
    return rest == 0 || ((ip->bytes[whole] ^ prefix[whole]) >> (8 - rest)) == 0;
}

bool cel_ip_is_unspecified(const CelIp *ip) {
    static const uint8_t zeros[16] = {0};

    return has_prefix(ip, zeros, family_bits(ip));
}

bool cel_ip_is_loopback(const CelIp *ip) {
    static const uint8_t one[16] = {[15] = 1};

    return ip->family == 4 ? ip->bytes[0] == 127 : has_prefix(ip, one, 128);
}

bool cel_ip_is_link_local_multicast(const CelIp *ip) {
    static const uint8_t all_hosts[] = {224, 0, 0};

    if (ip->family == 4)
        return has_prefix(ip, all_hosts, 24);
    return ip->bytes[0] == 0xff && (ip->bytes[1] & 0x0f) == 0x02; /* any flags, scope 2 */
}

bool cel_ip_is_link_local_unicast(const CelIp *ip) {
    static const uint8_t ipv4[] = {169, 254}, ipv6[] = {0xfe, 0x80};

    return ip->family == 4 ? has_prefix(ip, ipv4, 16) : has_prefix(ip, ipv6, 10);
}

bool cel_ip_is_global_unicast(const CelIp *ip) {
    static const uint8_t broadcast[] = {255, 255, 255, 255};
    bool is_multicast = ip->family == 4 ? ip->bytes[0] >> 4 == 0xe : ip->bytes[0] == 0xff;

    if (ip->family == 4 && has_prefix(ip, broadcast, 32))
        return false;
    return !cel_ip_is_unspecified(ip) && !cel_ip_is_loopback(ip) && !is_multicast &&
           !cel_ip_is_link_local_unicast(ip);
}

bool cel_cidr_has_ip(const CelCidr *cidr, const CelIp *ip) {
    return cidr->ip.family == ip->family && has_prefix(ip, cidr->ip.bytes, cidr->n_bits);
}

bool cel_cidr_has_cidr(const CelCidr *cidr, const CelCidr *other) {
    return cidr->n_bits <= other->n_bits && cel_cidr_has_ip(cidr, &other->ip);
}

CelCidr cel_cidr_masked(const CelCidr *cidr) {
    CelCidr masked = *cidr;

    for (unsigned i = 0; i < sizeof(masked.ip.bytes); i++) {
        unsigned above = i * 8; /* bits in front of this byte */

        if (above >= cidr->n_bits)
            masked.ip.bytes[i] = 0;
        else if (cidr->n_bits - above < 8)
            masked.ip.bytes[i] &= (uint8_t)(0xff00 >> (cidr->n_bits - above));
    }
    return masked;
}
