#include "live/live.h"
#include "live/current.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/record.h"
#include "history/parked.h"
#include "history/passes.h"
#include "kube/access.h"
#include "live/bypass.h"
#include "live/notices.h"
#include "live/verb-reply.h"
#include "live/wakeup.h"

/* Judging one pod on one node, and the annotations of its policies. */
#define JOB_BUDGET ((size_t)64 * 1024 * 1024)

struct Live {
    Current *current; /* the daemon's */
    LiveCallbacks callbacks;
    ClusterWatcher *watcher;
    Passes *passes; /* NULL: it may not bind */
    Bypass *bypass;
    _Atomic uint64_t n_bind_refused;
    Parked *parked;                           /* NULL, and ... */
    Wakeup *wakeup;                           /* ... NULL: it may not touch nodes */
    Announcements *announcements;             /* NULL: no Events are written */
    const char *lease_namespace, *lease_name; /* as in WatcherOptions */
};

/* A bind under way: what was asked, by whom, and what the watcher needs for it. */
typedef struct Bind {
    BindJob job; /* first: the watcher hands it back */
    Live *live;
    Arena *arena; /* owns this and all texts */
    HttpPending *pending;
    const Pod *pod; /* a reference */
    BindArgs args;
    const char *error; /* how it ended; NULL: fine */
} Bind;

bool live_is_wanted(const LiveOptions *options) {
    return options->kubeconfig || options->is_in_cluster;
}

/* --- what the watcher tells ----------------------------------------------------------- */

static bool publish(void *context, Snapshot *snapshot) {
    Live *live = context;

    if (current_set_snapshot(live->current, snapshot) < 0) {
        log_error("out of memory: the cluster as it was stays in force");
        return false;
    }
    bypass_note_synced(live->bypass, clock_monotonic_nsec());
    return true;
}

/* A pod got its node: it waits no more. Were we asked? */
static void pod_bound(void *context, const Pod *pod) {
    Live *live = context;

    if (live->parked)
        parked_note_bound(live->parked, pod->uid);
    if (!bypass_note_bound(live->bypass, pod, clock_monotonic_nsec()))
        return;
    log_warn("a pod was bound without asking berth",
        LOG_STR("namespace", pod->namespace),
        LOG_STR("pod", pod->name),
        LOG_STR("node", pod->node_name),
        LOG_STR("scheduler", pod->scheduler_name));
    if (live->announcements)
        announcements_note_bypassed(live->announcements, pod, clock_monotonic_nsec());
}

static void take_notice(void *context, const WatcherNotice *notice) {
    (void)context;
    notice_log(notice);
}

/* --- filter ---------------------------------------------------------------------------- */

/* The row of node @i of the request in @view: in whole-node mode the request's rows are those
 * of its own table. */
static uint32_t row_in(const View *view, const FilterArgs *args, size_t i) {
    if (args->has_names)
        return args->rows[i];
    return table_find(view->table, args->node_set.table->names->names[args->rows[i]]);
}

/* Which nodes passed, for the bind that may follow. */
static void keep_pass(Live *live, const View *view, const Decision *decision) {
    const FilterArgs *args = decision->args;
    Pass *pass = pass_new(&args->pod, view->table->names);

    for (size_t i = 0; pass && i < args->n; i++)
        if (decision->verdicts[i] == VERDICT_PASS)
            pass_add(pass, row_in(view, args, i));
    passes_keep(live->passes, pass, clock_monotonic_nsec());
}

void live_begin_filter(Live *live) {
    if (live->parked)
        parked_begin_filter(live->parked);
}

void live_end_filter(Live *live) {
    if (live->parked)
        parked_end_filter(live->parked);
}

/* Who is asked wants to bind soon: the lease is mostly there before the bind comes. */
void live_note_filter(Live *live, const View *view, const Decision *decision) {
    if (!decision->args || decision->summary.n_in == 0)
        return;
    watcher_note_asked(live->watcher);
    bypass_note_asked(live->bypass, &decision->args->pod, clock_monotonic_nsec());
    if (live->parked)
        parked_note_filter(live->parked,
            decision->args->pod.uid,
            /* is_rejected= */ decision->summary.n_out < decision->summary.n_in,
            clock_monotonic_nsec());
    if (live->passes)
        keep_pass(live, view, decision);
    if (live->announcements)
        announcements_note_filter(live->announcements, view, decision, clock_monotonic_nsec());
}

/* --- bind ------------------------------------------------------------------------------- */

static Bind *bind_free(Bind *bind) {
    if (!bind)
        return NULL;
    pod_record_unref(bind->pod);
    arena_free(bind->arena);
    return NULL;
}
DEFINE_CLEANUP(Bind *, bind_free)

/* Everything it needs, copied: the request's memory is not ours while it waits. */
static Bind *bind_new(Live *live, const BindArgs *args) {
    Arena *arena = arena_new(JOB_BUDGET);
    Bind *bind = arena ? ARENA_NEW(arena, Bind) : NULL;

    if (!bind) {
        arena_free(arena);
        return NULL;
    }
    bind->live = live;
    bind->arena = arena;
    bind->args = (BindArgs){
        .pod_name = arena_copy(arena, args->pod_name),
        .pod_namespace = arena_copy(arena, args->pod_namespace),
        .pod_uid = arena_copy(arena, args->pod_uid),
        .node = arena_copy(arena, args->node),
    };
    if (arena_has_failed(arena))
        return bind_free(bind);
    return bind;
}

/* Why a bind is not believed; NULL: it is, and *ret_pod is the pod as the filter saw it. */
static const char *find_pass(
    Live *live, const View *view, const BindArgs *args, const Pod **ret_pod) {
    if (!live->passes)
        return "berth: it was not started with --bind; remove bindVerb from the extender's "
               "configuration, or add the flag";
    switch (passes_find(live->passes,
        args->pod_uid,
        args->node,
        view->table->names,
        clock_monotonic_nsec(),
        ret_pod)) {
    case 0:
        return NULL;
    case PASSES_E_UNKNOWN:
        return "berth: refused: no filter has asked about this pod; it will be asked again";
    case PASSES_E_NODE:
        return "berth: refused: this node did not pass the filter for this pod";
    default:
        return "berth: refused: the filter was too long ago (--bind-window)";
    }
}

/* On the watcher's thread, with everything bound before this in the view. */
static bool judge_bind(BindJob *job, Snapshot *snapshot, char *error) {
    Bind *bind = (Bind *)job;
    _cleanup_(view_unrefp) View *shown = current_view(bind->live->current), *view = NULL;
    RequestTime time = {.now_nsec = clock_wall_nsec()};
    /* The view in force may not have the binds of this very turn yet. */
    ViewParts parts = {
        .snapshot = snapshot,
        .program = shown->program,
        .zones = shown->zones,
        .exemptions = shown->exemptions,
        .measurements = shown->measurements,
        .now_nsec = time.now_nsec,
        .uptime_nsec = clock_monotonic_nsec(),
    };
    Str reason = STR("out of memory");

    if (view_new(&parts, shown, &view) == 0 &&
        extender_may_bind(
            view, &time, bind->pod, bind->args.node, bind->arena, &job->annotations, &reason))
        return true;
    atomic_fetch_add(&bind->live->n_bind_refused, 1);
    (void)snprintf(error,
        WATCHER_ERROR_MAX,
        "berth: refused: %.*s would not take the pod any more: %.*s",
        STR_FMT(bind->args.node),
        STR_FMT(reason));
    return false;
}

static void reply_of(
    const BindArgs *args, const char *error, const Live *live, Arena *arena, HttpReply *reply) {
    Answer answer;

    extender_bind_reply(args, error ? str_from_c(error) : STR_NULL, arena, &answer);
    live->callbacks.bound(live->callbacks.context, &answer.decision);
    reply_with(reply, &answer);
}

static void fill_reply(void *context, const HttpRequest *request, HttpReply *reply) {
    const Bind *bind = context;

    reply_of(&bind->args, bind->error, bind->live, request->arena, reply);
}

static void finish_bind(BindJob *job, const char *error) {
    Bind *bind = (Bind *)job;

    bind->error = error;
    (void)server_answer(bind->pending, fill_reply, bind);
    bind_free(bind);
}

/* Hands the bind to the watcher; what is wrong otherwise. */
static const char *start_bind(
    Live *live, const HttpRequest *request, int tag, const BindArgs *args, const Pod *pod) {
    _cleanup_(bind_freep) Bind *bind = bind_new(live, args);
    int r;

    if (!bind)
        return "berth: out of memory";
    bind->pod = pod_record_ref(pod);
    bind->job = (BindJob){
        .namespace = bind->args.pod_namespace,
        .name = bind->args.pod_name,
        .uid = bind->args.pod_uid,
        .node = bind->args.node,
        .pod = bind->pod,
        .judge = judge_bind,
        .done = finish_bind,
    };
    bind->pending = server_defer(request, tag);
    if (!bind->pending)
        return "berth: too many binds are under way; try again";
    r = watcher_bind(live->watcher, &bind->job);
    if (r < 0) { /* answered from here, but the reply is deferred already */
        finish_bind(&TAKE_PTR(bind)->job,
            r == -EBUSY ? "berth: too many binds are under way; try again"
                        : "berth: it is shutting down");
        return NULL;
    }
    (void)TAKE_PTR(bind);
    return NULL;
}

void live_bind(Live *live, const HttpRequest *request, int tag, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(live->current);
    _cleanup_(pod_record_unrefp) const Pod *pod = NULL;
    const char *error;
    BindArgs args;
    Answer refusal;

    if (!extender_bind_request(request->body, request->arena, &args, &refusal)) {
        live->callbacks.bound(live->callbacks.context, &refusal.decision);
        reply_with(reply, &refusal);
        return;
    }
    error = find_pass(live, view, &args, &pod);
    if (error)
        atomic_fetch_add(&live->n_bind_refused, 1);
    else
        error = start_bind(live, request, tag, &args, pod);
    if (error)
        reply_of(&args, error, live, request->arena, reply);
}

/* --- wake-up ------------------------------------------------------------------------------ */

static void touch(void *context, Str node) {
    Live *live = context;

    log_info("a node would pass now, marking it for kube-scheduler", LOG_STR("node", node));
    watcher_mark_node(live->watcher, node);
}

void live_note_view(Live *live, const View *before, const View *after) {
    if (live->wakeup)
        wakeup_note_view(live->wakeup, before, after, clock_monotonic_nsec(), touch, live);
}

void live_tick(Live *live, int64_t now_nsec) {
    if (live->wakeup)
        wakeup_tick(live->wakeup, now_nsec, touch, live);
}

/* --- events ------------------------------------------------------------------------------------
 */

static void announce(void *context, const PodEvent *announcement) {
    Live *live = context;

    watcher_post_event(live->watcher, announcement);
}

void live_note_policy(Live *live, Str error) {
    if (live->announcements)
        announcements_note_policy(live->announcements, error, clock_monotonic_nsec());
}

void live_note_stale(Live *live, Str policy, Str metric, Str source) {
    if (live->announcements)
        announcements_note_stale(
            live->announcements, policy, metric, source, clock_monotonic_nsec());
}

/* --- begin and end -------------------------------------------------------------------------- */

int live_new(const LiveOptions *options, Current *current, const LiveCallbacks *callbacks,
    Live **ret, char *error, size_t size) {
    _cleanup_(live_freep) Live *live = calloc(1, sizeof(*live));
    char text[ACCESS_ERROR_MAX] = "out of memory";
    Access *access = NULL;
    int r;

    (void)snprintf(error, size, "out of memory");
    if (!live)
        return -ENOMEM;
    live->current = current;
    live->callbacks = *callbacks;
    live->lease_namespace = options->watcher.lease_namespace;
    live->lease_name = options->watcher.lease_name;
    live->bypass = bypass_new(options->managed, options->n_managed, options->exempt);
    if (options->may_bind)
        live->passes = passes_new(
            PASSES_MAX, PASSES_BYTES_MAX, (int64_t)options->bind_window_sec * NSEC_PER_SEC);
    if (options->may_touch)
        live->parked = parked_new(clock_monotonic_nsec());
    if (live->parked)
        live->wakeup = wakeup_new(live->parked);
    if (options->watcher.posts_events)
        live->announcements = announcements_new(
            &(AnnouncementsOptions){.self = options->self, .context = live, .announce = announce});
    if (!live->bypass || (options->may_bind && !live->passes) ||
        (options->may_touch && !live->wakeup) ||
        (options->watcher.posts_events && !live->announcements))
        return -ENOMEM;
    r = access_find(options->kubeconfig, options->context, &access, text);
    if (r < 0) {
        (void)snprintf(error, size, "%s", text);
        return r;
    }
    (void)snprintf(error, size, "cannot start the thread that watches the cluster");
    r = watcher_new(access,
        &options->watcher,
        &(WatcherCallbacks){
            .context = live, .publish = publish, .pod_bound = pod_bound, .notice = take_notice},
        &live->watcher);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(live);
    return 0;
}

bool live_stop(Live *live, int64_t timeout_nsec) {
    return watcher_stop(live->watcher, timeout_nsec);
}

Live *live_free(Live *live) {
    if (!live)
        return NULL;
    watcher_free(live->watcher);
    passes_free(live->passes);
    bypass_free(live->bypass);
    wakeup_free(live->wakeup);
    parked_free(live->parked);
    announcements_free(live->announcements);
    free(live);
    return NULL;
}

void live_status(Live *live, LiveStatus *ret) {
    *ret = (LiveStatus){0};
    watcher_status(live->watcher, &ret->watcher);
    ret->is_synced = watcher_is_synced(live->watcher);
    ret->n_bypassed = bypass_count(live->bypass);
    ret->n_bind_refused = atomic_load(&live->n_bind_refused);
    if (live->passes)
        passes_figures(live->passes, &ret->passes);
    ret->lease_namespace = live->lease_namespace;
    ret->lease_name = live->lease_name;
    ret->writes_events = live->announcements != NULL;
    if (live->announcements)
        ret->n_events_dropped = announcements_dropped(live->announcements);
}
