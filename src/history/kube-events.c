/* Limits the rate of Events, and writes their texts. */

#include "history/kube-events.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/nsec.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "extender/explain.h"
#include "model/node.h"

#define NOTE_MAX ((size_t)4 * EVENT_NOTE_MAX)
#define MAIN_BUDGET ((size_t)64 * 1024 * 1024)
#define REASON_MAX 240u /* bytes of a reason or name */

/* A reason why nodes did not pass, and their number. */
typedef struct Cause {
    Str text;
    size_t n;
} Cause;

typedef struct Causes {
    Str first;                            /* the main reason, which is listed first; may be empty */
    Cause items[KUBE_EVENTS_REASONS + 1]; /* then the most frequent; the last is a spare entry */
    size_t n;
    size_t n_others; /* nodes with other causes */
} Causes;

uint64_t kube_events_dropped(KubeEvents *events) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&events->lock);

    return events->n_dropped;
}

/* Whether an Event may be written now; counts it either way. */
static bool take_turn(KubeEvents *events, int64_t now) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&events->lock);
    bool may_write = token_take(&events->bucket, KUBE_EVENTS_PER_SEC, KUBE_EVENTS_BURST, now);

    events->n_dropped += !may_write;
    return may_write;
}

static void post(
    KubeEvents *events, const char *reason, const char *action, const Buf *note, const Pod *pod) {
    events->post(events->context, &(PodEvent){
                                      .is_warning = true,
                                      .reason = reason,
                                      .action = action,
                                      .note = buf_str(note),
                                      .namespace = pod->namespace,
                                      .pod = pod->name,
                                      .uid = pod->uid,
                                  });
}

static Str start_of(Str text) {
    return utf8_take(text, REASON_MAX);
}

static bool comes_before(const Causes *causes, const Cause *a, const Cause *b) {
    bool is_first = str_eq(a->text, causes->first), was_first = str_eq(b->text, causes->first);

    return is_first != was_first ? is_first : a->n > b->n;
}

/* Rules with one text are one cause, unless the first of them has been dropped before. */
static void add_cause(Causes *causes, Str text, size_t n) {
    Cause cause = {.text = text, .n = n};
    size_t i = 0;

    if (n == 0)
        return;
    while (i < causes->n && !str_eq(causes->items[i].text, text))
        i++;
    if (i < causes->n)
        cause.n += causes->items[i].n;
    else
        causes->n++;
    for (; i > 0 && comes_before(causes, &cause, &causes->items[i - 1]); i--)
        causes->items[i] = causes->items[i - 1];
    causes->items[i] = cause;
    if (causes->n > KUBE_EVENTS_REASONS)
        causes->n_others += causes->items[--causes->n].n;
}

static void collect_causes(
    const View *view, const Decision *decision, const MainReason *main, Causes *ret) {
    *ret = (Causes){0};
    if (main->n_nodes > 0)
        ret->first = view->program->filters[main->filter]->reason;
    for (size_t i = 0; decision->rejected && i < view->program->n_filters; i++)
        add_cause(ret, view->program->filters[i]->reason, decision->rejected[i]);
    add_cause(ret, STR(UNKNOWN_NODE_REASON), decision->summary.n_unknown);
    add_cause(ret, STR(LATE_NODE_REASON), decision->summary.n_late);
}

static void write_causes(const Causes *causes, Buf *out) {
    for (size_t i = 0; i < causes->n; i++) {
        buf_printf(out, "%s%zu ", i > 0 ? ", " : "", causes->items[i].n);
        (void)visible_append(out, start_of(causes->items[i].text));
    }
    if (causes->n_others > 0)
        buf_printf(out, ", %zu for other reasons", causes->n_others);
}

/* Evaluates the rules again; one Event a second makes that cheap enough. */
static MainReason find_main(const View *view, const Decision *decision) {
    _cleanup_(arena_freep) Arena *arena = arena_new(MAIN_BUDGET);
    const FilterArgs *args = decision->args;
    const RequestTime time = {.now_nsec = clock_wall_nsec()};
    MainReason main = {0};

    if (arena && decision->summary.n_rejected > 0)
        (void)!extender_main_reason(
            view, &time, &args->node_set, &args->pod, args->rows, args->n, arena, &main);
    return main;
}

/* Writes the whole command; causes get the remaining room. */
static void write_filter_note(const View *view, const Decision *decision, Buf *out) {
    _cleanup_(buf_done) Buf why = BUF_INIT(NOTE_MAX);
    _cleanup_(buf_done) Buf command = BUF_INIT(NOTE_MAX);
    const Pod *pod = &decision->args->pod;
    MainReason main = find_main(view, decision);
    Causes causes;

    collect_causes(view, decision, &main, &causes);
    write_causes(&causes, &why);
    buf_printf(&command, ". See: berth explain --last %.*s/%.*s",
        STR_FMT(str_take(pod->namespace, NODE_NAME_MAX)),
        STR_FMT(str_take(pod->name, NODE_NAME_MAX)));
    buf_printf(out, "0 of %zu nodes passed berth's policies: ", decision->summary.n_in);
    buf_append(out, utf8_take(buf_str(&why), EVENT_NOTE_MAX - out->len - command.len));
    buf_append(out, buf_str(&command));
}

void kube_events_note_filter(
    KubeEvents *events, const View *view, const Decision *decision, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);
    const Pod *pod;

    if (!decision->args || decision->summary.n_in == 0 || decision->summary.n_out > 0)
        return;
    pod = &decision->args->pod;
    if (str_is_empty(pod->uid) ||
        !recent_pods_event_is_due(
            events->recent, pod->uid, KUBE_EVENTS_POD_SEC * NSEC_PER_SEC, now_nsec) ||
        !take_turn(events, now_nsec))
        return;
    recent_pods_note_event(events->recent, pod->uid, now_nsec);
    write_filter_note(view, decision, &note);
    post(events, "NoNodePassed", "Filter", &note, pod);
}

void kube_events_note_bypassed(KubeEvents *events, const Pod *pod, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);

    if (!take_turn(events, now_nsec))
        return;
    visible_print(&note, "Bound to {} by {}, which did not call berth: no policy was evaluated",
        start_of(pod->node_name), start_of(pod->scheduler_name));
    post(events, "Bypassed", "Bind", &note, pod);
}

/* Whether an Event about berth's own pod may be written now; *ret is that pod. */
static bool find_self(KubeEvents *events, int64_t now_nsec, Pod *ret) {
    const OwnPod *self = &events->self;

    if (!self->namespace || !self->name || !self->uid || !take_turn(events, now_nsec))
        return false;
    *ret = (Pod){
        .namespace = str_from_c(self->namespace),
        .name = str_from_c(self->name),
        .uid = str_from_c(self->uid),
    };
    return true;
}

void kube_events_note_policy(KubeEvents *events, Str error, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);
    uint64_t hash = str_is_empty(error) ? 0 : hash_str(error) | 1;
    Pod self;

    if (atomic_exchange(&events->policy_error, hash) == hash || hash == 0 ||
        !find_self(events, now_nsec, &self))
        return;
    visible_print(&note, "A policy was rejected, the last good ones stay in force: {}",
        utf8_take(error, EVENT_NOTE_MAX));
    post(events, "PolicyRejected", "Reload", &note, &self);
}

void kube_events_note_rejected(KubeEvents *events, Str name, Str uid, Str error, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);

    if (!take_turn(events, now_nsec))
        return;
    visible_print(&note, "Rejected; a version that was good before stays in force: {}",
        utf8_take(error, EVENT_NOTE_MAX));
    post(events, "PolicyRejected", "Reload", &note, &(Pod){.name = name, .uid = uid});
}

void kube_events_note_stale(
    KubeEvents *events, Str policy, Str metric, Str source, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);
    Pod self;

    if (!find_self(events, now_nsec, &self))
        return;
    visible_print(&note,
        "Metric {} of policy {} has no value any more, older than its maxAge; source {}. onMissing "
        "of each rule decides",
        start_of(metric), start_of(policy), start_of(source));
    post(events, "MetricsStale", "Measure", &note, &self);
}
