/* Addresses and ranges of them (ip.h), as Kubernetes' libraries ip and cidr have them. */
#include "cel/ip.h"
#include "cel/library.h"

/* Reads text as an address (into ret->ip) or a range. cel_null(), or the error. */
static CelValue read(CelRun *run, CelValue v, CelKind kind, CelCidr *ret) {
    Str text = cel_str(v);
    const char *why;

    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    if (kind == CEL_IP ? cel_ip_parse(text, &ret->ip, &why) : cel_cidr_parse(text, ret, &why))
        return cel_null();
    return cel_fail(run, "\"%.*s\" is not %s: %s", STR_FMT(cel_excerpt(text)),
        kind == CEL_IP ? "an IP address" : "a CIDR", why);
}

static CelValue from_text(CelRun *run, CelValue text, CelKind kind) {
    CelCidr made;
    CelValue r = read(run, text, kind, &made);
    size_t size = kind == CEL_IP ? sizeof(made.ip) : sizeof(made);

    return r.kind == CEL_ERROR ? r : cel_make_opaque(run, kind, &made, size);
}

CEL_RETURNS(ip_from_string, from_text(run, args[0], CEL_IP))
CEL_RETURNS(cidr_from_string, from_text(run, args[0], CEL_CIDR))

CEL_CHARGED(is_ip, args[0].len) {
    CelIp ip;

    return cel_bool(cel_ip_parse(cel_str(args[0]), &ip, NULL));
}

CEL_CHARGED(is_cidr, args[0].len) {
    CelCidr cidr;

    return cel_bool(cel_cidr_parse(cel_str(args[0]), &cidr, NULL));
}

/* An error for a text that is not an address: network_ext/ip_type/ip_is_canonical_invalid_ipv4 */
CEL_FUNCTION(ip_is_canonical) {
    CelCidr made;
    CelValue r = read(run, args[0], CEL_IP, &made);

    return r.kind == CEL_ERROR ? r : cel_bool(str_is(cel_str(args[0]), cel_ip_text(&made.ip).text));
}

CEL_RETURNS(ip_to_string, cel_make_string(run, str_from_c(cel_ip_text(args[0].opaque).text)))
CEL_RETURNS(ip_family, cel_int(((const CelIp *)args[0].opaque)->family))

CEL_RETURNS(ip_is_unspecified, cel_bool(cel_ip_is_unspecified(args[0].opaque)))
CEL_RETURNS(ip_is_loopback, cel_bool(cel_ip_is_loopback(args[0].opaque)))
CEL_RETURNS(ip_is_link_local_multicast, cel_bool(cel_ip_is_link_local_multicast(args[0].opaque)))
CEL_RETURNS(ip_is_link_local_unicast, cel_bool(cel_ip_is_link_local_unicast(args[0].opaque)))
CEL_RETURNS(ip_is_global_unicast, cel_bool(cel_ip_is_global_unicast(args[0].opaque)))

CEL_RETURNS(cidr_contains_ip, cel_bool(cel_cidr_has_ip(args[0].opaque, args[1].opaque)))
CEL_RETURNS(cidr_contains_cidr, cel_bool(cel_cidr_has_cidr(args[0].opaque, args[1].opaque)))

static CelValue contains_text(CelRun *run, const CelValue *args, CelKind kind) {
    CelCidr other;
    CelValue r = read(run, args[1], kind, &other);

    if (r.kind == CEL_ERROR)
        return r;
    return cel_bool(kind == CEL_IP ? cel_cidr_has_ip(args[0].opaque, &other.ip)
                                   : cel_cidr_has_cidr(args[0].opaque, &other));
}

CEL_RETURNS(cidr_contains_ip_string, contains_text(run, args, CEL_IP))
CEL_RETURNS(cidr_contains_cidr_string, contains_text(run, args, CEL_CIDR))

/* A range begins with its address. */
CEL_RETURNS(cidr_ip, cel_make_opaque(run, CEL_IP, args[0].opaque, sizeof(CelIp)))

CEL_FUNCTION(cidr_masked) {
    CelCidr masked = cel_cidr_masked(args[0].opaque);

    return cel_make_opaque(run, CEL_CIDR, &masked, sizeof(masked));
}

CEL_FUNCTION(cidr_is_mask) {
    CelCidr masked = cel_cidr_masked(args[0].opaque);

    return cel_bool(cel_cidr_equal(&masked, args[0].opaque));
}

CEL_RETURNS(cidr_prefix_length, cel_int(((const CelCidr *)args[0].opaque)->n_bits))
CEL_RETURNS(cidr_to_string, cel_make_string(run, str_from_c(cel_cidr_text(args[0].opaque).text)))

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
    {"ip", "(string) -> net.IP", ip_from_string, CEL_READS},
    {"isIP", "(string) -> bool", is_ip, CEL_READS},
    {"ip.isCanonical", "(string) -> bool", ip_is_canonical, CEL_READS},
    {"string", "(net.IP) -> string", ip_to_string},
    {"family", "net.IP.() -> int", ip_family},
    {"isUnspecified", "net.IP.() -> bool", ip_is_unspecified},
    {"isLoopback", "net.IP.() -> bool", ip_is_loopback},
    {"isLinkLocalMulticast", "net.IP.() -> bool", ip_is_link_local_multicast},
    {"isLinkLocalUnicast", "net.IP.() -> bool", ip_is_link_local_unicast},
    {"isGlobalUnicast", "net.IP.() -> bool", ip_is_global_unicast},
    {"cidr", "(string) -> net.CIDR", cidr_from_string, CEL_READS},
    {"isCIDR", "(string) -> bool", is_cidr, CEL_READS},
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
