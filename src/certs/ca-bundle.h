#pragma once

/*
 * CaBundle: certificates of CAs in PEM, as a client trusts them: an API server that calls a
 * webhook.
 */

#include "kube/access.h"

#define CA_BUNDLE_ERROR_MAX ACCESS_ERROR_MAX

/* Both: 0, or -EINVAL with a message for a person in @error (CA_BUNDLE_ERROR_MAX). */

/* When the last of its certificates expires, since 1970. */
int ca_bundle_read(Str pem, int64_t *ret_until_sec, char *error);

/* Whether a client that trusts @bundle alone accepts a server named @host with the certificate
 * @chain (PEM, leaf first) now. */
int ca_bundle_verify(Str bundle, Str chain, Str host, char *error);
