#pragma once

/*
 * ViewFixture: a scene (policy/test-scene.h) and its view, as in the daemon. For tests of pages and
 * of the decision history.
 */

#include "base/test-assert.h"
#include "history/decisions.h"
#include "policy/test-scene.h"

#define FIXTURE_BUDGET ((size_t)64 * 1024 * 1024)        /* for an arena */
#define FIXTURE_HISTORY_BYTES ((size_t)64 * 1024 * 1024) /* more than any test needs */

typedef struct ViewFixture {
    TestScene scene;
    View *view;
    Decisions *decisions; /* NULL unless a test creates it */
    Arena *arena;
    int64_t now; /* for tests with a clock */
} ViewFixture;

static inline void fixture_init(ViewFixture *fixture, const char *text) {
    *fixture = (ViewFixture){0};
    scene_init_text(&fixture->scene, text);
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->scene.snapshot,
                                  .program = fixture->scene.program,
                                  .measurements = fixture->scene.measurements,
                                  .now_nsec = fixture->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL, &fixture->view),
        0);
    fixture->arena = arena_new(FIXTURE_BUDGET);
    assert_non_null(fixture->arena);
}

static inline void fixture_done(ViewFixture *fixture) {
    decisions_free(fixture->decisions);
    arena_free(fixture->arena);
    view_unref(fixture->view);
    scene_done(&fixture->scene);
}

/* Answers @body with @verb (not bind), and records the decision. */
static inline void fixture_request(
    Decisions *decisions, const View *view, Verb verb, Str body, PastTimes times) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    Answer answer;

    if (verb == VERB_FILTER)
        extender_filter(view, /* time= */ NULL, body, arena, &answer);
    else if (verb == VERB_PREEMPT)
        extender_preempt(view, /* time= */ NULL, body, arena, &answer);
    else
        extender_prioritize(view, /* time= */ NULL, body, arena, &answer);
    decisions_note(decisions, view, verb, &answer.decision, times);
}

/* Records a bind of default/@pod, whose UID is uid-@pod, to @node. An empty @error: success. */
static inline void fixture_bind(Decisions *decisions, const View *view, const char *pod,
    const char *node, const char *error, PastTimes times) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    BindArgs args = {.pod_name = str_from_c(pod),
        .pod_namespace = STR("default"),
        .pod_uid = arena_printf(arena, "uid-%s", pod),
        .node = str_from_c(node)};
    Answer answer;

    extender_bind_reply(&args, str_from_c(error), arena, &answer);
    decisions_note(decisions, view, VERB_BIND, &answer.decision, times);
}
