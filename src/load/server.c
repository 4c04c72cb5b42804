#include "load/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/message.h"

void server_done(Server *server) {
    client_free(server->client);
    if (server->owns_access)
        access_free(server->access);
    free(server->name);
    *server = (Server){0};
}

bool server_connect(Server *server, ClientLoop *loop) {
    if (!server->client)
        server->client = client_new_in(loop, server->access);
    return server->client != NULL;
}

static int server_init(Server *server, const Source *source, char *error) {
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

int servers_new(const Sources *sources, Servers **ret, char *error) {
    _cleanup_(servers_freep) Servers *servers = calloc(1, sizeof(*servers));
    int r;

    if (!servers)
        return message_fail(-ENOMEM, error, "out of memory");
    if (sources->n > SOURCES_MAX)
        return message_fail(-E2BIG, error, "there are more than %u sources", SOURCES_MAX);
    for (; servers->n < sources->n; servers->n++) {
        r = server_init(&servers->items[servers->n], &sources->items[servers->n], error);
        if (r < 0) {
            server_done(&servers->items[servers->n]);
            return r;
        }
    }
    *ret = TAKE_PTR(servers);
    return 0;
}

Servers *servers_free(Servers *servers) {
    for (size_t i = 0; servers && i < servers->n; i++)
        server_done(&servers->items[i]);
    free(servers);
    return NULL;
}

Server *servers_find(Servers *servers, Str name) {
    name = source_meant(name);
    for (size_t i = 0; i < servers->n; i++)
        if (str_is(name, servers->items[i].name))
            return &servers->items[i];
    return NULL;
}
