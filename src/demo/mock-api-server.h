#pragma once

/*
 * MockApiServer: the API server that berth watches in scenarios: nodes and pods, as Kubernetes
 * serves them.
 *
 *     GET  /api/v1/nodes, /api/v1/pods                         a list
 *     GET  …?watch=…&resourceVersion=V                         events, if V is the newest version
 *     GET  …?watch=…&sendInitialEvents=true                    422: not here, as before 1.32
 *     GET  /version
 *
 * A watch from an older version gets 410, after which clients list again.
 *
 * Functions are for one thread.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "cluster/snapshot.h"

typedef struct MockApiServer MockApiServer;

/* Listens. 0, or a negative errno. */
int mock_api_server_new(MockApiServer **ret);
MockApiServer *mock_api_server_free(MockApiServer *api); /* takes NULL */
DEFINE_CLEANUP(MockApiServer *, mock_api_server_free)

/* A file for --kubeconfig. */
#define MOCK_API_SERVER_KUBECONFIG_MAX 1024u
void mock_api_server_kubeconfig(
    const MockApiServer *api, char ret[static MOCK_API_SERVER_KUBECONFIG_MAX]);

/* Sets the cluster and sends events to watches. Also calls mock_server_tick(). 0, or -ENOMEM. */
int mock_api_server_show(MockApiServer *api, Snapshot *snapshot);

/* Stops and closes all connections; resumes on the same port with the latest cluster. 0, or a
 * negative errno. */
void mock_api_server_stop(MockApiServer *api);
int mock_api_server_resume(MockApiServer *api);
bool mock_api_server_is_up(const MockApiServer *api);
