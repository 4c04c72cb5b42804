#pragma once

/*
 * Ip: an address, version 4 or 6, and a range of them (CIDR); written in RFC 5952's form.
 *
 * Strict, as Kubernetes is: no leading zeros, no zone ("%eth0"), no dotted IPv4-mapped IPv6 address
 * ("::ffff:1.2.3.4"). Unlike in Kubernetes, a mapped address in hexadecimal digits
 * ("::ffff:c0a8:1") equals its IPv4 address (network_ext/ipv4/ipv4_equals_ipv6), but not as the
 * start of a range.
 */

#include "base/str.h"

typedef struct CelIp {
    uint8_t family;    /* 4 or 6 */
    uint8_t bytes[16]; /* family 4: the first four, the rest 0 */
} CelIp;

typedef struct CelCidr {
    CelIp ip; /* as written: bits below the prefix may be set */
    uint8_t n_bits;
} CelCidr;

/* The text of an address or range, NUL-terminated. */
#define CEL_IP_TEXT_MAX 50
typedef struct CelIpText {
    char text[CEL_IP_TEXT_MAX];
} CelIpText;

/* False when @text is no address or range; @ret_why (may be NULL) is the reason, a static text. */
bool cel_ip_parse(Str text, CelIp *ret, const char **ret_why);
bool cel_cidr_parse(Str text, CelCidr *ret, const char **ret_why);

CelIpText cel_ip_text(const CelIp *ip);
CelIpText cel_cidr_text(const CelCidr *cidr);

bool cel_ip_equal(const CelIp *a, const CelIp *b);
bool cel_cidr_equal(const CelCidr *a, const CelCidr *b); /* 10.0.0.1/8 is not 10.0.0.0/8 */

bool cel_ip_is_unspecified(const CelIp *ip);          /* 0.0.0.0, :: */
bool cel_ip_is_loopback(const CelIp *ip);             /* 127.0.0.0/8, ::1 */
bool cel_ip_is_link_local_multicast(const CelIp *ip); /* 224.0.0.0/24, ff?2::/16 */
bool cel_ip_is_link_local_unicast(const CelIp *ip);   /* 169.254.0.0/16, fe80::/10 */
/* None of those, not multicast, not 255.255.255.255. Private ranges count as global. */
bool cel_ip_is_global_unicast(const CelIp *ip);

/* Whether the range contains the address or the other range. False across families. */
bool cel_cidr_has_ip(const CelCidr *cidr, const CelIp *ip);
bool cel_cidr_has_cidr(const CelCidr *cidr, const CelCidr *other);

/* With all bits below the prefix 0. */
CelCidr cel_cidr_masked(const CelCidr *cidr);
