#pragma once

/*
 * Gather: finds out what `berth check --live` and `--offline` judge, one file a subject:
 *
 *     gather-berth.c      berths that run: /api/v1/status, /api/v1/sources, /readyz
 *     gather-scheduler.c  kube-scheduler's configurations, from files and from the cluster
 *     gather-cluster.c    the API server: version, clock, berth's own pods
 *     gather-rights.c     what an account may do, by access reviews
 *     gather-probe.c      whether the verbs answer at the address that the configuration has
 *
 * Each asks, reads and fills in its part of the Facts; what cannot be found out is written down as
 * such. Nothing here judges, and nothing but the probe's empty filter and access reviews is ever
 * posted: nothing changes anything.
 *
 * All return 0, or -ENOMEM.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "checkup/facts.h"
#include "cli/berth-client.h"
#include "collect/berth-pages.h"
#include "kube/access.h"
#include "kube/blocking-client.h"
#include "kube/client.h"

#define GATHER_PODS_MAX 16u /* --scheduler-pod */
#define GATHER_SEC 60       /* for everything: of servers that take their time there may be many */
#define GATHER_LATE "not asked: other answers took too long"
#define GATHER_CONFIG_MAX ((size_t)4 * 1024 * 1024)

/* A configuration as it was read, once: standard input does not come twice. */
typedef struct ConfigText {
    Str origin; /* the file's name */
    Str text;
    Str error; /* not empty: it could not be read */
} ConfigText;

typedef struct GatherOptions {
    BerthAccess access; /* of every server; its own field server is not used */
    const char *servers[FACTS_BERTHS_MAX];
    size_t n_servers;
    const char *url; /* of berth's entry in configurations; NULL: found out */
    ConfigText configs[FACTS_CONFIGS_MAX];
    size_t n_configs;
    const char *scheduler_pods[GATHER_PODS_MAX]; /* NAMESPACE/NAME */
    size_t n_scheduler_pods;
    const char *service_account; /* NAMESPACE/NAME, whose rights are asked for; NULL: found out */
    const char *user;            /* the same, a user's */
    bool is_self;                /* ... or our own: we are the service account of this pod */
    bool is_offline;
} GatherOptions;

/* One round. */
typedef struct Gather {
    const GatherOptions *options;
    Arena *arena;
    Client *client; /* of the API server; NULL: none was named */
    Facts *facts;
    int64_t give_up_nsec; /* monotonic; what was not asked by then is not asked. 0: no end */

    /* What a later part needs of an earlier one, and the Facts have no use for. */
    BerthNeeds needs;    /* of all berths; the lease is the first one's */
    Str service_account; /* "NAMESPACE/NAME" of berth's own pods, if they have one */

    /* What a person should know about how it was found out; lines. */
    Buf *notes;
} Gather;

#define gather_note(gather, ...)                                                                   \
    (buf_append((gather)->notes, STR("note: ")), buf_printf((gather)->notes, __VA_ARGS__))

int gather_berths(Gather *gather);
int gather_cluster(Gather *gather); /* needs a client, as the next two do */
int gather_pods(Gather *gather);
int gather_rights(Gather *gather);            /* behind berths and pods */
int gather_scheduler_configs(Gather *gather); /* behind berths; works without a client, too */
int gather_probes(Gather *gather);            /* last */

/* Whether it is time to stop asking. */
bool gather_is_late(const Gather *gather);

/* A GET of the API server. As blocking_client_request(), but any status other than 200 is 1, too.
 */
int gather_get(Gather *gather, const char *path, BlockingReply *ret, char *error);
