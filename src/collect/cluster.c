/* The API server: its version and clock, and berth's own pods. */

#include <stdio.h>

#include "base/clock.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "collect/scheduler-pod.h"

bool collect_is_late(const Collector *collector) {
    return collector->give_up_nsec != 0 && clock_monotonic_nsec() > collector->give_up_nsec;
}

bool collect_ask(
    const Collector *collector, const BlockingRequest *request, BlockingReply *ret, char *error) {
    return terminal_check(blocking_client_request_with(
                              collector->client, request, collector->arena, ret, error),
               "the reply of the API server", collector->arena) == 0;
}

bool collect_get(const Collector *collector, const char *path, BlockingReply *ret, char *error) {
    if (collect_is_late(collector)) {
        (void)snprintf(error, BLOCKING_CLIENT_ERROR_MAX, "%s", COLLECT_LATE);
        return false;
    }
    if (!path)
        terminal_out_of_memory("the facts about the cluster", NULL);
    if (!collect_ask(collector, &(BlockingRequest){.path = path}, ret, error))
        return false;
    if (ret->status != 200)
        blocking_client_explain(ret, collector->arena, error);
    return ret->status == 200;
}

void collect_cluster(Collector *collector) {
    static const JsonField fields[] = {{"gitVersion", JSON_FIELD_TEXT, 0}};
    InstallationFacts *facts = collector->facts;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply = {0};
    int64_t before = clock_wall_nsec(), after;
    bool is_there = collect_get(collector, "/version", &reply, error);

    after = clock_wall_nsec();
    facts->was_cluster_asked = true;
    if (is_there) {
        is_there =
            JSON_READ_DOCUMENT(reply.body, collector->arena, fields, &facts->cluster_version);
        (void)snprintf(error, sizeof(error), "the server at /version is no API server");
    }
    if (!is_there || str_is_empty(facts->cluster_version)) {
        facts->cluster_version = STR_NULL;
        facts->cluster_error = arena_copy(collector->arena, str_from_c(error));
        return;
    }
    facts->is_skew_known = reply.date_sec != 0;
    /* The server made its date in between, and cut it to a whole second. */
    if (facts->is_skew_known)
        facts->cluster_skew_sec = (double)reply.date_sec + 0.5 -
                                  ((double)before + (double)(after - before) / 2) / NSEC_PER_SEC;
}

/* Notes the account of berth's pods, if all have the same. */
static void note_account(Collector *collector, const SchedulerPod *pods, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (!str_eq(pods[i].service_account, pods[0].service_account) ||
            !str_eq(pods[i].pod.namespace, pods[0].pod.namespace))
            return;
    if (n == 0 || str_is_empty(pods[0].service_account))
        return;
    collector->service_account = arena_printf(collector->arena, "%.*s/%.*s",
        STR_FMT(pods[0].pod.namespace), STR_FMT(pods[0].service_account));
}

/* Everything installed with berth has its label, including kube-schedulers and the pod of `helm
 * test`. A container's arguments identify it; without arguments it is unknown. Returns how many are
 * left. */
static size_t keep_berths(SchedulerPod *pods, size_t n) {
    bool is_known = false;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        is_known |= pods[i].has_berth;
    for (size_t i = 0; i < n; i++)
        if (!pods[i].is_ending && (pods[i].has_berth || !is_known))
            pods[kept++] = pods[i];
    return kept;
}

void collect_pods(Collector *collector) {
    static const char path[] =
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dberth&limit=64";
    SchedulerPod *pods = NULL;
    InstallationFacts *facts = collector->facts;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    size_t n = 0;

    facts->pods = ARENA_ARRAY(collector->arena, PodFact, FACTS_PODS_MAX);
    if (!collect_get(collector, path, &reply, error)) {
        collect_note(collector, "berth's pods cannot be listed: %s\n", error);
        return;
    }
    if (!scheduler_pods_read(reply.body, collector->arena, &pods, &n)) {
        collect_note(collector, "berth's pods cannot be listed: this is no list of pods\n");
        return;
    }
    n = keep_berths(pods, n);
    for (size_t i = 0; i < n; i++)
        facts->pods[facts->n_pods++] = pods[i].pod;
    facts->are_pods_known = true;
    note_account(collector, pods, n);
}
