/* Listeners other than that of the verbs: access rights and limits. */

#include "api/listeners.h"

#include <stdio.h>

#include "api/api-pages.h"
#include "api/routes.h"
#include "live/admission-review.h"

/* Limits for a few users, a Prometheus and a kubelet; the largest page has some MiB. */
#define PAGES_HEADER_MAX ((size_t)16 * 1024)
#define PAGES_BODY_MAX WHAT_IF_BODY_MAX              /* no other page takes a body */
#define PAGES_MEMORY_MIN ((size_t)128 * 1024 * 1024) /* a bundle has some ten MiB */
#define PAGES_MEMORY_SHARE 4u                        /* a quarter of the verbs' memory */
#define PAGES_CONNECTIONS_PER_ADDRESS_MAX 32u

#define PAGES_TEXT_MAX 256u

static bool is_open_to_all(const Pages *pages) {
    return server_is_loopback(pages->options->address);
}

static bool has_token(const Pages *pages) {
    return pages->tokens->full || pages->tokens->viewer;
}

static bool opens(Token *token, const HttpRequest *request) {
    return token && token_opens(token, request->authorization, request->berth_token);
}

/* Whether the client may replay decisions. The token of viewers does not allow it. */
static bool may_replay(const Pages *pages, const HttpRequest *request) {
    if (opens(pages->tokens->full, request))
        return true;
    if (pages->options->n_client_names > 0)
        return request->is_authenticated;
    return !has_token(pages) && is_open_to_all(pages) && !request->is_misaddressed;
}

bool pages_are_seen(const Pages *pages) {
    return has_token(pages) || pages->options->n_client_names > 0 || is_open_to_all(pages);
}

static void refuse(const Pages *pages, const HttpRequest *request, HttpReply *reply) {
    if (has_token(pages)) {
        reply_error(request, reply, 401,
            STR("berth: a valid token is required: Authorization: Bearer TOKEN, or in a browser "
                "the "
                "token as password with any user name (--pages-token-file); `kubectl berth` finds "
                "the token by itself"));
        reply->authenticate =
            request->accepts_html ? "Basic realm=\"berth\", charset=\"UTF-8\"" : "Bearer";
    } else if (pages->options->n_client_names > 0)
        reply_error(request, reply, 403,
            STR("berth: a client certificate with an allowed name is required (--client-ca, "
                "--pages-client-name)"));
    else if (is_open_to_all(pages))
        reply_error(request, reply, 403, STR(PAGE_MISADDRESSED));
    else
        reply_error(request, reply, 403,
            STR("berth: this listener shows only health; --pages-token-file or --pages-client-name "
                "allows the rest"));
}

static PageAccess access_of(const Pages *pages, const HttpRequest *request) {
    bool replays = may_replay(pages, request);
    bool sees = replays || opens(pages->tokens->viewer, request);

    return (PageAccess){
        .sees_reasons = sees,
        .may_replay = replays,
        .has_dashboard = sees && pages->api->dashboard_on_pages,
    };
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    const Pages *pages = context;
    const Route *route = route_find(pages->api, request);
    PageAccess access = access_of(pages, request);
    char text[PAGES_TEXT_MAX];

    reply->tag = route_tag(route);
    if (route_is_verb(route)) {
        (void)snprintf(text, sizeof(text),
            "berth: there are no verbs on this listener (--pages-listen); they are at %s",
            pages->verbs_url);
        reply_error(request, reply, 404, str_from_c(text));
        return false;
    }
    if (route->clients != ROUTE_EVERYONE && !access.sees_reasons) {
        refuse(pages, request, reply);
        return false;
    }
    return route_admit(route, request, &access, reply);
}

/* On a page worker, after admit() has checked that the client may see pages. */
static void show_slowly(void *context, const HttpRequest *request, HttpReply *reply) {
    ApiContext *api = context;
    const PageAccess access = {.sees_reasons = true, .has_dashboard = api->dashboard_on_pages};

    route_reply(route_find(api, request), api, request, &access, reply);
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    const Pages *pages = context;
    const Route *route = route_find(pages->api, request);
    PageAccess access = access_of(pages, request);

    reply->tag = route_tag(route);
    /* There is one worker, and probes and scrapes should not wait for other pages. */
    if (route->pace == ROUTE_AT_ONCE || route->pace == ROUTE_QUICK)
        route_reply(route, pages->api, request, &access, reply);
    else
        route_defer(route, pages->api, request, show_slowly, reply);
}

static void finished(void *context, const HttpOutcome *outcome) {
    const Pages *pages = context;

    metrics_note_request(pages->api->metrics, route_of_tag(outcome->tag)->kind, outcome);
}

static size_t memory_max(const PagesOptions *options) {
    size_t share = options->verbs_memory_max / PAGES_MEMORY_SHARE;

    return share > PAGES_MEMORY_MIN ? share : PAGES_MEMORY_MIN;
}

int pages_listen(Pages *pages, TlsStore *tls, Server **ret) {
    const PagesOptions *options = pages->options;
    ServerOptions server = server_default_options();

    server.address = options->address;
    server.port = options->port;
    server.tls = tls;
    server.client_names = options->client_names;
    server.n_client_names = options->n_client_names;
    server.hosts = options->hosts;
    server.n_hosts = options->n_hosts;
    server.n_workers = 1;
    server.header_max = PAGES_HEADER_MAX;
    server.body_max = PAGES_BODY_MAX;
    server.memory_max = memory_max(options);
    server.connections_max = PAGES_CONNECTIONS_MAX;
    server.connections_per_address_max = PAGES_CONNECTIONS_PER_ADDRESS_MAX;
    return server_new(&server,
        &(ServerCallbacks){
            .context = pages, .admit = admit, .handle = handle, .finished = finished},
        ret);
}

/* --- AdmissionReviews ------------------------------------------------------------------------- */

#define ADMISSION_HEADER_MAX ((size_t)16 * 1024)

static const PageAccess review_access = {.has_reviews = true};

static bool admit_review(void *context, const HttpRequest *request, HttpReply *reply) {
    const Route *route = route_find(context, request);

    reply->tag = route_tag(route);
    if (!request->is_authenticated) {
        reply_error(request, reply, 403,
            STR("berth: a client certificate with an allowed name is required (--client-ca, "
                "--admission-client-name)"));
        return false;
    }
    return route_admit(route, request, &review_access, reply);
}

static void handle_review(void *context, const HttpRequest *request, HttpReply *reply) {
    route_reply(route_find(context, request), context, request, &review_access, reply);
}

static void review_finished(void *context, const HttpOutcome *outcome) {
    const ApiContext *api = context;

    metrics_note_request(api->metrics, route_of_tag(outcome->tag)->kind, outcome);
}

int admission_listen(
    const AdmissionOptions *options, ApiContext *api, TlsStore *tls, Server **ret) {
    ServerOptions server = server_default_options();

    server.address = options->address;
    server.port = options->port;
    server.tls = tls;
    server.client_names = options->client_names;
    server.n_client_names = options->n_client_names;
    server.n_workers = 1;
    server.nice = LOW_PRIORITY_NICE;
    server.header_max = ADMISSION_HEADER_MAX;
    server.body_max = ADMISSION_BODY_MAX;
    server.memory_max = ADMISSION_MEMORY_MAX;
    server.connections_max = server.connections_per_address_max = ADMISSION_CONNECTIONS_MAX;
    return server_new(&server,
        &(ServerCallbacks){.context = api,
            .admit = admit_review,
            .handle = handle_review,
            .finished = review_finished},
        ret);
}
