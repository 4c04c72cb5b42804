#pragma once

/*
 * What server.c (listening, workers, connections) and request.c (one request from
 * its first line to its end) share.
 */

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdatomic.h>

#include "http/arena-pool.h"
#include "http/body.h"
#include "http/connections.h"
#include "http/pending.h"
#include "http/server.h"
#include "http/stream.h"

struct Server {
    ServerOptions options;
    ServerCallbacks callbacks;
    struct MHD_Daemon *daemon;
    int listen_fd;
    uint16_t port;
    atomic_bool is_retiring, is_draining;

    Connections *connections;
    BodyStore *bodies;
    Pendings *pendings;
    Streams *streams;
    ArenaPool *arenas;
    atomic_uint_fast64_t refused[_SERVER_REFUSED_MAX];
};

/* Our side of a connection; NULL when it was refused at accept. */
static inline Connection *connection_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* NULL in plain HTTP. */
static inline gnutls_session_t session_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

/* The request line is here: MHD_OPTION_URI_LOG_CALLBACK. What it points to is taken
 * apart right after this. NULL: no request, the connection ends. */
void *request_new(void *context, const char *target, struct MHD_Connection *mhd);

/* Headers are complete, a piece of the body is here, or the end of it. */
enum MHD_Result request_step(void *context, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *bytes, size_t *size, void **state);

/* The one place where a request ends. */
void request_completed(
    void *context, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode code);
