#pragma once

/* Records and replays decisions on a random cluster (replay/test-random-cluster.h). */

#include "history/recorder.h"
#include "replay/test-random-cluster.h"
#include "replay/what-if.h"

#define HISTORY_BYTES ((size_t)64 << 20)
#define DECIDE_STEPS 14u

static inline void decide(
    Decisions *decisions, RandomCluster *cluster, Verb verb, Str body, Arena *arena, Answer *ret) {
    int64_t now = random_cluster_now(cluster) + RANDOM_SEC / 7;

    random_request_answer(cluster->view, verb, now, body, arena, ret);
    decisions_note(decisions, cluster->view, verb, &ret->decision,
        (PastTimes){.at_nsec = now, .duration_nsec = 1000});
}

static inline void decide_bind(
    Decisions *decisions, RandomCluster *cluster, unsigned pod, Str node) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    BindArgs args = {
        .pod_namespace = STR("default"),
        .pod_name = arena_printf(arena, "new%u", pod),
        .pod_uid = arena_printf(arena, "new%u", pod),
        .node = node,
    };
    Answer answer;

    extender_bind_reply(&args, /* error= */ STR_NULL, arena, &answer);
    decisions_note(decisions, cluster->view, VERB_BIND, &answer.decision,
        (PastTimes){.at_nsec = random_cluster_now(cluster), .duration_nsec = -1});
}

/* The first node that passed, in @arena; empty: none. */
static inline Str first_passed(const Answer *filter, Arena *arena) {
    const FilterArgs *args = filter->decision.args;

    for (size_t i = 0; i < args->n; i++)
        if (filter->decision.verdicts[i] == VERDICT_PASS &&
            args->rows[i] < args->node_set.table->n_rows)
            return arena_copy(arena, args->node_set.table->names->names[args->rows[i]]);
    return STR_NULL;
}

/* Makes one attempt per step: filter, prioritize, and sometimes a bind. Returns the number of
 * filters and prioritizes. */
static inline size_t decide_steps(Decisions *decisions, RandomCluster *cluster, unsigned n_steps) {
    size_t n = 0;

    for (unsigned step = 0; step < n_steps; step++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        unsigned pod = step / 2;
        Answer filter, prioritize;
        Str body = random_cluster_request(cluster, pod, arena), node;

        decide(decisions, cluster, VERB_FILTER, body, arena, &filter);
        decide(decisions, cluster, VERB_PRIORITIZE, body, arena, &prioritize);
        node = first_passed(&filter, arena);
        if (step % 2 && !str_is_empty(node))
            decide_bind(decisions, cluster, pod, node);
        n += 2;
        random_cluster_step(cluster);
    }
    return n;
}

static inline void replay_all(
    Decisions *decisions, Program *program, size_t last, Arena *arena, WhatIfReport *ret) {
    Recording recording;

    assert_int_equal(decisions_record(decisions, 0, last, arena, &recording), 0);
    assert_int_equal(what_if_run(&recording, program, &(RestoreOptions){0}, NULL, arena, ret), 0);
    recording_done(&recording); /* names and texts live in the arena */
}

/* A policy that lets every node pass. */
static inline RandomPolicy open_policy(void) {
    return (RandomPolicy){.load_max = 1000, .free_milli = 0, .max_pods = 1000};
}

static inline void use_policy(RandomCluster *cluster, const RandomPolicy *policy) {
    program_unref(cluster->program);
    cluster->program = random_cluster_compile(policy);
    view_unref(cluster->view);
    cluster->view = NULL;
    random_cluster_publish(cluster, /* is_measured= */ true);
}
