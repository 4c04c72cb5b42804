#pragma once

/*
 * MockMetrics: Prometheus (instant queries), metrics.k8s.io and custom.metrics.k8s.io, on loopback.
 *
 * An HTTP server on 127.0.0.1. Values (demo/usage.h) describe the cluster of the last
 * mock_metrics_show().
 *
 *     GET, POST  /api/v1/query?query=…
 *     GET        /apis/metrics.k8s.io/v1beta1/nodes, …/pods
 *     GET        /apis/custom.metrics.k8s.io/v1beta1/nodes/…/NAME
 *
 * Threads: any.
 */

#include "cluster/snapshot.h"
#include "policy/program.h"

#define MOCK_METRICS_REPLY_MAX ((size_t)32 * 1024 * 1024)

typedef struct MockMetrics MockMetrics;

/* Listens. 0, or a negative errno. */
int mock_metrics_new(MockMetrics **ret);
MockMetrics *mock_metrics_free(MockMetrics *metrics); /* takes NULL */
DEFINE_CLEANUP(MockMetrics *, mock_metrics_free)

const char *mock_metrics_url(const MockMetrics *metrics); /* "http://127.0.0.1:39999" */

/* While @is_down, every request gets 503. */
void mock_metrics_set_down(MockMetrics *metrics, bool is_down);

/* Sets the cluster. Call it regularly, on one thread: it closes connections past a deadline. */
void mock_metrics_show(MockMetrics *metrics, Snapshot *snapshot);

/* Sets the policies in force: their metrics determine the labels of series. Other queries work,
 * too. True: the policies have changed. */
bool mock_metrics_follow(MockMetrics *metrics, Program *rules);

/* Sets the used share (0 to 1) of the cpu of @node, independent of its pods; for one node at a
 * time. */
void mock_metrics_add_load(MockMetrics *metrics, Str node, double share);
