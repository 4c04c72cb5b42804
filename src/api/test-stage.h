#pragma once

/* A Stage (history/test-stage.h) with the ApiContext that pages are made from. */

#include "api/context.h"
#include "history/pods-summary.h"
#include "history/test-stage.h"

typedef struct ApiStage {
    Stage base;
    Current current; /* with base.view in force */
    ApiContext api;  /* no decisions unless a test gives it some, which api_stage_done() frees */
} ApiStage;

static inline void api_stage_init(ApiStage *stage, const char *text) {
    *stage = (ApiStage){.current = CURRENT_INIT};
    stage_init(&stage->base, text);
    stage->current.view = stage->base.view;
    stage->api.current = &stage->current;
    stage->api.metrics = metrics_new();
    stage->api.recent_pods = recent_pods_new(
        &(RecentPodsOptions){.max = RECENT_PODS_MAX, .pending_within = PODS_SUMMARY_DECISIONS_MAX});
    assert_true(stage->api.metrics && stage->api.recent_pods);
}

static inline void api_stage_done(ApiStage *stage) {
    metrics_free(stage->api.metrics);
    recent_pods_free(stage->api.recent_pods);
    decisions_free(stage->api.decisions);
    stage_done(&stage->base);
}
