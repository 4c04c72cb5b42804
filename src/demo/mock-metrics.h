#pragma once

/*
 * MockMetrics: stands in for whoever measures a real cluster.
 *
 * An HTTP server on loopback that answers what a Prometheus answers to instant queries, and what
 * metrics.k8s.io answers about nodes and pods, from the cluster that it was last shown (numbers:
 * demo/usage.h). So in the demo everything runs that runs beside a real Prometheus: the poller, the
 * join, the ages.
 *
 *     GET, POST  /api/v1/query?query=…
 *     GET        /apis/metrics.k8s.io/v1beta1/nodes, …/pods
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/snapshot.h"
#include "policy/program.h"

#define MOCK_METRICS_REPLY_MAX ((size_t)32 * 1024 * 1024)

typedef struct MockMetrics MockMetrics;

/* Listens. 0, or a negative errno. */
int mock_metrics_new(MockMetrics **ret);
MockMetrics *mock_metrics_free(MockMetrics *metrics); /* takes NULL */
DEFINE_CLEANUP(MockMetrics *, mock_metrics_free)

/* "http://127.0.0.1:39999" */
const char *mock_metrics_url(const MockMetrics *metrics);

/* The cluster as it is from now on. Housekeeping, too: to be called now and then. */
void mock_metrics_show(MockMetrics *metrics, Snapshot *snapshot);

/* The policies in force: their metrics say how series are to be labelled. Others than theirs can be
 * asked for as well. */
void mock_metrics_follow(MockMetrics *metrics, Program *rules);

/* It goes away, and who asks is refused; it comes back where it was. From the thread of
 * meter_show(). 0, or a negative errno. */
void mock_metrics_stop(MockMetrics *metrics);
int mock_metrics_resume(MockMetrics *metrics);

/* Somebody works on @node whom no scheduler knows: so much of its cpu is in use from now on, 0 to
 * 1, whatever its pods do. One node at a time. 0, or -EINVAL: no node has such a name. */
int mock_metrics_add_load(MockMetrics *metrics, Str node, double share);

/* What answering has used of the CPU so far: it is not berth's. */
int64_t mock_metrics_cpu_nsec(const MockMetrics *metrics);
