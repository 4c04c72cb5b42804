/* Fetches the inputs of a filter decision and replays it. */

#include "commands/explain-last-replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/diag.h"
#include "policy/program.h"
#include "replay/replayed-decision.h"

/* A cluster of 5,000 nodes with all their pods takes a busy berth some seconds. */
#define FETCH_TIMEOUT_SEC 60

void replayed_filter_done(ReplayedFilter *replayed) {
    bundle_case_done(&replayed->found);
}

/* All of these return 0, also when they have found an obstacle; or -ENOMEM. */

static int refuse(ReplayedFilter *replayed, const char *why) {
    (void)snprintf(replayed->obstacle, sizeof(replayed->obstacle), "%s", why);
    return 0;
}

static bool is_refused(const ReplayedFilter *replayed) {
    return replayed->obstacle[0] != '\0';
}

static int fetch(const BerthAccess *given, int64_t id, Arena *arena, ReplayedFilter *replayed) {
    BerthAccess patient = *given, *access = &patient;
    Str path = arena_printf(arena, "/api/v1/bundle?id=%" PRId64, id);
    char error[BUNDLE_ERROR_MAX];
    BlockingReply reply;
    int r;

    patient.timeout_sec = FETCH_TIMEOUT_SEC;
    r = path.ptr ? berth_client_request(access, path, STR_NULL, arena, &reply, replayed->obstacle)
                 : -ENOMEM;

    if (r != 0)
        return r < 0 ? r : 0;
    if (reply.status == 400) /* of one that is older */
        return refuse(replayed, "that berth is too old to return a single decision: update it");
    if (reply.status != 200) {
        berth_client_explain(access, &reply, arena, replayed->obstacle);
        return 0;
    }
    r = bundle_read(reply.body, &replayed->found.bundle, error);
    return r > 0 ? refuse(replayed, error) : r;
}

static const RecordedDecision *find_decision(ReplayedFilter *replayed, int64_t id) {
    const Recording *recording = &replayed->found.bundle.recording;
    const RecordedDecision *decision = recording->decisions;
    const char *obstacle;

    if (recording->n != 1 || decision->id != (uint64_t)id) {
        (void)refuse(replayed, "it does not reply like a berth");
        return NULL;
    }
    obstacle = recorded_obstacle(decision);
    if (obstacle)
        (void)refuse(replayed, obstacle);
    return decision;
}

/* The policies of then: what others would say of it is another options. */
static int compile(
    ReplayedFilter *replayed, const RecordedDecision *decision, Arena *arena, Program **ret) {
    const Bundle *bundle = &replayed->found.bundle;
    DiagList diags = DIAG_LIST_IN(arena);
    int r = program_compile(bundle->policies, bundle->n_policies, &diags, ret);

    if (r < 0)
        return r;
    if (r > 0)
        return refuse(replayed, "this berth cannot read the policies of that one");
    if (!digest_equal((*ret)->digest, decision->policy))
        return refuse(replayed,
            "it was decided by other policies than those in force now, which are no longer kept");
    return 0;
}

/* The known candidates, in an order that gives the same ranks; and @also. */
static const Str *list_nodes(const Recording *recording, const RecordedDecision *decision,
    const char *also, Arena *arena, size_t *ret_n) {
    const RecordedNode **order = recorded_order(decision, arena);
    Str *names = ARENA_RAW(arena, Str, decision->n_nodes + 1);
    size_t n = 0;

    if (!order || !names)
        return NULL;
    for (size_t i = 0; i < decision->n_nodes; i++) {
        Str name = recording->names[order[i]->name];

        if (also && str_is(name, also))
            also = NULL;
        if (order[i]->kind != RECORDED_UNKNOWN)
            names[n++] = name;
    }
    if (also)
        names[n++] = str_from_c(also);
    *ret_n = n;
    return names;
}

int replayed_filter_fetch(const BerthAccess *access, int64_t id, const char *node,
    const Zones *zones, Arena *arena, ReplayedFilter *ret) {
    _cleanup_(program_unrefp) Program *program = NULL;
    const RecordedDecision *decision;
    const Str *nodes;
    size_t n_nodes;
    int r;

    *ret = (ReplayedFilter){0};
    r = fetch(access, id, arena, ret);
    if (r < 0 || is_refused(ret))
        return r;
    decision = find_decision(ret, id);
    if (is_refused(ret))
        return 0;
    r = compile(ret, decision, arena, &program);
    if (r < 0 || is_refused(ret))
        return r;
    nodes = list_nodes(&ret->found.bundle.recording, decision, node, arena, &n_nodes);
    if (!nodes)
        return -ENOMEM;
    r = bundle_case_explain(&ret->found, decision, program, nodes, n_nodes, zones, arena);
    return r > 0 ? refuse(ret, replayed_decision_error(r)) : r;
}
