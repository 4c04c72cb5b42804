#pragma once

/*
 * A decision history without a daemon, and its pages as text.
 *
 * Policies and nodes are a scene's text (policy/test-scene.h); the clock advances by a second with
 * each decision, and the last ones were some minutes ago.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "dashboard/dashboard.h"
#include "history/pods-summary.h"
#include "policy/test-scene.h"

#define BYTES_MAX ((size_t)16 * 1024 * 1024)
#define BUDGET ((size_t)64 * 1024 * 1024)
#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

typedef struct DashboardFixture {
    TestScene scene;
    View *view;
    Current current; /* serves that view */
    Reloads reloads;
    ApiContext api;
    Arena *arena;
    int64_t now;
} DashboardFixture;

#define UPTIME_SEC 100 /* less than the uptime of any machine that has just built this */

static inline void fixture_init_text(DashboardFixture *fixture, const char *text) {
    *fixture = (DashboardFixture){
        .current = CURRENT_INIT, .reloads = RELOADS_INIT, .now = clock_wall_nsec() - AT(100)};
    scene_init_text(&fixture->scene, text);
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->scene.snapshot,
                                  .program = fixture->scene.program},
                         /* before= */ NULL, &fixture->view),
        0);
    fixture->current.view = fixture->view;
    fixture->arena = arena_new(BUDGET);
    fixture->api = (ApiContext){
        .current = &fixture->current,
        .reloads = &fixture->reloads,
        .decisions = decisions_new(1000, BYTES_MAX),
        .metrics = metrics_new(),
        .latency = latency_new(),
        .changes = changes_new(),
        .recent_pods = recent_pods_new(&(RecentPodsOptions){
            .max = RECENT_PODS_MAX, .pending_within = PODS_SUMMARY_DECISIONS_MAX}),
        .fixed = {.started_at_nsec = clock_monotonic_nsec() - AT(UPTIME_SEC),
            .deadline_nsec = AT(1)},
    };
}

static inline void fixture_done(DashboardFixture *fixture) {
    changes_free(fixture->api.changes);
    recent_pods_free(fixture->api.recent_pods);
    latency_free(fixture->api.latency);
    metrics_free(fixture->api.metrics);
    decisions_free(fixture->api.decisions);
    arena_free(fixture->arena);
    view_unref(fixture->view);
    scene_done(&fixture->scene);
}

static inline void note(DashboardFixture *fixture, Verb verb, const Decision *decision) {
    fixture->now += AT(1);
    metrics_note_decision(
        fixture->api.metrics, verb, fixture->view->program, decision, fixture->now);
    recent_pods_note(
        fixture->api.recent_pods, fixture->view, verb, decision, fixture->now, fixture->now);
    decisions_note(fixture->api.decisions, fixture->view, verb, decision,
        (PastTimes){.at_nsec = fixture->now, .duration_nsec = 1000});
    (void)decisions_find_reasons(fixture->api.decisions, fixture->view, NULL);
}

/* Decides about @pod and @nodes, JSON strings; the pod's owner is @job, unless that is NULL. */
static inline void decide_owned(
    DashboardFixture *fixture, Verb verb, const char *pod, const char *job, const char *nodes) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Str owner =
        job ? arena_printf(arena, "{\"kind\":\"Job\",\"name\":\"%s\",\"controller\":true}", job)
            : STR("");
    Str body = arena_printf(arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"team\",\"name\":\"%s\",\"uid\":\"uid-%s\","
        "\"ownerReferences\":[%.*s]}},\"NodeNames\":[%s]}",
        pod, pod, STR_FMT(owner), nodes);
    Answer answer;

    if (verb == VERB_FILTER)
        extender_filter(fixture->view, /* time= */ NULL, body, arena, &answer);
    else
        extender_prioritize(fixture->view, /* time= */ NULL, body, arena, &answer);
    if (answer.status != 200)
        print_error("%.*s\n", STR_FMT(body));
    assert_int_equal(answer.status, 200);
    note(fixture, verb, &answer.decision);
}

static inline void decide(
    DashboardFixture *fixture, Verb verb, const char *pod, const char *nodes) {
    decide_owned(fixture, verb, pod, /* job= */ NULL, nodes);
}

static inline void bind(DashboardFixture *fixture, const char *pod, const char *node) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    BindArgs args = {.pod_name = str_from_c(pod),
        .pod_namespace = STR("team"),
        .pod_uid = arena_printf(arena, "uid-%s", pod),
        .node = str_from_c(node)};
    Answer answer;

    extender_bind_reply(&args, STR_NULL, arena, &answer);
    note(fixture, VERB_BIND, &answer.decision);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The page, NUL-terminated, in the fixture's arena. */
static inline const char *get(
    DashboardFixture *fixture, const char *path, const char *query, unsigned want) {
    const HttpRequest request = {
        .method = STR("GET"),
        .path = str_from_c(path),
        .query = str_from_c(query),
        .arena = fixture->arena,
    };
    HttpReply reply = {0};

    assert_true(dashboard_hook.has(request.path));
    dashboard_hook.show(&fixture->api, &request, &reply);
    if (reply.status != want)
        print_error("%s?%s: %u\n", path, query, reply.status);
    assert_int_equal(reply.status, want);
    assert_int_equal(reply.n_slices, 1);
    return arena_copy(fixture->arena, reply.slices[0]).ptr;
}

/* Whether @part is in @page; prints the page if that differs from @should. */
static inline bool page_has(const char *page, const char *part, bool should) {
    if (!page)
        abort(); /* no memory */
    if ((strstr(page, part) != NULL) == should)
        return should;
    (void)fprintf(stderr, "%s\"%s\" in\n%s\n", should ? "no " : "", part, page);
    return !should;
}

static inline void assert_has(const char *page, const char *part) {
    assert_true(page_has(page, part, /* should= */ true));
}

static inline void assert_has_not(const char *page, const char *part) {
    assert_false(page_has(page, part, /* should= */ false));
}
