#pragma once

/* A ViewFixture (history/test-view-fixture.h) with the ApiContext for pages. */

#include "api/context.h"
#include "history/pods-summary.h"
#include "history/test-view-fixture.h"

typedef struct ApiFixture {
    ViewFixture base;
    Current current; /* serves base.view */
    ApiContext api; /* without decisions unless a test makes some, which api_fixture_done() frees */
} ApiFixture;

static inline void api_fixture_init(ApiFixture *fixture, const char *text) {
    *fixture = (ApiFixture){.current = CURRENT_INIT};
    fixture_init(&fixture->base, text);
    fixture->current.view = fixture->base.view;
    fixture->api.current = &fixture->current;
    fixture->api.metrics = metrics_new();
    fixture->api.changes = changes_new();
    fixture->api.latency = latency_new();
    fixture->api.recent_pods = recent_pods_new(
        &(RecentPodsOptions){.max = RECENT_PODS_MAX, .pending_within = PODS_SUMMARY_DECISIONS_MAX});
    assert_true(fixture->api.metrics && fixture->api.recent_pods && fixture->api.changes &&
                fixture->api.latency);
}

static inline void api_fixture_done(ApiFixture *fixture) {
    metrics_free(fixture->api.metrics);
    changes_free(fixture->api.changes);
    latency_free(fixture->api.latency);
    recent_pods_free(fixture->api.recent_pods);
    decisions_free(fixture->api.decisions);
    fixture_done(&fixture->base);
}
