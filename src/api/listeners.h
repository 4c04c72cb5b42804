#pragma once

/*
 * Pages: a second listener (--pages-listen), without verbs.
 *
 * The verbs' listener is only for kube-scheduler, by certificate, or on loopback. Kubelets,
 * Prometheus and users get this one. It has its own worker and limits, so that pages take no
 * workers, connections or memory from decisions.
 *
 *   health       for all clients, because a kubelet's probe has no credentials; without reasons
 *   other pages  for clients with a token, or with a certificate of the client CA and an allowed
 *                name; if neither is configured, for all clients of a loopback address
 *   replays      what-if, and bundles of many decisions: not with the viewers' token
 */

#include "api/context.h"
#include "api/token.h"
#include "http/server.h"
#include "http/tls.h"

#define PAGES_CONNECTIONS_MAX 64u

typedef struct PagesOptions {
    const char *address; /* numeric, no brackets; NULL: there is no such listener */
    uint16_t port;
    const char *token_path;        /* a token for everything; NULL: none */
    const char *viewer_token_path; /* a token for viewing; NULL: none */
    const Str *client_names;       /* for client certificates; none: no access by certificate */
    size_t n_client_names;
    const Str *hosts; /* further host names (ServerOptions) */
    size_t n_hosts;
    size_t verbs_memory_max; /* --max-memory; this listener may use a quarter of it on top */
} PagesOptions;

/* The secrets of the two files; NULL: none. */
typedef struct PagesTokens {
    Token *full, *viewer;
} PagesTokens;

/* The parts of the listener's answers; all borrowed. */
typedef struct Pages {
    const PagesOptions *options;
    ApiContext *api;
    const PagesTokens *tokens;
    const char *verbs_url; /* named to clients that send verbs here */
} Pages;

/* Listens. @pages must live longer. 0, or a negative errno of server_new(). */
int pages_listen(Pages *pages, TlsStore *tls, Server **ret) MUST_CHECK;

/* Whether clients may see more than health. */
bool pages_are_seen(const Pages *pages);

/*
 * The listener for AdmissionReviews (--admission-listen, live/admission-review.h).
 *
 * An API server calls it when a PlacementPolicy is applied. By default an API server has no client
 * certificate, so the verbs' listener would reject it; and probes and scrapes on the pages'
 * listener must not wait for a policy to compile. All clients that reach this listener may send
 * reviews, unless names of client certificates are configured: an answer only shows errors in the
 * text that the client sent, and whether a policy file uses its name.
 *
 * One thread of low priority answers one review at a time; limits of connections and memory bound
 * the others. It shares nothing with the verbs.
 */

/* An API server handles up to 200 changes at a time, each on its own connection; at most half of
 * the connections are in a handshake. */
#define ADMISSION_CONNECTIONS_MAX 512u
#define ADMISSION_MEMORY_MAX ((size_t)64 * 1024 * 1024)

typedef struct AdmissionOptions {
    const char *address; /* numeric, no brackets; NULL: there is no such listener */
    uint16_t port;
    const Str *client_names; /* names for API servers' certificates; none: not required */
    size_t n_client_names;
} AdmissionOptions;

/* Listens. All arguments are borrowed. 0, or a negative errno of server_new(). */
int admission_listen(const AdmissionOptions *options, ApiContext *api, TlsStore *tls, Server **ret)
    MUST_CHECK;
