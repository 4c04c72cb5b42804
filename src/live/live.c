/* Connects the watched cluster with the verbs: binds, wake-ups, bypasses, Events. */

#include "live/live.h"
#include "live/current.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/message.h"
#include "kube/access.h"
#include "live/bypass.h"
#include "live/publisher.h"
#include "live/verb-reply.h"
#include "live/wakeup.h"
#include "scheduler/placement-plan.h"

/* for judging one pod on one node, and the annotations of its policies */
#define JOB_BUDGET ((size_t)64 * 1024 * 1024)

struct Live {
    Current *current;   /* the daemon's, like ... */
    RecentPods *recent; /* ... this */
    LiveCallbacks callbacks;
    ClusterWatcher *watcher;
    Bypass bypass;
    _Atomic uint64_t n_bind_refused, n_annotations_skipped;
    Wakeup wakeup;               /* with options.may_touch */
    KubeEvents events;           /* with watcher.posts_events */
    Publisher publisher;         /* with watcher.publishes */
    PolicyReporter reporter;     /* with watcher.policies */
    Nominator *nominator;        /* NULL: nothing is nominated */
    atomic_size_t n_unpublished; /* PublisherFigures, for other threads */
    _Atomic int64_t unpublished_since;
    LiveOptions options;
    Expectations expectations;
};

/* A running bind: the request, and its job. */
typedef struct Bind {
    BindJob job; /* first: the watcher hands it back */
    Live *live;
    Arena *arena; /* owns this and all texts */
    HttpPending *pending;
    PodText *text; /* of @pod: a reference */
    Pod pod;
    BindArgs args;
    const char *error; /* the result; NULL: bound */
} Bind;

bool live_is_wanted(const LiveOptions *options) {
    return options->kubeconfig || options->is_in_cluster;
}

/* --- callbacks of the watcher --------------------------------------------------------- */

static bool publish(void *context, Snapshot *snapshot) {
    Live *live = context;

    if (current_set_snapshot(live->current, snapshot) < 0) {
        log_error(
            "out of memory for a view of the changed cluster: the previous one stays in force");
        return false;
    }
    bypass_note_synced(&live->bypass, clock_monotonic_nsec());
    return true;
}

/* The pod got its node, so it is no longer parked. Counts it if it bypassed berth. */
static void pod_bound(void *context, const Pod *pod) {
    Live *live = context;

    recent_pods_note_end(
        live->recent, pod->uid, pod->namespace, pod->name, /* is_deleted= */ false);
    if (!bypass_note_bound(&live->bypass, pod, clock_monotonic_nsec()))
        return;
    log_warn("a pod was bound without a call to berth", LOG_STR("namespace", pod->namespace),
        LOG_STR("pod", pod->name), LOG_STR("node", pod->node_name),
        LOG_STR("scheduler", pod->scheduler_name));
    if (live->options.watcher.posts_events)
        kube_events_note_bypassed(&live->events, pod, clock_monotonic_nsec());
}

static void pod_deleted(void *context, const ObjectMeta *meta) {
    Live *live = context;

    recent_pods_note_end(
        live->recent, meta->uid, meta->namespace, meta->name, /* is_deleted= */ true);
    if (live->nominator)
        nominator_note_deleted(live->nominator, meta->uid);
}

static void pod_seen(void *context, const Pod *pod, Str text) {
    nominator_note_pod(((Live *)context)->nominator, pod, text);
}

static void pods_listed(void *context, bool has_ended) {
    nominator_note_list(((Live *)context)->nominator, has_ended);
}

/* The log line of a notice; a field without a key is left out. */
typedef struct NoticeLine {
    LogLevel level;
    const char *text;
    const char *kind, *server, *origin, *name, *why, *n, *n_nodes, *n_pods, *msec;
} NoticeLine;

static const NoticeLine notice_lines[] = {
    [WATCHER_FOLLOWING] = {LOG_INFO, "following the cluster", .server = "server",
        .origin = "access"},
    [WATCHER_INSECURE] = {LOG_WARN,
        "THE CERTIFICATE OF THE API SERVER IS NOT VERIFIED: any server in its place would be "
        "trusted and get our credentials",
        .origin = "access"},
    [WATCHER_CONNECTED] = {LOG_INFO, "connected to the API server", .kind = "kind",
        .server = "server"},
    [WATCHER_LISTED] = {LOG_INFO, "listed", .kind = "kind", .n = "objects", .msec = "ms"},
    [WATCHER_RELISTING] = {LOG_INFO, "listing again", .kind = "kind", .why = "reason"},
    [WATCHER_LOST] = {LOG_WARN,
        "lost the connection to the API server; berth decides by the last known state",
        .kind = "kind", .server = "server", .why = "error", .msec = "retry_ms"},
    [WATCHER_SYNCED] = {LOG_INFO, "the cluster is known", .n_nodes = "nodes", .n_pods = "pods",
        .msec = "ms"},
    [WATCHER_OBJECT_SKIPPED] = {LOG_WARN, "an object of the cluster is skipped", .kind = "kind",
        .name = "name", .why = "error"},
    [WATCHER_ASSUMED_EXPIRED] = {LOG_WARN, "pods that were bound have not been seen on their node",
        .n = "pods"},
    [WATCHER_NOMINATE_FORBIDDEN] = {LOG_WARN,
        "pods cannot be nominated: needs the right patch on pods/status"},
    [WATCHER_MARKS_FORBIDDEN] = {LOG_WARN,
        "nodes cannot be marked for kube-scheduler: needs the right patch on nodes"},
    [WATCHER_LEASE_TAKEN] = {LOG_INFO, "the lease is taken: this berth binds", .why = "before"},
    [WATCHER_LEASE_RELEASED] = {LOG_INFO, "the lease is given up: another berth may bind"},
    [WATCHER_LEASE_LOST] = {LOG_WARN, "the lease is lost: this berth does not bind",
        .why = "error"},
    [WATCHER_LEASE_HELD_ELSEWHERE] = {LOG_INFO, "another berth holds the lease, and binds",
        .why = "holder"},
    [WATCHER_LEASE_FAILED] = {LOG_WARN, "the lease cannot be acquired: this replica does not bind",
        .why = "error"},
    [WATCHER_EVENTS_FORBIDDEN] = {LOG_WARN,
        "Events cannot be written: needs the right create on events.events.k8s.io"},
    [WATCHER_PUBLISH_FORBIDDEN] = {LOG_WARN,
        "filters cannot be published: needs the right patch on nodes/status for slots, on nodes "
        "for labels"},
    [WATCHER_REPORT_FORBIDDEN] = {LOG_WARN,
        "the status of policies cannot be written: needs the right patch on "
        "placementpolicies/status of berth.dev"},
    [WATCHER_WAIT_FAILED] = {LOG_ERROR, "the client cannot wait", .why = "error"},
};

static void take_notice(void *context, const WatcherNotice *notice) {
    static const NoticeLine not_bound = {LOG_INFO,
        "pods with one eligible node were not bound to it, and no longer count there", .n = "pods"};
    bool is_of_us = ((const Live *)context)->options.may_bind;
    const NoticeLine *line = notice->event == WATCHER_ASSUMED_EXPIRED && !is_of_us
                                 ? &not_bound
                                 : &notice_lines[notice->event];

    LOG_AT(line->level, line->text, LOG_CSTR(line->kind, watcher_kind_name(notice->kind)),
        LOG_CSTR(line->server, notice->server), LOG_CSTR(line->origin, notice->origin),
        LOG_STR(line->name, notice->name), LOG_CSTR(line->why, notice->why),
        LOG_INT(line->n, notice->n), LOG_INT(line->n_nodes, notice->n_nodes),
        LOG_INT(line->n_pods, notice->n_pods), LOG_INT(line->msec, notice->msec));
}

/* --- filter ---------------------------------------------------------------------------- */

void live_observe_filter(Live *live, const View *view, const Decision *decision, int64_t now_nsec) {
    if (!decision->args || decision->summary.n_in == 0)
        return;
    watcher_note_request(live->watcher); /* a bind follows: the lease is usually acquired by then */
    if (live->nominator)
        nominator_note_filter(
            live->nominator, &decision->args->pod, decision->summary.n_in, now_nsec);
    if (live->options.watcher.posts_events)
        kube_events_note_filter(&live->events, view, decision, now_nsec);
}

void live_expect(Live *live, const HttpRequest *request, const View *view, const Decision *decision,
    const HttpReply *reply) {
    if (!live->options.may_bind)
        expect_pod(&live->expectations, request, view, decision, reply);
}

int64_t live_wait(Live *live) {
    return live->nominator ? nominator_wait(live->nominator) : 0;
}

/* --- bind ------------------------------------------------------------------------------- */

static Bind *bind_free(Bind *bind) {
    if (!bind)
        return NULL;
    pod_text_unref(bind->text);
    arena_free(bind->arena);
    return NULL;
}
DEFINE_CLEANUP(Bind *, bind_free)

/* Copies @args: the request's memory is not available while the bind waits. */
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

/* Why the bind is refused; NULL: it is not, and *ret is the pod of the filter, as a reference. */
static const char *find_passed(Live *live, const View *view, const BindArgs *args, PodText **ret) {
    if (!live->options.may_bind)
        return "berth: it was not started with --bind; remove bindVerb from the extender's "
               "configuration, or add the flag";
    switch (recent_pods_find_passed(
        live->recent, args->pod_uid, args->node, view->table->names, clock_monotonic_nsec(), ret)) {
    case 0:
        return NULL;
    case PASSED_E_UNKNOWN:
        return "berth: refused: no filter request named this pod; it will be tried again";
    case PASSED_E_NODE:
        return "berth: refused: this node did not pass the filter for this pod";
    default:
        return "berth: refused: the filter was too long ago (--bind-window)";
    }
}

/* Copies the annotations: their view may be freed before the Binding is written. */
static bool copy_annotations(const Labels *from, Arena *arena, Labels *ret) {
    Label *items = ARENA_ARRAY(arena, Label, from->n);

    for (size_t i = 0; items && i < from->n; i++)
        items[i] =
            (Label){arena_copy(arena, from->items[i].key), arena_copy(arena, from->items[i].value)};
    *ret = (Labels){.items = items, .n = items ? from->n : 0};
    return !arena_has_failed(arena);
}

/* On the watcher's thread; @snapshot has all binds before this one. */
static bool judge_bind(BindJob *job, Snapshot *snapshot, char *error) {
    Bind *bind = (Bind *)job;
    _cleanup_(view_unrefp) View *shown = current_view(bind->live->current), *view = NULL;
    RequestTime time = {.now_nsec = clock_wall_nsec()};
    BindVerdict verdict = {.refusal = STR("berth: out of memory for the bind")};

    /* The view in force may lack the newest binds, which @snapshot has. */
    if (current_try_snapshot(bind->live->current, shown, snapshot, &view) == 0 &&
        extender_may_bind(view, &time, &bind->pod, bind->args.node, bind->arena, &verdict) &&
        copy_annotations(&verdict.annotations, bind->arena, &job->annotations)) {
        atomic_fetch_add(&bind->live->n_annotations_skipped, verdict.n_skipped);
        return true;
    }
    atomic_fetch_add(&bind->live->n_bind_refused, 1);
    (void)snprintf(error, WATCHER_ERROR_MAX, "%.*s", STR_FMT(verdict.refusal));
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

/* Passes the bind to the watcher, or returns the error. */
static const char *start_bind(
    Live *live, const HttpRequest *request, int tag, const BindArgs *args, PodText *text) {
    _cleanup_(bind_freep) Bind *bind = bind_new(live, args);
    int r;

    if (!bind)
        return "berth: out of memory for the bind";
    bind->text = pod_text_ref(text);
    if (!pod_text_decode(text, bind->arena, &bind->pod))
        return "berth: out of memory for the bind";
    bind->job = (BindJob){
        .namespace = bind->args.pod_namespace,
        .name = bind->args.pod_name,
        .uid = bind->args.pod_uid,
        .node = bind->args.node,
        .pod = &bind->pod,
        .judge = judge_bind,
        .done = finish_bind,
    };
    bind->pending = server_defer(request, tag);
    if (!bind->pending)
        return "berth: too many binds are under way; try again";
    r = watcher_bind(live->watcher, &bind->job);
    if (r < 0) { /* the reply is deferred already, so answer through it */
        finish_bind(&TAKE_PTR(bind)->job, r == -EBUSY
                                              ? "berth: too many binds are under way; try again"
                                              : "berth: it is shutting down");
        return NULL;
    }
    (void)TAKE_PTR(bind);
    return NULL;
}

void live_bind(Live *live, const HttpRequest *request, int tag, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(live->current);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    const char *error;
    BindArgs args;
    Answer refusal;

    if (!extender_bind_request(request->body, request->arena, &args, &refusal)) {
        live->callbacks.bound(live->callbacks.context, &refusal.decision);
        reply_with(reply, &refusal);
        return;
    }
    error = find_passed(live, view, &args, &text);
    if (error)
        atomic_fetch_add(&live->n_bind_refused, 1);
    else
        error = start_bind(live, request, tag, &args, text);
    if (error)
        reply_of(&args, error, live, request->arena, reply);
}

/* --- wake-up ------------------------------------------------------------------------------ */

static void touch(void *context, Str node) {
    Live *live = context;

    log_info("a node would pass now, marking it for kube-scheduler", LOG_STR("node", node));
    (void)mark_queue_add(watcher_writes(live->watcher, WATCHER_MARKS), node);
}

/* --- published filters --------------------------------------------------------------------- */

static bool write_published(void *context, const PublishChange *change) {
    return publish_queue_add(watcher_writes(((Live *)context)->watcher, WATCHER_PUBLISHED), change);
}

static void publish_filters(Live *live, int64_t now_nsec) {
    _cleanup_(view_unrefp) View *view = NULL;
    const PublisherFigures *figures = &live->publisher.figures;

    if (watcher_may_write(live->watcher, WATCHER_PUBLISHED)) {
        view = current_view(live->current);
        publisher_run(&live->publisher, view, now_nsec, write_published, live);
    } else {
        publisher_reset(&live->publisher);
    }
    atomic_store(&live->n_unpublished, figures->n_different);
    atomic_store(&live->unpublished_since, figures->oldest_nsec);
}

/* --- policies of the cluster -------------------------------------------------------------- */

static bool write_report(void *context, Buf *path, Buf *body) {
    return write_queue_add(watcher_writes(((Live *)context)->watcher, WATCHER_REPORTS), path, body);
}

static void note_rejected(void *context, const ClusterPolicy *policy) {
    Live *live = context;

    if (live->options.watcher.posts_events)
        kube_events_note_rejected(&live->events, policy->newest.name, policy->newest.uid,
            policy->error, clock_monotonic_nsec());
}

void live_report_policies(Live *live, const PolicyReport *report, int64_t now_nsec) {
    if (watcher_may_write(live->watcher, WATCHER_REPORTS))
        policy_reporter_run(&live->reporter, report, now_nsec, clock_wall_nsec());
    else
        policy_reporter_reset(&live->reporter);
}

/* --- steps of the view ---------------------------------------------------------------------- */

void live_note_view(Live *live, const View *before, const View *after) {
    if (live->options.may_touch)
        wakeup_note_view(&live->wakeup, before, after, clock_monotonic_nsec(), touch, live);
    publish_filters(live, clock_monotonic_nsec());
}

void live_tick(Live *live, int64_t now_nsec) {
    if (live->options.may_touch)
        wakeup_tick(&live->wakeup, now_nsec, touch, live);
    publish_filters(live, now_nsec);
}

/* --- events --------------------------------------------------------------------------------- */

static void post_event(void *context, const PodEvent *event) {
    const Live *live = context;

    (void)event_queue_add(
        watcher_writes(live->watcher, WATCHER_EVENTS), event, live->options.watcher.identity);
}

void live_note_policy(Live *live, Str error) {
    if (live->options.watcher.posts_events)
        kube_events_note_policy(&live->events, error, clock_monotonic_nsec());
}

void live_note_stale(Live *live, Str policy, Str metric, Str source) {
    if (live->options.watcher.posts_events)
        kube_events_note_stale(&live->events, policy, metric, source, clock_monotonic_nsec());
}

/* Policies change, but the model of kube-scheduler always needs its own fields. */
bool live_want(Live *live, const ClusterNeeds *needs) {
    if (live->nominator)
        (void)watcher_want(live->watcher, &placement_plan_needs);
    return watcher_want(live->watcher, needs);
}

bool live_want_related(Live *live, unsigned wanted, unsigned needed) {
    watcher_want_related(live->watcher, wanted | (live->nominator ? PLACEMENT_PLAN_RELATED : 0));
    return watcher_has_related(live->watcher, needed);
}

/* 0, or a negative errno; frees @access. */
static int start_watcher(Live *live, const WatcherOptions *options, Access *access) {
    const WatcherCallbacks callbacks = {
        .context = live,
        .publish = publish,
        .pod_bound = pod_bound,
        .pod_deleted = pod_deleted,
        .pod_seen = live->nominator ? pod_seen : NULL,
        .pods_listed = live->nominator ? pods_listed : NULL,
        .notice = take_notice,
    };
    WatcherOptions watcher = *options;
    ClusterNeeds *needs = NULL;
    int r;

    if (live->nominator && options->needs) {
        needs = cluster_needs_join(options->needs, &placement_plan_needs);
        if (!needs) {
            access_free(access);
            return -ENOMEM;
        }
        watcher.needs = needs;
    }
    if (live->nominator)
        watcher.related |= PLACEMENT_PLAN_RELATED;
    r = watcher_new(access, &watcher, &callbacks, &live->watcher);
    live->expectations.watcher = live->watcher;
    free(needs);
    if (r < 0 || !live->nominator)
        return r;
    return nominator_start(live->nominator, watcher_writes(live->watcher, WATCHER_NOMINATIONS));
}

/* --- begin and end -------------------------------------------------------------------------- */

int live_new(const LiveOptions *options, Current *current, RecentPods *recent,
    const LiveCallbacks *callbacks, Live **ret, char *error) {
    _cleanup_(live_freep) Live *live = calloc(1, sizeof(*live));
    Access *access = NULL;
    int r;

    if (!live)
        return message_no_memory(error, ACCESS_ERROR_MAX, "the watched cluster", NULL);
    live->current = current;
    live->recent = recent;
    live->callbacks = *callbacks;
    live->expectations = (Expectations){
        .current = current, .filter = callbacks->filter, .context = callbacks->context};
    live->options = *options;
    live->wakeup.recent = live->bypass.recent = recent;
    live->bypass.managed = options->managed;
    live->bypass.n_managed = options->n_managed;
    live->bypass.exempt = options->exempt;
    live->events = (KubeEvents){.self = options->self,
        .recent = recent,
        .context = live,
        .post = post_event,
        .lock = PTHREAD_MUTEX_INITIALIZER};
    live->reporter = (PolicyReporter){live, write_report, note_rejected};
    if (options->watcher.nominates)
        live->nominator = nominator_new(current, &live->options);
    if (options->watcher.nominates && !live->nominator)
        return message_no_memory(error, ACCESS_ERROR_MAX, "the watched cluster", NULL);
    r = access_find(options->kubeconfig, options->context, &access, error);
    if (r < 0)
        return r;
    r = start_watcher(live, &options->watcher, access);
    if (r == -ENOMEM)
        return message_no_memory(error, ACCESS_ERROR_MAX, "the watched cluster", NULL);
    if (r < 0)
        return message_fail(
            r, error, "cannot start the thread that watches the cluster: %s", strerror(-r));
    *ret = TAKE_PTR(live);
    return 0;
}

bool live_stop(Live *live, int64_t timeout_nsec) {
    if (live->nominator)
        nominator_stop(live->nominator);
    return watcher_stop(live->watcher, timeout_nsec);
}

Live *live_free(Live *live) {
    if (!live)
        return NULL;
    if (live->nominator)
        nominator_stop(live->nominator);
    watcher_free(live->watcher);
    publisher_reset(&live->publisher);
    policy_reporter_reset(&live->reporter);
    nominator_free(live->nominator);
    free(live);
    return NULL;
}

void live_status(Live *live, LiveStatus *ret) {
    *ret = (LiveStatus){0};
    watcher_status(live->watcher, &ret->watcher);
    ret->is_synced = watcher_is_synced(live->watcher);
    ret->n_bypassed = atomic_load(&live->bypass.n);
    ret->n_bind_refused = atomic_load(&live->n_bind_refused);
    ret->n_annotations_skipped = atomic_load(&live->n_annotations_skipped);
    if (live->options.may_bind)
        recent_pods_figures(live->recent, &ret->passed);
    ret->options = &live->options.watcher;
    ret->writes_policy_status = watcher_may_write(live->watcher, WATCHER_REPORTS);
    ret->publishes = live->options.watcher.publishes;
    ret->n_unpublished = atomic_load(&live->n_unpublished);
    ret->unpublished_since = atomic_load(&live->unpublished_since);
    if (live->nominator) {
        ret->has_nominator = true;
        ret->nominator = nominator_figures(live->nominator);
    }
    ret->writes_events = live->options.watcher.posts_events;
    if (live->options.watcher.posts_events)
        ret->n_events_dropped = kube_events_dropped(&live->events);
}
