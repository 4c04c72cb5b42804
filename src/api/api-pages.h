#pragma once

/*
 * The pages under /api/v1 that need the whole ApiContext. docs/api.md has their fields, which are
 * stable. Each writes JSON and returns the status; errors are {"Error": text}.
 *
 * Threads: any.
 */

#include "api/context.h"
#include "live/gauge-state.h"
#include "live/measuring.h"

/* Limits for the buffer of each page, in bytes. */
#define POLICIES_PAGE_MAX ((size_t)16 * 1024 * 1024)
#define NODES_PAGE_MAX ((size_t)32 * 1024 * 1024)
#define LATENCY_PAGE_MAX ((size_t)8 * 1024 * 1024)
#define CHANGES_PAGE_MAX ((size_t)8 * 1024 * 1024)
#define WHAT_IF_PAGE_MAX ((size_t)32 * 1024 * 1024)
#define BUNDLE_PAGE_MAX ((size_t)64 * 1024 * 1024)

/* enough for 1,000 policies with names of 253 bytes */
#define STATUS_PAGE_MAX ((size_t)4 * 1024 * 1024)
#define SOURCES_PAGE_MAX ((size_t)8 * 1024 * 1024)

/* A page of decisions ends at `limit`, or before that at a number of bytes (`next` is where to
 * continue); one decision may exceed that number. */
#define DECISIONS_PAGE_MAX ((size_t)16 * 1024 * 1024)
#define DECISIONS_LIMIT_DEFAULT 100
#define DECISIONS_LIMIT_MAX 1000
#define DECISION_NODES_DEFAULT 1000
#define DECISION_NODES_MAX 10000

/* Limit of a body, JSON or YAML, in bytes. A form of another site cannot send these types without a
 * preflight request. */
#define WHAT_IF_BODY_MAX ((size_t)4 * 1024 * 1024)
bool what_if_takes(Str content_type);

/* Whether the listener's memory allows the body; sets its limit. Call it in admit(). False: @reply
 * has the reason. */
bool what_if_fits(const HttpRequest *request, HttpReply *reply);

/* Time for replaying decisions; those not reached are left out (whole: false). */
#define WHAT_IF_PAGE_SEC 5

unsigned policies_page(ApiContext *api, const HttpRequest *request, Buf *out);
unsigned nodes_page(ApiContext *api, const HttpRequest *request, Buf *out);
unsigned latency_page(ApiContext *api, const HttpRequest *request, Buf *out);
unsigned changes_page(ApiContext *api, const HttpRequest *request, Buf *out);
unsigned what_if_page(ApiContext *api, const HttpRequest *request, Buf *out); /* of its body */
unsigned bundle_page(ApiContext *api, const HttpRequest *request, Buf *out);  /* a .tar.gz */

/* The decisions that @query selects, newest first; if it selects a pod, also the pod's nomination
 * in @nominated (may be NULL). @decisions NULL: 404. */
unsigned decisions_list_page(
    Decisions *decisions, NominationLog *nominated, Str query, Arena *arena, Buf *out);

/* One decision with its nodes. 200, 400 or 404. */
unsigned decisions_one_page(Decisions *decisions, Str id, Str query, Arena *arena, Buf *out);

/* Version, settings and state of this berth, and the schedulers that call it. Also for `berth check
 * --live`, which compares replicas. Policies and cluster are from one view. */
typedef struct StatusState {
    const ApiContext *api;
    const HealthSummary *health;
    const View *view;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    int64_t wall_nsec;      /* since 1970 */
    int64_t now_nsec;       /* monotonic */
} StatusState;

/* Leaves @out empty when out of memory. */
void status_page(const StatusState *state, Buf *out);

/* @status: for the gauges of @view. Metrics over MEASURING_SHOWN_MAX are counted, not listed. */
void sources_page(const View *view, const MeasuringStatus *status, GaugeTime time, Buf *out);
