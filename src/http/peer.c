/* The sender of a request: the client's certificate, and the host and page in its headers. */

#include "base/clock.h"
#include "base/log.h"
#include "base/origin.h"
#include "http/request-internal.h"

static bool is_allowed_host(const ServerOptions *options, Str host) {
    Str name = str_take(host, str_find(host, ':'));

    for (size_t i = 0; i < options->n_hosts; i++)
        if (str_eq_nocase(options->hosts[i], name))
            return true;
    return false;
}

/* DNS rebinding: a malicious page may resolve its own name to loopback and read berth's pages. With
 * TLS the certificate would not match that name. */
static bool is_misaddressed(const ServerOptions *options, const RequestHead *head) {
    return head->has_named_host && !options->tls && server_is_loopback(options->address) &&
           !is_allowed_host(options, head->host);
}

/* Whether Origin names this Host. Ignores the scheme, because a proxy may terminate TLS. */
static bool is_same_origin(const RequestHead *head) {
    Str origin = head->origin;
    bool is_tls;

    return origin_cut_scheme(&origin, &is_tls) && !str_is_empty(head->host) &&
           str_eq_nocase(origin, head->host);
}

/* Checks once per connection, and again when the client CA or CRL has changed or the certificate
 * has expired. */
static bool authenticate(const Server *server, Connection *connection) {
    TlsStore *tls = server->options.tls;
    int64_t until = atomic_load(&connection->allowed_until_sec);
    char problem[256] = "";
    uint64_t generation;

    if (server->options.n_client_names == 0)
        return true;
    if (!tls)
        return false;
    generation = tls_store_generation(tls);
    if (connection->is_checked && atomic_load(&connection->checked_generation) == generation &&
        (until == 0 || clock_wall_nsec() / NSEC_PER_SEC <= until))
        return until != 0;
    if (!tls_store_peer_is_allowed(tls, connection->transport.session, server->options.client_names,
            server->options.n_client_names, &until, problem, sizeof(problem)))
        log_debug("client is not authenticated", LOG_CSTR("reason", problem));
    connection->is_checked = true;
    atomic_store(&connection->checked_generation, generation);
    atomic_store(&connection->allowed_until_sec, until);
    return until != 0;
}

void connection_greet(Server *server, Connection *connection) {
    if (server->options.n_client_names == 0 || !authenticate(server, connection))
        return;
    connection->is_known = true;
    (void)connection_keep(server->connections, connection, /* is_unknown= */ false);
}

void request_describe(const Server *server, Connection *connection, RequestHead *head) {
    size_t mark = str_find(head->target, '?');
    Str path = str_take(head->target, mark);
    HttpRequest *http = &head->http;

    http->path = str_is_empty(path) ? STR("/") : path;
    http->query = mark == SIZE_MAX ? STR_NULL : str_skip(head->target, mark + 1);
    http->is_authenticated = authenticate(server, connection);
    http->is_misaddressed = is_misaddressed(&server->options, head);
    http->is_same_origin = is_same_origin(head);
}
