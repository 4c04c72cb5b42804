/* Recent pods: an array of entries, found by a hash of the UID, with one list by age for each kind
 * of entry. Lists refer to entries by number; unused entries take no memory. */

#include "history/recent-pods.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/thread.h"

#define NONE UINT32_MAX
#define WORD_BITS 64u
#define NAMES_BUDGET ((size_t)1024 * 1024)
#define PARKED_NSEC (RECENT_PODS_PARKED_SEC * NSEC_PER_SEC)

/* All in the order of the last filter. */
enum {
    LIST_ALL,
    LIST_PASSED,
    LIST_PARKED,
    LIST_PENDING,
    _LISTS,
};

typedef struct Link {
    uint32_t newer, older;
} Link;

/* The pod of a filter request and the nodes that passed it: one bit for each row of the cluster's
 * names. NodeNames.since (cluster/names.h) shows whether a row still has the same node: a node that
 * was deleted and created again has not passed. Nodes that the cluster lacks have no row. */
typedef struct PassedNodes {
    PodText *text;    /* the fields of the pod that rules and the ledger read */
    size_t bytes;     /* of this and the text */
    uint64_t version; /* of the names */
    size_t n_rows;
    uint64_t bits[];
} PassedNodes;

typedef struct RecentPod {
    uint64_t hash;
    uint32_t chained; /* next in its bucket, as number + 1; 0: none */
    Link links[_LISTS];
    bool is_in[_LISTS];
    int64_t filter_nsec;  /* of its last filter */
    uint64_t decision;    /* the number of its decision */
    int64_t event_nsec;   /* of the last Event; INT64_MIN: none */
    int64_t pending_nsec; /* in LIST_PENDING: of the first filter that no node passed */
    uint32_t policy;      /* in LIST_PENDING: number of its main reason's policy; 0: none */
    bool is_deleted;      /* a watch showed it, since its last filter */
    PassedNodes *passed;  /* in LIST_PASSED */
} RecentPod;

typedef struct Scheduler {
    RecentScheduler shown;
    int64_t last_nsec; /* monotonic, and without probes */
} Scheduler;

struct RecentPods {
    RecentPodsOptions options;
    _Atomic size_t n_filters; /* being answered now */

    pthread_mutex_t lock; /* guards the rest */
    RecentPod *pods;
    uint32_t n;
    uint32_t *buckets; /* number + 1; 0: empty */
    size_t n_buckets;  /* a power of two */
    Link ends[_LISTS]; /* newest and oldest of each list */
    uint64_t n_decisions;
    size_t n_pending;
    int64_t doubtful_nsec; /* until then an unlisted pod may be parked */
    PassedFigures figures;
    Arena *names;                                    /* of policies and schedulers */
    Intern policies;                                 /* by number */
    Scheduler schedulers[RECENT_SCHEDULERS_MAX + 1]; /* the last: too many or too long names */
    size_t n_schedulers;
};

static PassedNodes *passed_free(PassedNodes *passed) {
    if (passed)
        pod_text_unref(passed->text);
    free(passed);
    return NULL;
}

RecentPods *recent_pods_new(const RecentPodsOptions *options) {
    RecentPods *pods = calloc(1, sizeof(*pods));

    assert(options->max > 0 && options->max < NONE);
    if (!pods)
        return NULL;
    pods->options = *options;
    pods->doubtful_nsec = options->now_nsec + PARKED_NSEC;
    pods->n_buckets = 1;
    while (pods->n_buckets < options->max)
        pods->n_buckets *= 2;
    for (size_t i = 0; i < _LISTS; i++)
        pods->ends[i] = (Link){.newer = NONE, .older = NONE};
    pods->names = arena_new(NAMES_BUDGET);
    pods->policies = INTERN_INIT_IN(pods->names);
    pods->pods = calloc(options->max, sizeof(*pods->pods));
    pods->buckets = calloc(pods->n_buckets, sizeof(*pods->buckets));
    (void)pthread_mutex_init(&pods->lock, NULL);
    return pods->pods && pods->buckets && pods->names ? pods : recent_pods_free(pods);
}

RecentPods *recent_pods_free(RecentPods *pods) {
    if (!pods)
        return NULL;
    for (uint32_t i = 0; pods->pods && i < pods->n; i++)
        passed_free(pods->pods[i].passed);
    (void)pthread_mutex_destroy(&pods->lock);
    arena_free(pods->names);
    free(pods->pods);
    free(pods->buckets);
    free(pods);
    return NULL;
}

/* --- passed nodes ----------------------------------------------------------------------------- */

/* Records the nodes that passed a filter by @view. NULL: no UID, too large, or out of memory. */
static PassedNodes *passed_new(const View *view, const Decision *decision) {
    const FilterArgs *args = decision->args;
    size_t n_rows = view->table->names->n_rows;
    size_t size = sizeof(PassedNodes) + (n_rows + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t);
    PassedNodes *passed = str_is_empty(args->pod.uid) ? NULL : calloc(1, size);

    if (!passed)
        return NULL;
    passed->text = pod_text_new(&args->pod);
    if (!passed->text)
        return passed_free(passed);
    passed->bytes = size + pod_text_bytes(passed->text);
    passed->version = view->table->names->version;
    passed->n_rows = n_rows;
    for (size_t i = 0; i < args->n; i++) {
        uint32_t row = args->rows[i];

        if (decision->verdicts[i] != VERDICT_PASS)
            continue;
        if (!args->has_names) /* rows of the request's own table */
            row = table_find(view->table, args->node_set.table->names->names[row]);
        if (row < n_rows) /* else the cluster lacks it */
            passed->bits[row / WORD_BITS] |= UINT64_C(1) << row % WORD_BITS;
    }
    return passed->bytes <= PASSED_NODES_BYTES_MAX ? passed : passed_free(passed);
}

/* Whether @node passed. Also false if @names are older than those of the filter. */
static bool has_passed(const PassedNodes *passed, Str node, const NodeNames *names) {
    uint32_t row = names_find(names, node);

    return row < names->n_rows && row < passed->n_rows && names->version >= passed->version &&
           names->since[row] <= passed->version &&
           (passed->bits[row / WORD_BITS] >> row % WORD_BITS & 1);
}

/* --- lists; with the lock held ---------------------------------------------------------------- */

/* NULL: the list is empty. */
static RecentPod *oldest(const RecentPods *pods, unsigned list) {
    return pods->ends[list].older == NONE ? NULL : &pods->pods[pods->ends[list].older];
}

/* Removes the pod from the list, if it is in it. */
static void leave(RecentPods *pods, unsigned list, RecentPod *pod) {
    Link *ends = &pods->ends[list], link = pod->links[list];

    if (!pod->is_in[list])
        return;
    pod->is_in[list] = false;
    *(link.newer == NONE ? &ends->newer : &pods->pods[link.newer].links[list].older) = link.older;
    *(link.older == NONE ? &ends->older : &pods->pods[link.older].links[list].newer) = link.newer;
    pods->n_pending -= list == LIST_PENDING;
}

/* Puts the pod at the newest end of the list. */
static void enter(RecentPods *pods, unsigned list, RecentPod *pod) {
    Link *ends = &pods->ends[list];
    uint32_t i = (uint32_t)(pod - pods->pods);

    leave(pods, list, pod);
    pod->is_in[list] = true;
    pod->links[list] = (Link){.newer = NONE, .older = ends->newer};
    *(ends->newer == NONE ? &ends->older : &pods->pods[ends->newer].links[list].newer) = i;
    ends->newer = i;
    pods->n_pending += list == LIST_PENDING;
}

/* --- entries; with the lock held -------------------------------------------------------------- */

/* If two pods share an entry by chance, one wake-up or Event is wrong. A bind is refused if the pod
 * has another UID (kube/binder.c). */
static uint64_t hash_of(Str uid, Str namespace, Str name) {
    return str_is_empty(uid) ? hash_str(namespace) * 31 + hash_str(name) : hash_str(uid);
}

static uint32_t *bucket_of(const RecentPods *pods, uint64_t hash) {
    return &pods->buckets[hash & (pods->n_buckets - 1)];
}

/* NULL: there is none. */
static RecentPod *find(const RecentPods *pods, uint64_t hash) {
    uint32_t i = *bucket_of(pods, hash);

    while (i > 0 && pods->pods[i - 1].hash != hash)
        i = pods->pods[i - 1].chained;
    return i > 0 ? &pods->pods[i - 1] : NULL;
}

static void drop_passed(RecentPods *pods, RecentPod *pod) {
    PassedNodes *passed = TAKE_PTR(pod->passed);

    if (!passed)
        return;
    leave(pods, LIST_PASSED, pod);
    pods->figures.n--;
    pods->figures.bytes -= passed->bytes;
    passed_free(passed);
}

/* Drops the oldest pod. Returns its unused entry. */
static RecentPod *forget_oldest(RecentPods *pods) {
    RecentPod *pod = oldest(pods, LIST_ALL);
    uint32_t *at = bucket_of(pods, pod->hash);

    if (pod->is_in[LIST_PARKED] && pods->doubtful_nsec < pod->filter_nsec + PARKED_NSEC)
        pods->doubtful_nsec = pod->filter_nsec + PARKED_NSEC;
    pods->figures.n_dropped += pod->passed != NULL;
    drop_passed(pods, pod);
    for (unsigned list = 0; list < _LISTS; list++)
        leave(pods, list, pod);
    while (&pods->pods[*at - 1] != pod)
        at = &pods->pods[*at - 1].chained;
    *at = pod->chained;
    return pod;
}

/* Returns the entry with this hash, existing or new, as the newest. */
static RecentPod *get(RecentPods *pods, uint64_t hash) {
    RecentPod *pod = find(pods, hash);

    if (!pod) {
        uint32_t *bucket = bucket_of(pods, hash);

        pod = pods->n < pods->options.max ? &pods->pods[pods->n++] : forget_oldest(pods);
        *pod = (RecentPod){.hash = hash, .chained = *bucket, .event_nsec = INT64_MIN};
        *bucket = (uint32_t)(pod - pods->pods) + 1;
    }
    enter(pods, LIST_ALL, pod);
    return pod;
}

static bool is_over(const RecentPods *pods, const RecentPod *pod, int64_t now_nsec) {
    return now_nsec - pod->filter_nsec > pods->options.window_nsec;
}

/* Takes @passed for @pod, the newest; drops expired ones, and the oldest over the limit. */
static void keep_passed(RecentPods *pods, RecentPod *pod, PassedNodes *passed, int64_t now_nsec) {
    RecentPod *old;

    drop_passed(pods, pod);
    if (!passed)
        return;
    pods->figures.n_kept++;
    while ((old = oldest(pods, LIST_PASSED)) && is_over(pods, old, now_nsec))
        drop_passed(pods, old);
    for (; old && pods->figures.bytes + passed->bytes > pods->options.bytes_max;
         old = oldest(pods, LIST_PASSED)) {
        drop_passed(pods, old);
        pods->figures.n_dropped++;
    }
    if (passed->bytes > pods->options.bytes_max) {
        pods->figures.n_dropped++;
        passed_free(passed);
        return;
    }
    pod->passed = passed;
    pods->figures.n++;
    pods->figures.bytes += passed->bytes;
    enter(pods, LIST_PASSED, pod);
}

/* --- schedulers; with the lock held ----------------------------------------------------------- */

static Scheduler *find_scheduler(RecentPods *pods, Str name) {
    for (size_t i = 0; i < pods->n_schedulers; i++)
        if (str_eq(pods->schedulers[i].shown.name, name))
            return &pods->schedulers[i];
    return NULL;
}

static Scheduler *get_scheduler(RecentPods *pods, Str name) {
    Scheduler *scheduler = find_scheduler(pods, name);
    Str copy = STR_NULL;

    if (scheduler)
        return scheduler;
    if (name.len <= RECENT_SCHEDULER_NAME_MAX && pods->n_schedulers < RECENT_SCHEDULERS_MAX)
        copy = arena_copy(pods->names, name);
    if (!copy.ptr)
        return &pods->schedulers[RECENT_SCHEDULERS_MAX];
    scheduler = &pods->schedulers[pods->n_schedulers++];
    scheduler->shown.name = copy;
    return scheduler;
}

static void note_scheduler(
    RecentPods *pods, const FilterArgs *args, int64_t now_nsec, int64_t wall_nsec) {
    Scheduler *scheduler;

    if (str_is_empty(args->pod.scheduler_name))
        return;
    scheduler = get_scheduler(pods, args->pod.scheduler_name);
    scheduler->shown.n_filters++;
    scheduler->shown.last_wall_nsec = wall_nsec;
    if (args->n > 0)
        scheduler->last_nsec = now_nsec;
}

/* --- the functions of the header -------------------------------------------------------------- */

void recent_pods_begin_filter(RecentPods *pods) {
    (void)atomic_fetch_add(&pods->n_filters, 1);
}

/* Returns the number of a policy, existing or new; 0: it has no name, or there are too many. */
static uint32_t policy_number(RecentPods *pods, Str name) {
    if (str_is_empty(name) || pods->policies.strings.n == RECENT_POLICIES_MAX)
        return intern_find(&pods->policies, name);
    return intern_add(&pods->policies, name);
}

/* Guesses like past_main_rule() until the main reason is known. */
static Str policy_of(const View *view, const Decision *decision) {
    const Filter *filter = NULL;

    for (size_t i = 0; decision->rejected && i < view->program->n_filters; i++) {
        const Filter *other = view->program->filters[i];
        uint32_t n = decision->rejected[i];

        if (n > 0 && (!filter || filter->is_permanent ||
                         (!other->is_permanent && n > decision->rejected[filter->number])))
            filter = other;
    }
    return filter ? filter->policy->name : STR_NULL;
}

static void note_filter(RecentPods *pods, uint64_t hash, const DecisionSummary *summary,
    PassedNodes *passed, Str policy, int64_t now_nsec) {
    RecentPod *pod = get(pods, hash);

    pod->filter_nsec = now_nsec;
    pod->decision = pods->n_decisions;
    pod->is_deleted = false;
    if (!pod->is_in[LIST_PENDING]) {
        pod->pending_nsec = now_nsec;
        pod->policy = 0;
    }
    if (summary->n_out == 0 && pod->policy == 0)
        pod->policy = policy_number(pods, policy);
    (summary->n_out < summary->n_in ? enter : leave)(pods, LIST_PARKED, pod);
    (summary->n_out == 0 ? enter : leave)(pods, LIST_PENDING, pod);
    keep_passed(pods, pod, passed, now_nsec);
}

void recent_pods_note(RecentPods *pods, const View *view, Verb verb, const Decision *decision,
    int64_t now_nsec, int64_t wall_nsec) {
    uint64_t hash = hash_of(decision->pod_uid, decision->pod_namespace, decision->pod_name);
    bool is_filter = verb == VERB_FILTER;
    bool is_decided = is_filter && decision->args && decision->summary.n_in > 0;
    bool is_bound = verb == VERB_BIND && str_is_empty(decision->error);
    PassedNodes *passed =
        is_decided && pods->options.bytes_max > 0 ? passed_new(view, decision) : NULL;
    Str policy = is_decided && decision->summary.n_out == 0 ? policy_of(view, decision) : STR_NULL;
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod;

    pods->n_decisions++;
    if (is_filter && decision->args)
        note_scheduler(pods, decision->args, now_nsec, wall_nsec);
    if (is_decided)
        note_filter(pods, hash, &decision->summary, passed, policy, now_nsec);
    else if ((is_filter || is_bound) && (pod = find(pods, hash)))
        leave(pods, LIST_PENDING, pod);
    if (is_filter && atomic_load(&pods->n_filters) > 0)
        (void)atomic_fetch_sub(&pods->n_filters, 1);
}

void recent_pods_note_end(RecentPods *pods, Str uid, Str namespace, Str name, bool is_deleted) {
    uint64_t hash = hash_of(uid, namespace, name);
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod = find(pods, hash);

    if (!pod)
        return;
    pod->is_deleted |= is_deleted;
    leave(pods, LIST_PARKED, pod);
    leave(pods, LIST_PENDING, pod);
}

bool recent_pods_is_deleted(RecentPods *pods, Str uid, Str namespace, Str name) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    const RecentPod *pod = find(pods, hash_of(uid, namespace, name));

    return pod && pod->is_deleted;
}

void recent_pods_note_policy(RecentPods *pods, Str uid, Str namespace, Str name, Str policy) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod = find(pods, hash_of(uid, namespace, name));

    if (pod && pod->is_in[LIST_PENDING])
        pod->policy = policy_number(pods, policy);
}

bool recent_pods_is_bypass(RecentPods *pods, const Pod *pod, int64_t since_nsec) {
    uint64_t hash = hash_of(pod->uid, pod->namespace, pod->name);
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    const Scheduler *scheduler = find_scheduler(pods, pod->scheduler_name);

    return scheduler && scheduler->last_nsec >= since_nsec && !find(pods, hash);
}

int recent_pods_find_passed(
    RecentPods *pods, Str uid, Str node, const NodeNames *names, int64_t now_nsec, PodText **ret) {
    uint64_t hash = hash_of(uid, STR_NULL, STR_NULL);
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    const RecentPod *pod = find(pods, hash);

    *ret = NULL;
    if (!pod || !pod->passed)
        return PASSED_E_UNKNOWN;
    if (!has_passed(pod->passed, node, names))
        return PASSED_E_NODE;
    if (is_over(pods, pod, now_nsec))
        return PASSED_E_LATE;
    *ret = pod_text_ref(pod->passed->text);
    return 0;
}

/* A filter ends under the lock, after its pod is parked, so no state in between is visible. */
bool recent_pods_has_parked(RecentPods *pods, int64_t now_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod;

    while ((pod = oldest(pods, LIST_PARKED)) && now_nsec - pod->filter_nsec >= PARKED_NSEC)
        leave(pods, LIST_PARKED, pod);
    return pod || atomic_load(&pods->n_filters) > 0 || now_nsec < pods->doubtful_nsec;
}

void recent_pods_pending(RecentPods *pods, PendingFigures *ret) {
    uint64_t within = pods->options.pending_within;
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod;

    while ((pod = oldest(pods, LIST_PENDING)) && pods->n_decisions - pod->decision >= within)
        leave(pods, LIST_PENDING, pod);
    *ret = (PendingFigures){.n = pods->n_pending, .n_policies = pods->policies.strings.n + 1};
    for (size_t k = 1; k < ret->n_policies; k++)
        ret->policies[k].policy = pods->policies.strings.items[k - 1];
    for (uint32_t i = pods->ends[LIST_PENDING].older; i != NONE;
         i = pod->links[LIST_PENDING].newer) {
        assert(pods->pods);
        pod = &pods->pods[i];
        ret->policies[pod->policy].n++;
        ret->n_by_policies += pod->policy > 0;
        if (ret->oldest_nsec == 0 || pod->pending_nsec < ret->oldest_nsec)
            ret->oldest_nsec = pod->pending_nsec;
    }
}

bool recent_pods_event_is_due(RecentPods *pods, Str uid, int64_t age_nsec, int64_t now_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    const RecentPod *pod = find(pods, hash_str(uid));

    return !pod || pod->event_nsec == INT64_MIN || now_nsec - pod->event_nsec >= age_nsec;
}

void recent_pods_note_event(RecentPods *pods, Str uid, int64_t now_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    RecentPod *pod = find(pods, hash_str(uid));

    if (pod)
        pod->event_nsec = now_nsec;
}

size_t recent_pods_schedulers(RecentPods *pods, RecentScheduler ret[RECENT_SCHEDULERS_MAX + 1]) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);
    size_t n = 0;

    for (size_t i = 0; i <= RECENT_SCHEDULERS_MAX; i++)
        if (pods->schedulers[i].shown.n_filters > 0)
            ret[n++] = pods->schedulers[i].shown;
    return n;
}

void recent_pods_figures(RecentPods *pods, PassedFigures *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pods->lock);

    *ret = pods->figures;
}
