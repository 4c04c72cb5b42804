#pragma once

/*
 * Collector: collects the facts for `berth check --live` and `--offline`, one file per subject:
 *
 *     berth.c      running berths: /api/v1/status, /api/v1/sources, /readyz
 *     scheduler.c  kube-scheduler's configurations, from files and from the cluster
 *     cluster.c    the API server: version, clock, berth's own pods
 *     rights.c     permissions of an account, by access reviews
 *     published.c  objects that let new pods use what policies publish; the definition of
 *                  PlacementPolicies, and the webhook that checks them
 *     probe.c      whether the verbs answer at the address in the configuration
 *
 * Facts that could not be found out are marked as such; nothing is judged here. Only the probe's
 * empty filter, access reviews and the dry run of a policy are POSTed: nothing is changed.
 *
 * Functions return nothing: without memory the process ends (cli/terminal.h).
 */

#include "checkup/facts.h"
#include "cli/berth-client.h"
#include "kube/access.h"
#include "kube/blocking-client.h"
#include "kube/client.h"
#include "json/fields.h"

#define COLLECT_PODS_MAX 16u /* --scheduler-pod */
#define COLLECT_SEC 60       /* for all requests: many servers may be slow */
#define COLLECT_LATE "not requested: other replies took too long"
#define COLLECT_CONFIG_MAX ((size_t)4 * 1024 * 1024)

/* A configuration, read once: standard input cannot be read again. */
typedef struct ConfigText {
    Str origin; /* the file's name */
    Str text;
    Str error; /* not empty: it could not be read */
} ConfigText;

typedef struct CollectOptions {
    BerthAccess access; /* of every server; its own field server is not used */
    const char *servers[FACTS_BERTHS_MAX];
    size_t n_servers;
    const char *url; /* of berth's entry in configurations; NULL: detected */
    ConfigText configs[FACTS_CONFIGS_MAX];
    size_t n_configs;
    const char *scheduler_pods[COLLECT_PODS_MAX]; /* NAMESPACE/NAME */
    size_t n_scheduler_pods;
    const char *service_account; /* NAMESPACE/NAME of the account; NULL: detected */
    const char *user;            /* or a user's name */
    bool is_self;                /* or our own account, that of this pod */
    bool is_offline;
} CollectOptions;

/* One round of collecting. */
typedef struct Collector {
    const CollectOptions *options;
    Arena *arena;
    Client *client; /* of the API server; NULL: none was named */
    InstallationFacts *facts;
    int64_t give_up_nsec; /* monotonic; no request starts after it. 0: no deadline */

    /* Set by collect_pods() for collect_rights(). */
    Str service_account; /* "NAMESPACE/NAME" of berth's own pods, if they have one */

    /* Lines about how facts were found. */
    Buf *notes;
} Collector;

#define collect_note(collector, ...)                                                               \
    (buf_append((collector)->notes, STR("note: ")), buf_printf((collector)->notes, __VA_ARGS__))

void collect_berths(Collector *collector);
/* Fills in one berth, except for its metrics. */
void collect_berth(const BerthAccess *access, Arena *arena, BerthFact *fact);
void collect_cluster(Collector *collector); /* needs a client, as the next two do */
void collect_pods(Collector *collector);
void collect_rights(Collector *collector);    /* after berths and pods */
void collect_published(Collector *collector); /* after berths; needs a client */
/* After berths; works without a client, too. */
void collect_scheduler_configs(Collector *collector);
void collect_probes(Collector *collector); /* last */

/* Whether the time for requests is over. */
bool collect_is_late(const Collector *collector);

/* Sends @request to the API server. Returns false, with the reason in @error, without a reply. */
bool collect_ask(
    const Collector *collector, const BlockingRequest *request, BlockingReply *ret, char *error);

/* Sends a GET for @path; NULL, out of memory, ends the process. False, with the reason in @error,
 * unless the status is 200. */
bool collect_get(const Collector *collector, const char *path, BlockingReply *ret, char *error);
