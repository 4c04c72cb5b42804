#pragma once

/*
 * Pages: a second listener (--pages-listen), without verbs.
 *
 * The verbs' listener is open to kube-scheduler only, by certificate, or on loopback. Kubelets,
 * Prometheus and users get this one. It has one worker and limits of its own, so that no page
 * takes workers, connections or memory from a decision.
 *
 *   health       open to all, because a kubelet's probe has no credentials; reasons are withheld
 *   other pages  for clients with a token, or with a certificate of the client CA and an allowed
 *                name; if neither is configured, for all clients of a loopback address
 *   replays      what-if, and bundles of many decisions: not for clients with the viewers' token
 */

#include "api/context.h"
#include "api/token.h"
#include "http/server.h"
#include "http/tls.h"

#define PAGES_CONNECTIONS_MAX 64u

typedef struct PagesOptions {
    const char *address; /* numeric, no brackets; NULL: there is no such listener */
    uint16_t port;
    const char *token_path;        /* NULL: no token gives access, ... */
    const char *viewer_token_path; /* ... or none for viewers */
    const Str *client_names;       /* none: no certificate does */
    size_t n_client_names;
    const Str *hosts; /* further host names (ServerOptions) */
    size_t n_hosts;
    size_t verbs_memory_max; /* --max-memory; this listener may use a quarter of it in addition */
} PagesOptions;

/* The secrets of the two; NULL: none. */
typedef struct PagesTokens {
    Token *full, *viewer;
} PagesTokens;

/* What the listener answers from; all borrowed. */
typedef struct Pages {
    const PagesOptions *options;
    ApiContext *api;
    const PagesTokens *tokens;
    const char *verbs_url; /* for clients that try the verbs here */
} Pages;

/* Listens; @pages lives longer. 0, or a negative errno of server_new(). */
int pages_listen(Pages *pages, TlsStore *tls, Server **ret) MUST_CHECK;

/* Whether any client may see more than health. */
bool pages_are_seen(const Pages *pages);

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
