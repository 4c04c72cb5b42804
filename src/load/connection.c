#include "load/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/message.h"

void source_connection_done(SourceConnection *server) {
    client_free(server->client);
    if (server->owns_access)
        access_free(server->access);
    free(server->name);
    *server = (SourceConnection){0};
}

bool source_connection_open(SourceConnection *server, ClientLoop *loop) {
    if (!server->client)
        server->client = client_new_in(loop, server->access);
    return server->client != NULL;
}

static int source_connection_init(
    SourceConnection *server, const MetricSource *source, char *error) {
    int r;

    server->name = strndup(source->name.len > 0 ? source->name.ptr : "", source->name.len);
    if (!server->name)
        return message_fail(-ENOMEM, error, "out of memory");
    r = source_access(source, &server->access, error);
    if (r < 0)
        return r;
    server->owns_access = true;
    return 0;
}

int source_connections_new(const MetricSources *sources, SourceConnections **ret, char *error) {
    _cleanup_(source_connections_freep) SourceConnections *connections =
        calloc(1, sizeof(*connections));
    int r;

    if (!connections)
        return message_fail(-ENOMEM, error, "out of memory");
    if (sources->n > SOURCES_MAX)
        return message_fail(-E2BIG, error, "there are more than %u sources", SOURCES_MAX);
    for (; connections->n < sources->n; connections->n++) {
        r = source_connection_init(
            &connections->items[connections->n], &sources->items[connections->n], error);
        if (r < 0) {
            source_connection_done(&connections->items[connections->n]);
            return r;
        }
    }
    *ret = TAKE_PTR(connections);
    return 0;
}

SourceConnections *source_connections_free(SourceConnections *connections) {
    for (size_t i = 0; connections && i < connections->n; i++)
        source_connection_done(&connections->items[i]);
    free(connections);
    return NULL;
}

SourceConnection *source_connections_find(SourceConnections *connections, Str name) {
    name = source_meant(name);
    for (size_t i = 0; i < connections->n; i++)
        if (str_is(name, connections->items[i].name))
            return &connections->items[i];
    return NULL;
}
