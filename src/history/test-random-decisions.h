#pragma once

/* A random world (replay/test-world.h) plays, and what is decided is remembered and replayed. */

#include "history/recorder.h"
#include "replay/test-world.h"
#include "replay/what-if.h"

#define PLAY_ROOM ((size_t)64 << 20)
#define PLAY_STEPS 14u

static inline void play_note(
    Decisions *decisions, World *world, Verb verb, Str body, Arena *arena, Answer *ret) {
    int64_t now = world_now(world) + WORLD_SEC / 7;

    world_ask(world->view, verb, now, body, arena, ret);
    decisions_note(decisions, world->view, verb, &ret->decision,
        (PastTimes){.at_nsec = now, .duration_nsec = 1000});
}

static inline void play_bind(Decisions *decisions, World *world, unsigned pod, Str node) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    BindArgs args = {
        .pod_namespace = STR("default"),
        .pod_name = arena_printf(arena, "new%u", pod),
        .pod_uid = arena_printf(arena, "new%u", pod),
        .node = node,
    };
    Answer answer;

    extender_bind_reply(&args, /* error= */ STR_NULL, arena, &answer);
    decisions_note(decisions, world->view, VERB_BIND, &answer.decision,
        (PastTimes){.at_nsec = world_now(world), .duration_nsec = -1});
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

/* An attempt at each step: filter, prioritize, and sometimes a bind. */
static inline size_t play_steps(Decisions *decisions, World *world, unsigned n_steps) {
    size_t n = 0;

    for (unsigned step = 0; step < n_steps; step++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        unsigned pod = step / 2;
        Answer filter, prioritize;
        Str body = world_request(world, pod, arena), node;

        play_note(decisions, world, VERB_FILTER, body, arena, &filter);
        play_note(decisions, world, VERB_PRIORITIZE, body, arena, &prioritize);
        node = first_passed(&filter, arena);
        if (step % 2 && !str_is_empty(node))
            play_bind(decisions, world, pod, node);
        n += 2;
        world_step(world);
    }
    return n;
}

static inline void play_again(
    Decisions *decisions, Program *program, size_t last, Arena *arena, WhatIfReport *ret) {
    Recording recording;

    assert_int_equal(decisions_record(decisions, last, arena, &recording), 0);
    assert_int_equal(what_if_run(&recording, program, NULL, arena, ret), 0);
    recording_done(&recording); /* names and texts live in the arena */
}

/* One that lets everything pass. */
static inline WorldPolicy open_policy(void) {
    return (WorldPolicy){.load_max = 1000, .free_milli = 0, .max_pods = 1000};
}

static inline void use_policy(World *world, const WorldPolicy *policy) {
    program_unref(world->program);
    world->program = world_compile(policy);
    view_unref(world->view);
    world->view = NULL;
    world_publish(world, /* is_measured= */ true);
}
