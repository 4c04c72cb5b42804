#pragma once

/*
 * Pages: a second listener (--pages-listen), without verbs.
 *
 * The verbs' listener is open to kube-scheduler only, by certificate, or on loopback. Kubelets,
 * Prometheus and people get this one. It has one worker and limits of its own, so that no page
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

typedef struct Pages Pages;

#define PAGES_CONNECTIONS_MAX 64u

typedef struct PagesOptions {
    const char *address; /* numeric, no brackets; NULL: there is no such listener */
    uint16_t port;
    const char *token_path;        /* NULL: no token lets in, ... */
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

/* Listens. @answers answer, and are the daemon's like @tls and @tokens; @verbs_url is the address
 * of the verbs, for clients that try them here. All is borrowed. 0, or a negative errno of
 * server_new(). */
int pages_new(const PagesOptions *options, ApiContext *api, TlsStore *tls,
    const PagesTokens *tokens, const char *verbs_url, Pages **ret) MUST_CHECK;
Pages *pages_free(Pages *pages); /* takes NULL */
DEFINE_CLEANUP(Pages *, pages_free)

const char *pages_url(const Pages *pages);

/* Whether any client may see more than health. */
bool pages_are_seen(const Pages *pages);

/* The same as of the server in it. Each takes NULL. */
void pages_tick(Pages *pages, int64_t now_nsec);
void pages_retire(Pages *pages);
unsigned pages_drain(Pages *pages);
