/* The listener for AdmissionReviews: who may send them, and its limits. */

#include "api/admission-listener.h"

#include "api/routes.h"
#include "live/admission-review.h"

#define ADMISSION_HEADER_MAX ((size_t)16 * 1024)

/* As that of page workers: decisions go first when processors are busy. */
#define ADMISSION_NICE 10

static const PageAccess access = {.has_reviews = true};

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    const Route *route = route_find(context, request);

    reply->tag = route_tag(route);
    if (!request->is_authenticated) {
        reply_error(request, reply, 403,
            STR("berth: a client certificate with an allowed name is required (--client-ca, "
                "--admission-client-name)"));
        return false;
    }
    return route_admit(route, request, &access, reply);
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    route_reply(route_find(context, request), context, request, &access, reply);
}

static void finished(void *context, const HttpOutcome *outcome) {
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
    server.nice = ADMISSION_NICE;
    server.header_max = ADMISSION_HEADER_MAX;
    server.body_max = ADMISSION_BODY_MAX;
    server.memory_max = ADMISSION_MEMORY_MAX;
    server.connections_max = server.connections_per_address_max = ADMISSION_CONNECTIONS_MAX;
    return server_new(&server,
        &(ServerCallbacks){.context = api, .admit = admit, .handle = handle, .finished = finished},
        ret);
}
