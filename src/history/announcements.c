#include "history/announcements.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/nsec.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "model/node.h"

#define NOTE_MAX ((size_t)4 * EVENT_NOTE_MAX)
#define REASON_MAX 240u /* bytes of a reason, or of a name */

/* When a pod was last told about, by a hash of its UID: two that share a place are told about more
 * often than they should, no more. */
typedef struct Told {
    uint64_t uid;
    int64_t at;
} Told;

struct Announcements {
    AnnouncementsOptions options;
    pthread_mutex_t lock; /* for all that follows */
    Told pods[ANNOUNCEMENTS_PODS];
    int64_t paid_until; /* the ration is used up to this time */
    uint64_t policy_error;
    uint64_t n_dropped;
};

/* Why nodes did not pass, and how many. */
typedef struct Cause {
    Str text;
    size_t n;
} Cause;

typedef struct Causes {
    Cause items[ANNOUNCEMENTS_REASONS + 1]; /* the most frequent first, the last one is to go */
    size_t n;
    size_t n_others; /* nodes of other causes */
} Causes;

Announcements *announcements_new(const AnnouncementsOptions *options) {
    Announcements *announcements = calloc(1, sizeof(*announcements));

    if (!announcements)
        return NULL;
    announcements->options = *options;
    announcements->paid_until = INT64_MIN / 2;
    (void)pthread_mutex_init(&announcements->lock, NULL);
    return announcements;
}

Announcements *announcements_free(Announcements *announcements) {
    if (!announcements)
        return NULL;
    (void)pthread_mutex_destroy(&announcements->lock);
    free(announcements);
    return NULL;
}

uint64_t announcements_dropped(Announcements *announcements) {
    uint64_t n;

    (void)pthread_mutex_lock(&announcements->lock);
    n = announcements->n_dropped;
    (void)pthread_mutex_unlock(&announcements->lock);
    return n;
}

/* --- how often -------------------------------------------------------------------------- */

/* The lock is held. */
static bool is_rationed(Announcements *announcements, int64_t now) {
    int64_t each = NSEC_PER_SEC / ANNOUNCEMENTS_PER_SEC;
    int64_t from = now - ANNOUNCEMENTS_BURST * each;

    if (announcements->paid_until < from)
        announcements->paid_until = from;
    if (announcements->paid_until + each > now) {
        announcements->n_dropped++;
        return true;
    }
    announcements->paid_until += each;
    return false;
}

/* Whether a pod is to be told about now; from then on it has been. */
static bool may_tell_pod(Announcements *announcements, Str uid, int64_t now) {
    uint64_t hash = hash_str(uid) | 1;
    Told *told = &announcements->pods[hash / 2 % ANNOUNCEMENTS_PODS];
    bool may_tell;

    (void)pthread_mutex_lock(&announcements->lock);
    may_tell = (told->uid != hash || now - told->at >= ANNOUNCEMENTS_POD_SEC * NSEC_PER_SEC) &&
               !is_rationed(announcements, now);
    if (may_tell)
        *told = (Told){.uid = hash, .at = now};
    (void)pthread_mutex_unlock(&announcements->lock);
    return may_tell;
}

static bool may_tell(Announcements *announcements, int64_t now) {
    bool is_over;

    (void)pthread_mutex_lock(&announcements->lock);
    is_over = is_rationed(announcements, now);
    (void)pthread_mutex_unlock(&announcements->lock);
    return !is_over;
}

static void tell(Announcements *announcements, const PodEvent *announcement) {
    announcements->options.announce(announcements->options.context, announcement);
}

static void append_front(Buf *out, Str text) {
    (void)visible_append(out, utf8_take(text, REASON_MAX));
}

/* --- no node passed ------------------------------------------------------------------------ */

static size_t find_cause(const Causes *causes, Str text) {
    for (size_t i = 0; i < causes->n; i++)
        if (str_eq(causes->items[i].text, text))
            return i;
    return SIZE_MAX;
}

/* Rules with one text are one cause, if they come one after the other often enough to be kept. */
static void add_cause(Causes *causes, Str text, size_t n) {
    size_t i = find_cause(causes, text);
    Cause cause = {.text = text, .n = n};

    if (n == 0)
        return;
    if (i == SIZE_MAX)
        i = causes->n++;
    else
        cause.n += causes->items[i].n;
    for (; i > 0 && causes->items[i - 1].n < cause.n; i--)
        causes->items[i] = causes->items[i - 1];
    causes->items[i] = cause;
    if (causes->n > ANNOUNCEMENTS_REASONS)
        causes->n_others += causes->items[--causes->n].n;
}

static void collect_causes(const View *view, const Decision *decision, Causes *ret) {
    *ret = (Causes){0};
    for (size_t i = 0; decision->rejected && i < view->program->n_filters; i++)
        add_cause(ret, view->program->filters[i]->reason, decision->rejected[i]);
    add_cause(ret, STR(UNKNOWN_NODE_REASON), decision->summary.n_unknown);
    add_cause(ret, STR(LATE_NODE_REASON), decision->summary.n_late);
}

static void write_causes(const Causes *causes, Buf *out) {
    for (size_t i = 0; i < causes->n; i++) {
        buf_printf(out, "%s%zu ", i > 0 ? ", " : "", causes->items[i].n);
        append_front(out, causes->items[i].text);
    }
    if (causes->n_others > 0)
        buf_printf(out, ", %zu for other reasons", causes->n_others);
}

/* The command that tells more is always whole; causes have the room that is left. */
static void write_filter_note(const View *view, const Decision *decision, Buf *out) {
    _cleanup_(buf_done) Buf why = BUF_INIT(NOTE_MAX);
    _cleanup_(buf_done) Buf command = BUF_INIT(NOTE_MAX);
    const Pod *pod = &decision->args->pod;
    Causes causes;

    collect_causes(view, decision, &causes);
    write_causes(&causes, &why);
    buf_printf(&command,
        ". See: berth explain --last %.*s/%.*s",
        STR_FMT(str_take(pod->namespace, NODE_NAME_MAX)),
        STR_FMT(str_take(pod->name, NODE_NAME_MAX)));
    buf_printf(out, "0 of %zu nodes passed berth's policies: ", decision->summary.n_in);
    buf_append(out, utf8_take(buf_str(&why), EVENT_NOTE_MAX - out->len - command.len));
    buf_append(out, buf_str(&command));
}

void announcements_note_filter(
    Announcements *announcements, const View *view, const Decision *decision, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);
    const Pod *pod;

    if (!decision->args || decision->summary.n_in == 0 || decision->summary.n_out > 0)
        return;
    pod = &decision->args->pod;
    if (str_is_empty(pod->uid) || !may_tell_pod(announcements, pod->uid, now_nsec))
        return;
    write_filter_note(view, decision, &note);
    tell(announcements,
        &(PodEvent){
            .is_warning = true,
            .reason = "NoNodePassed",
            .action = "Filter",
            .note = buf_str(&note),
            .namespace = pod->namespace,
            .pod = pod->name,
            .uid = pod->uid,
        });
}

/* --- bound without us ------------------------------------------------------------------------ */

void announcements_note_bypassed(Announcements *announcements, const Pod *pod, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);

    if (!may_tell(announcements, now_nsec))
        return;
    buf_append(&note, STR("Bound to "));
    append_front(&note, pod->node_name);
    buf_append(&note, STR(" by "));
    append_front(&note, pod->scheduler_name);
    buf_append(&note, STR(", which did not ask berth: no policy was looked at"));
    tell(announcements,
        &(PodEvent){
            .is_warning = true,
            .reason = "Bypassed",
            .action = "Bind",
            .note = buf_str(&note),
            .namespace = pod->namespace,
            .pod = pod->name,
            .uid = pod->uid,
        });
}

/* --- about ourselves ----------------------------------------------------------------------------
 */

static bool is_known(const OwnPod *self) {
    return self->namespace && self->name && self->uid;
}

static void tell_own(
    Announcements *announcements, const char *reason, const char *action, const Buf *note) {
    const OwnPod *self = &announcements->options.self;

    tell(announcements,
        &(PodEvent){
            .is_warning = true,
            .reason = reason,
            .action = action,
            .note = buf_str(note),
            .namespace = str_from_c(self->namespace),
            .pod = str_from_c(self->name),
            .uid = str_from_c(self->uid),
        });
}

void announcements_note_policy(Announcements *announcements, Str error, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);
    uint64_t hash = str_is_empty(error) ? 0 : hash_str(error) | 1;
    bool is_news;

    (void)pthread_mutex_lock(&announcements->lock);
    is_news = hash != announcements->policy_error;
    announcements->policy_error = hash;
    (void)pthread_mutex_unlock(&announcements->lock);
    if (!is_news || hash == 0 || !is_known(&announcements->options.self) ||
        !may_tell(announcements, now_nsec))
        return;
    buf_append(&note, STR("A policy was refused, the last good ones stay in force: "));
    (void)visible_append(&note, utf8_take(error, EVENT_NOTE_MAX));
    tell_own(announcements, "PolicyRefused", "Reload", &note);
}

void announcements_note_stale(
    Announcements *announcements, Str policy, Str metric, Str source, int64_t now_nsec) {
    _cleanup_(buf_done) Buf note = BUF_INIT(NOTE_MAX);

    if (!is_known(&announcements->options.self) || !may_tell(announcements, now_nsec))
        return;
    buf_append(&note, STR("Metric "));
    append_front(&note, metric);
    buf_append(&note, STR(" of policy "));
    append_front(&note, policy);
    buf_append(&note, STR(" has no value any more, older than its maxAge; source "));
    append_front(&note, source);
    buf_append(&note, STR(". onMissing of each rule decides"));
    tell_own(announcements, "MetricsStale", "Measure", &note);
}
