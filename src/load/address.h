#pragma once

/*
 * Address: whether one is of those that a request must not be led to.
 *
 * What a name means is decided by whoever answers for it, and an address can be written in many
 * ways: as one number, in octal, inside an IPv6 address. So what is looked at is the address that
 * a connection is about to be made to, never its text.
 */

#include <stddef.h>

typedef enum AddressKind {
    ADDRESS_PLAIN,
    ADDRESS_LINK_LOCAL,
    ADDRESS_OF_CLOUD, /* clouds serve credentials there, though it is not link-local */
    ADDRESS_MULTICAST,
    ADDRESS_UNSPECIFIED,
    ADDRESS_FOREIGN, /* neither IPv4 nor IPv6 */
} AddressKind;

/* @address: a struct sockaddr of @len bytes. Of an IPv6 address with an IPv4 one inside (mapped,
 * compatible, NAT64, 6to4) the inner one counts, too. */
AddressKind address_kind(const void *address, size_t len);
