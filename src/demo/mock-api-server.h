#pragma once

/*
 * MockApiServer: what berth watches in scenarios: nodes and pods over HTTP, as Kubernetes' own
 * serves them.
 *
 *     GET  /api/v1/nodes, /api/v1/pods                         a list
 *     GET  …?watch=…&resourceVersion=V                         events, if V is the newest version
 *     GET  …?watch=…&sendInitialEvents=true                    422: not here, as before 1.32
 *     GET  /version
 *
 * A watch that wants to go on from an older version is answered 410, after which clients list
 * again. It serves the cluster that it was last shown; how one became the next is found by
 * cluster/delta.h.
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

/* The cluster as it is from now on; who watches is told. Housekeeping, too. 0, or -ENOMEM. */
int mock_api_server_show(MockApiServer *api, Snapshot *snapshot);

/* It goes away, and everybody is cut off; it comes back where it was, and knows what it was shown
 * meanwhile. 0, or a negative errno. */
void mock_api_server_stop(MockApiServer *api);
int mock_api_server_resume(MockApiServer *api);
bool mock_api_server_is_up(const MockApiServer *api);
