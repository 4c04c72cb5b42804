#pragma once

/*
 * The listener for AdmissionReviews (--admission-listen, live/admission-review.h).
 *
 * An API server calls it when a PlacementPolicy is applied. By default an API server has no client
 * certificate, so that the verbs' listener would refuse it; and probes and scrapes of the pages'
 * listener must not wait until a policy is compiled. Each client that reaches this listener may
 * send reviews, unless names of client certificates are configured: an answer only shows what is
 * wrong with the text that the client sent, and whether a policy file uses its name.
 *
 * One thread of low priority answers, one review at a time: the others wait, bounded by connections
 * and memory. Nothing of this is shared with the verbs.
 */

#include "api/context.h"
#include "http/server.h"
#include "http/tls.h"

/* An API server handles up to 200 changes at a time, each on a connection of its own; at most half
 * of the connections are in a handshake. */
#define ADMISSION_CONNECTIONS_MAX 512u
#define ADMISSION_MEMORY_MAX ((size_t)64 * 1024 * 1024)

typedef struct AdmissionOptions {
    const char *address; /* numeric, no brackets; NULL: there is no such listener */
    uint16_t port;
    const Str *client_names; /* of API servers' certificates; none: no certificate is required */
    size_t n_client_names;
} AdmissionOptions;

/* Listens. All is borrowed. 0, or a negative errno of server_new(). */
int admission_listen(const AdmissionOptions *options, ApiContext *api, TlsStore *tls, Server **ret)
    MUST_CHECK;
