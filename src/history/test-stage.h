#pragma once

/*
 * Stage: a scene (policy/test-scene.h) and the view of it, as the daemon has them in force: what
 * tests of pages, and of what is remembered, begin with.
 */

#include "base/test-assert.h"
#include "history/decisions.h"
#include "policy/test-scene.h"

#define STAGE_BUDGET ((size_t)64 * 1024 * 1024) /* of an arena */
#define STAGE_ROOM ((size_t)64 * 1024 * 1024)   /* for decisions, where their bytes do not matter */

typedef struct Stage {
    TestScene scene;
    View *view;
    Decisions *decisions; /* NULL unless a test gives it some */
    Arena *arena;
    int64_t now; /* for tests in which time goes by */
} Stage;

static inline void stage_init(Stage *stage, const char *text) {
    *stage = (Stage){0};
    scene_init_text(&stage->scene, text);
    assert_int_equal(view_new(&(ViewParts){.snapshot = stage->scene.snapshot,
                                  .program = stage->scene.program,
                                  .measurements = stage->scene.measurements,
                                  .now_nsec = stage->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL, &stage->view),
        0);
    stage->arena = arena_new(STAGE_BUDGET);
    assert_non_null(stage->arena);
}

static inline void stage_done(Stage *stage) {
    decisions_free(stage->decisions);
    arena_free(stage->arena);
    view_unref(stage->view);
    scene_done(&stage->scene);
}

/* Has @body answered as @verb, any but bind, and remembered. */
static inline void stage_ask(
    Decisions *decisions, const View *view, Verb verb, Str body, PastTimes times) {
    _cleanup_(arena_freep) Arena *arena = arena_new(STAGE_BUDGET);
    Answer answer;

    if (verb == VERB_FILTER)
        extender_filter(view, /* time= */ NULL, body, arena, &answer);
    else if (verb == VERB_PREEMPT)
        extender_preempt(view, /* time= */ NULL, body, arena, &answer);
    else
        extender_prioritize(view, /* time= */ NULL, body, arena, &answer);
    decisions_note(decisions, view, verb, &answer.decision, times);
}

/* A bind of default/@pod, whose UID is uid-@pod, to @node; an empty @error: it went well. */
static inline void stage_bind(Decisions *decisions, const View *view, const char *pod,
    const char *node, const char *error, PastTimes times) {
    _cleanup_(arena_freep) Arena *arena = arena_new(STAGE_BUDGET);
    BindArgs args = {.pod_name = str_from_c(pod),
        .pod_namespace = STR("default"),
        .pod_uid = arena_printf(arena, "uid-%s", pod),
        .node = str_from_c(node)};
    Answer answer;

    extender_bind_reply(&args, str_from_c(error), arena, &answer);
    decisions_note(decisions, view, VERB_BIND, &answer.decision, times);
}
