/* Addresses and ranges of them (ip.h), as Kubernetes' libraries ip and cidr have them. */
#include "cel/ip.h"
#include "cel/library.h"

static const CelIp *ip_of(CelValue v) {
    return v.opaque;
}

static const CelCidr *cidr_of(CelValue v) {
    return v.opaque;
}

/* cel_null() when @v is the text of one; otherwise the error. */
static CelValue read_ip(CelRun *run, CelValue v, CelIp *ret) {
    Str text = cel_str(v);
    const char *why;

    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    if (!cel_ip_parse(text, ret, &why))
        return cel_fail(run, "\"%.*s\" is not an IP address: %s", STR_FMT(cel_excerpt(text)), why);
    return cel_null();
}

static CelValue read_cidr(CelRun *run, CelValue v, CelCidr *ret) {
    Str text = cel_str(v);
    const char *why;

    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    if (!cel_cidr_parse(text, ret, &why))
        return cel_fail(run, "\"%.*s\" is not a CIDR: %s", STR_FMT(cel_excerpt(text)), why);
    return cel_null();
}

CEL_FUNCTION(ip_from_string) {
    CelIp ip;
    CelValue read = read_ip(run, args[0], &ip);

    return read.kind == CEL_ERROR ? read : cel_make_opaque(run, CEL_IP, &ip, sizeof(ip));
}

CEL_FUNCTION(is_ip) {
    CelIp ip;

    if (!cel_charge_bytes(run, args[0].len))
        return cel_exhausted(run);
    return cel_bool(cel_ip_parse(cel_str(args[0]), &ip, NULL));
}

/* An error for a text that is not an address: network_ext/ip_type/ip_is_canonical_invalid_ipv4 */
CEL_FUNCTION(ip_is_canonical) {
    CelIp ip;
    CelValue read = read_ip(run, args[0], &ip);

    return read.kind == CEL_ERROR ? read
                                  : cel_bool(str_is(cel_str(args[0]), cel_ip_text(&ip).text));
}

CEL_RETURNS(ip_to_string, cel_make_string(run, str_from_c(cel_ip_text(ip_of(args[0])).text)))
CEL_RETURNS(ip_family, cel_int(ip_of(args[0])->family))

CEL_RETURNS(ip_is_unspecified, cel_bool(cel_ip_is_unspecified(ip_of(args[0]))))
CEL_RETURNS(ip_is_loopback, cel_bool(cel_ip_is_loopback(ip_of(args[0]))))
CEL_RETURNS(ip_is_link_local_multicast, cel_bool(cel_ip_is_link_local_multicast(ip_of(args[0]))))
CEL_RETURNS(ip_is_link_local_unicast, cel_bool(cel_ip_is_link_local_unicast(ip_of(args[0]))))
CEL_RETURNS(ip_is_global_unicast, cel_bool(cel_ip_is_global_unicast(ip_of(args[0]))))

CEL_FUNCTION(cidr_from_string) {
    CelCidr cidr;
    CelValue read = read_cidr(run, args[0], &cidr);

    return read.kind == CEL_ERROR ? read : cel_make_opaque(run, CEL_CIDR, &cidr, sizeof(cidr));
}

CEL_FUNCTION(is_cidr) {
    CelCidr cidr;

    if (!cel_charge_bytes(run, args[0].len))
        return cel_exhausted(run);
    return cel_bool(cel_cidr_parse(cel_str(args[0]), &cidr, NULL));
}

CEL_RETURNS(cidr_contains_ip, cel_bool(cel_cidr_has_ip(cidr_of(args[0]), ip_of(args[1]))))

CEL_FUNCTION(cidr_contains_ip_string) {
    CelIp ip;
    CelValue read = read_ip(run, args[1], &ip);

    return read.kind == CEL_ERROR ? read : cel_bool(cel_cidr_has_ip(cidr_of(args[0]), &ip));
}

CEL_RETURNS(cidr_contains_cidr, cel_bool(cel_cidr_has_cidr(cidr_of(args[0]), cidr_of(args[1]))))

CEL_FUNCTION(cidr_contains_cidr_string) {
    CelCidr other;
    CelValue read = read_cidr(run, args[1], &other);

    return read.kind == CEL_ERROR ? read : cel_bool(cel_cidr_has_cidr(cidr_of(args[0]), &other));
}

CEL_RETURNS(cidr_ip, cel_make_opaque(run, CEL_IP, &cidr_of(args[0])->ip, sizeof(CelIp)))

CEL_FUNCTION(cidr_masked) {
    CelCidr masked = cel_cidr_masked(cidr_of(args[0]));

    return cel_make_opaque(run, CEL_CIDR, &masked, sizeof(masked));
}

CEL_FUNCTION(cidr_is_mask) {
    CelCidr masked = cel_cidr_masked(cidr_of(args[0]));

    return cel_bool(cel_cidr_equal(&masked, cidr_of(args[0])));
}

CEL_RETURNS(cidr_prefix_length, cel_int(cidr_of(args[0])->n_bits))

CEL_RETURNS(cidr_to_string, cel_make_string(run, str_from_c(cel_cidr_text(cidr_of(args[0])).text)))

static bool ip_equal(const void *a, const void *b) {
    return cel_ip_equal(a, b);
}

static void ip_print(const void *opaque, Buf *out) {
    buf_printf(out, "ip(\"%s\")", cel_ip_text(opaque).text);
}

static bool cidr_equal(const void *a, const void *b) {
    return cel_cidr_equal(a, b);
}

static void cidr_print(const void *opaque, Buf *out) {
    buf_printf(out, "cidr(\"%s\")", cel_cidr_text(opaque).text);
}

const CelOpaque cel_ip_opaque = {.equal = ip_equal, .print = ip_print};
const CelOpaque cel_cidr_opaque = {.equal = cidr_equal, .print = cidr_print};

static const CelOverloadSpec overloads[] = {
    {"ip", "(string) -> net.IP", ip_from_string, .cost = CEL_COST_BYTES, .reads_text = true},
    {"isIP", "(string) -> bool", is_ip, .cost = CEL_COST_BYTES, .reads_text = true},
    {"ip.isCanonical", "(string) -> bool", ip_is_canonical, .cost = CEL_COST_BYTES,
        .reads_text = true},
    {"string", "(net.IP) -> string", ip_to_string},
    {"family", "net.IP.() -> int", ip_family},
    {"isUnspecified", "net.IP.() -> bool", ip_is_unspecified},
    {"isLoopback", "net.IP.() -> bool", ip_is_loopback},
    {"isLinkLocalMulticast", "net.IP.() -> bool", ip_is_link_local_multicast},
    {"isLinkLocalUnicast", "net.IP.() -> bool", ip_is_link_local_unicast},
    {"isGlobalUnicast", "net.IP.() -> bool", ip_is_global_unicast},
    {"cidr", "(string) -> net.CIDR", cidr_from_string, .cost = CEL_COST_BYTES, .reads_text = true},
    {"isCIDR", "(string) -> bool", is_cidr, .cost = CEL_COST_BYTES, .reads_text = true},
    {"containsIP", "net.CIDR.(net.IP) -> bool", cidr_contains_ip},
    {"containsIP", "net.CIDR.(string) -> bool", cidr_contains_ip_string, .cost = CEL_COST_PRODUCT,
        .reads_text = true},
    {"containsCIDR", "net.CIDR.(net.CIDR) -> bool", cidr_contains_cidr},
    {"containsCIDR", "net.CIDR.(string) -> bool", cidr_contains_cidr_string,
        .cost = CEL_COST_PRODUCT, .reads_text = true},
    {"ip", "net.CIDR.() -> net.IP", cidr_ip},
    {"masked", "net.CIDR.() -> net.CIDR", cidr_masked},
    {"isMask", "net.CIDR.() -> bool", cidr_is_mask}, /* of cel-go, not of Kubernetes */
    {"prefixLength", "net.CIDR.() -> int", cidr_prefix_length},
    {"string", "(net.CIDR) -> string", cidr_to_string},
};

CEL_LIBRARY(cel_net_library, "net", overloads);
