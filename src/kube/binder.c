/* Judges bind jobs one by one, assumes their pods in the store, sends Bindings, reports results. */

#include "kube/binder.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cluster/record.h"
#include "kube/binding.h"

#define UID_MAX_BYTES 128u

/* One job, and later jobs for the same pod and node. */
typedef struct Entry {
    Binder *binder;
    struct Entry *next;      /* in its list */
    struct Entry *followers; /* jobs with the same UID and node */
    BindJob *job;
    Binding *binding; /* NULL: not sent yet */
    int64_t deadline;
    bool is_assumed;      /* this job has assumed the pod */
    bool was_read;        /* the pod was read, as it might be on another node */
    const Pod *before;    /* a reference: the pod as assumed before this job; NULL: it was not */
    int64_t before_until; /* when @before expires */
} Entry;

typedef struct EntryList {
    Entry *first, **end; /* end: points to the NULL at the end */
} EntryList;

struct Binder {
    BinderOptions options;
    EntryList waiting, sent;
    EntryList expected; /* jobs that end when their assumed pods are published */
    size_t n_sent;
    int64_t undecided_until; /* monotonic: end of Bindings with unknown result */
};

static void list_push(EntryList *list, Entry *entry) {
    entry->next = NULL;
    *list->end = entry;
    list->end = &entry->next;
}

static void list_push_front(EntryList *list, Entry *entry) {
    entry->next = list->first;
    if (!list->first)
        list->end = &entry->next;
    list->first = entry;
}

static Entry *list_pop(EntryList *list) {
    Entry *entry = list->first;

    if (!entry)
        return NULL;
    list->first = entry->next;
    if (!list->first)
        list->end = &list->first;
    entry->next = NULL;
    return entry;
}

static void list_remove(EntryList *list, Entry *entry) {
    Entry **at = &list->first;

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    if (!*at)
        list->end = at;
}

Binder *binder_new(const BinderOptions *options) {
    Binder *binder = calloc(1, sizeof(*binder));

    if (!binder)
        return NULL;
    binder->options = *options;
    binder->waiting.end = &binder->waiting.first;
    binder->sent.end = &binder->sent.first;
    binder->expected.end = &binder->expected.first;
    return binder;
}

static void finish_job(Binder *binder, BindJob *job, BindEnd end, const char *error) {
    job->done(job, error);
    binder->options.ended(binder->options.context, end);
}

/* Notifies the job and its followers, and frees the entry, which is in no list. */
static void settle(Entry *entry, BindEnd end, const char *error) {
    Binder *binder = entry->binder;
    Entry *follower = entry->followers;

    while (follower) {
        Entry *next = follower->next;

        finish_job(binder, follower->job, end, error);
        free(follower);
        follower = next;
    }
    binding_free(entry->binding);
    pod_record_unref(entry->before);
    finish_job(binder, entry->job, end, error);
    free(entry);
}

static void settle_all(EntryList *list, BindEnd end, const char *error) {
    Entry *entry;

    while ((entry = list_pop(list)))
        settle(entry, end, error);
}

Binder *binder_free(Binder *binder) {
    if (!binder)
        return NULL;
    settle_all(&binder->waiting, BIND_FAILED, "berth is shutting down");
    settle_all(&binder->sent, BIND_FAILED, "berth is shutting down");
    binder_settle_expected(binder);
    free(binder);
    return NULL;
}

/* --- before a job is sent ------------------------------------------------------------- */

static const char *job_complaint(const BindJob *job) {
    if (!node_name_is_valid(job->namespace) || !node_name_is_valid(job->name))
        return "the pod has no valid namespace and name";
    if (!node_name_is_valid(job->node) && !(job->is_expected && str_is_empty(job->node)))
        return "the node has no valid name";
    if (job->uid.len == 0 || job->uid.len > UID_MAX_BYTES)
        return "the pod has no valid UID";
    if (!str_eq(job->pod->uid, job->uid) || !str_eq(job->pod->name, job->name) ||
        !str_eq(job->pod->namespace, job->namespace))
        return "the bind is for another pod than the filter";
    return NULL;
}

/* Whether the watch has already shown that the pod has a node; with an @error if it is another
 * node. */
static bool is_known(Binder *binder, const BindJob *job, char *error) {
    const Pod *pod = store_find_pod(binder->options.store, job->namespace, job->name);

    if (!pod || !str_eq(pod->uid, job->uid) || str_is_empty(pod->node_name))
        return false;
    if (!str_eq(pod->node_name, job->node))
        (void)snprintf(error, WATCHER_ERROR_MAX, "the pod is on node %.*s already",
            STR_FMT(str_take(pod->node_name, NODE_NAME_MAX)));
    return true;
}

static bool judge(Binder *binder, BindJob *job, char *error) {
    Snapshot *snapshot = binder->options.snapshot(binder->options.context);

    if (!snapshot) {
        (void)snprintf(error, WATCHER_ERROR_MAX, "the cluster is not known yet");
        return false;
    }
    if (job->judge(job, snapshot, error))
        return true;
    if (error[0] == '\0')
        (void)snprintf(error, WATCHER_ERROR_MAX, "the node was rejected");
    return false;
}

/* The job's pod as the watch will show it on @node: bound now, or when it was first assumed
 * there. */
static Pod bound_pod(const Entry *entry, Str node) {
    Pod pod = *entry->job->pod;

    pod.is_guessed = entry->job->is_expected && entry->job->is_guessed;
    if (entry->before && str_eq(entry->before->node_name, node))
        pod.scheduled_at = entry->before->scheduled_at;
    else
        pod.scheduled_at = clock_wall_nsec() / NSEC_PER_SEC;
    return pod;
}

/* Assumes the job's pod on @node; results of store_assume(). */
static int assume_on(Entry *entry, Str node) {
    Store *store = entry->binder->options.store;
    int seconds = entry->job->is_expected ? WATCHER_EXPECT_SEC : WATCHER_ASSUME_SEC;
    int64_t until = clock_monotonic_nsec() + seconds * NSEC_PER_SEC;
    const Pod *before = store_find_assumed(store, entry->job->uid, &entry->before_until);
    Pod pod;

    pod_record_unref(entry->before);
    entry->before = before ? pod_record_ref(before) : NULL;
    pod = bound_pod(entry, node);
    return store_assume(store, &pod, node, until);
}

static bool assume(Entry *entry, char *error) {
    int r = assume_on(entry, entry->job->node);

    entry->is_assumed = r == 0;
    if (r != 0)
        (void)snprintf(error, WATCHER_ERROR_MAX,
            r == STORE_FULL ? "too many pods are being bound" : "out of memory for the bind");
    return r == 0;
}

/* Whether an earlier job may have bound the pod to another node, which the watch has not shown yet;
 * *ret_decided_at: when its Binding can no longer be committed. */
static bool may_be_elsewhere(const Entry *entry, int64_t *ret_decided_at) {
    int64_t until;
    const Pod *assumed = store_find_assumed(entry->binder->options.store, entry->job->uid, &until);

    if (!assumed || str_eq(assumed->node_name, entry->job->node))
        return false;
    *ret_decided_at = until + (WATCHER_BIND_SEC - WATCHER_ASSUME_SEC) * NSEC_PER_SEC;
    return true;
}

/* --- after --------------------------------------------------------------------------------- */

static void start_waiting(Binder *binder);

/* This job has not bound the pod. If an earlier one may have, restores its assumed pod. */
static void take_back(const Entry *entry) {
    Store *store = entry->binder->options.store;

    if (!entry->before ||
        store_assume(store, entry->before, entry->before->node_name, entry->before_until) != 0)
        store_forget(store, entry->job->uid);
}

/* Counts the pod on the node where it was found until the watch shows it. Errors are ignored, since
 * the watch will show it. */
static void note_found(Entry *entry, BindingOutcome outcome) {
    Str found_on = binding_found_on(entry->binding);

    if (outcome == BINDING_FAILED && entry->is_assumed)
        take_back(entry);
    if (node_name_is_valid(found_on))
        (void)assume_on(entry, found_on);
    else if (outcome == BINDING_BOUND && !entry->is_assumed)
        (void)assume_on(entry, entry->job->node);
}

/* The result is unknown: the API server may commit the Binding until BINDING_POST_SEC from now,
 * because this process may have been halted before it sent it. The pod counts at least that long
 * (may_be_elsewhere()). */
static void note_unknown(Entry *entry) {
    Binder *binder = entry->binder;
    Store *store = binder->options.store;
    int64_t until, least;
    const Pod *assumed = store_find_assumed(store, entry->job->uid, &until);

    binder->undecided_until = clock_monotonic_nsec() + BINDING_POST_SEC * NSEC_PER_SEC;
    least = binder->undecided_until + (WATCHER_ASSUME_SEC - WATCHER_BIND_SEC) * NSEC_PER_SEC;
    if (entry->is_assumed && assumed && until < least)
        (void)store_assume(store, assumed, assumed->node_name, least);
}

static void on_bound(void *context, BindingOutcome outcome, const char *error) {
    Entry *entry = context;
    Binder *binder = entry->binder;

    list_remove(&binder->sent, entry);
    binder->n_sent--;
    if (outcome == BINDING_UNKNOWN)
        note_unknown(entry);
    if (outcome == BINDING_UNBOUND) { /* it has no node: try this one */
        entry->was_read = true;
        store_forget(binder->options.store, entry->job->uid);
        entry->binding = binding_free(entry->binding);
        list_push_front(&binder->waiting, entry); /* it has the earliest deadline */
    } else {
        note_found(entry, outcome);
        settle(entry, error ? BIND_FAILED : BIND_BOUND, error);
    }
    start_waiting(binder);
}

static bool may_send(const Binder *binder, char *error) {
    const BinderOptions *options = &binder->options;

    return !options->may_send || options->may_send(options->context, error);
}

static bool may_leave(void *context) {
    const Entry *entry = context;

    return may_send(entry->binder, NULL);
}

/* When the Binding must have ended. If reading the pod took nearly all the time, leaves enough for
 * one more read and for the Binding. */
static int64_t deadline_of(const Entry *entry, bool only_reads, int64_t decided_at) {
    int64_t least = entry->deadline;

    if (only_reads)
        least = decided_at + BINDING_GET_SEC * NSEC_PER_SEC;
    else if (entry->was_read)
        least = clock_monotonic_nsec() + BINDING_POST_SEC * NSEC_PER_SEC;
    return entry->deadline < least ? least : entry->deadline;
}

/* Sends the Binding, or if the pod may be elsewhere, reads it. */
static bool send(Entry *entry, char *error) {
    const BindJob *job = entry->job;
    int64_t decided_at = 0;
    bool only_reads = may_be_elsewhere(entry, &decided_at);
    const BindingOptions options = {
        .client = entry->binder->options.client,
        .only_reads = only_reads,
        .decided_nsec = decided_at,
        .deadline_nsec = deadline_of(entry, only_reads, decided_at),
        .namespace = job->namespace,
        .name = job->name,
        .uid = job->uid,
        .node = job->node,
        .annotations = job->annotations,
        .context = entry,
        .may_send = may_leave,
        .done = on_bound,
    };

    entry->binding = binding_new(&options);
    if (!entry->binding) {
        if (entry->is_assumed)
            take_back(entry);
        (void)snprintf(error, WATCHER_ERROR_MAX, "out of memory for the Binding");
        return false;
    }
    list_push(&entry->binder->sent, entry);
    entry->binder->n_sent++;
    return true;
}

/* Ends the entry, which is in no list, if its pod already has a node. True: the entry is freed. */
static bool settle_known(Entry *entry) {
    char error[WATCHER_ERROR_MAX] = "";

    if (!is_known(entry->binder, entry->job, error))
        return false;
    settle(entry, error[0] ? BIND_FAILED : BIND_BOUND, error[0] ? error : NULL);
    return true;
}

/* Starts an entry, which is in no list; afterwards it is in @sent, or freed. */
static void start(Entry *entry) {
    Binder *binder = entry->binder;
    char error[WATCHER_ERROR_MAX] = "";
    int64_t decided_at;
    bool reads_first;

    if (settle_known(entry))
        return;
    reads_first = may_be_elsewhere(entry, &decided_at);
    if (!reads_first && !judge(binder, entry->job, error)) {
        settle(entry, BIND_REFUSED, error);
        return;
    }
    if ((!reads_first && !assume(entry, error)) || !send(entry, error))
        settle(entry, BIND_FAILED, error);
}

static void start_waiting(Binder *binder) {
    while (binder->waiting.first && binder->n_sent < BINDER_CALLS_MAX && may_send(binder, NULL))
        start(list_pop(&binder->waiting));
}

/* Ends and frees an entry, which is in no list, that was not sent in time. */
static void give_up(Entry *entry) {
    char error[WATCHER_ERROR_MAX] = "";

    if (settle_known(entry)) /* another replica has bound it */
        return;
    if (may_send(entry->binder, error))
        (void)snprintf(error, sizeof(error),
            "too many pods are being bound: the bind timed out before it was sent");
    settle(entry, BIND_FAILED, error);
}

/* NULL when out of memory; the job has failed then. */
static Entry *new_entry(Binder *binder, BindJob *job) {
    Entry *entry = calloc(1, sizeof(*entry));

    if (!entry) {
        finish_job(binder, job, BIND_FAILED, "out of memory for the bind");
        return NULL;
    }
    entry->binder = binder;
    entry->job = job;
    entry->deadline = clock_monotonic_nsec() + WATCHER_BIND_SEC * NSEC_PER_SEC;
    return entry;
}

/* --- pods that kube-scheduler will bind ------------------------------------------------------ */

/* Counts the pod on its node, if judge() agrees, and no longer on another node. */
static void expect(Binder *binder, BindJob *job) {
    char error[WATCHER_ERROR_MAX] = "";
    Entry *entry;

    if (str_is_empty(job->node) || store_was_removed(binder->options.store, job->uid) ||
        is_known(binder, job, error)) {
        store_forget(binder->options.store, job->uid);
        finish_job(binder, job, BIND_EXPECTED, NULL);
        return;
    }
    entry = new_entry(binder, job);
    if (!entry)
        return;
    if (!judge(binder, job, error)) {
        store_forget(binder->options.store, job->uid);
        settle(entry, BIND_REFUSED, error);
    } else if (!assume(entry, error)) {
        settle(entry, BIND_EXPECTED, error);
    } else {
        list_push(&binder->expected, entry);
    }
}

void binder_settle_expected(Binder *binder) {
    settle_all(&binder->expected, BIND_EXPECTED, NULL);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static Entry *find(const EntryList *list, Str uid) {
    for (Entry *entry = list->first; entry; entry = entry->next)
        if (str_eq(entry->job->uid, uid))
            return entry;
    return NULL;
}

/* Whether the job was added to another job for the same pod, or failed because of it. */
static bool join(Binder *binder, BindJob *job) {
    Entry *other = find(&binder->sent, job->uid), *entry;
    char error[WATCHER_ERROR_MAX];

    if (!other)
        other = find(&binder->waiting, job->uid);
    if (!other)
        return false;
    if (!str_eq(other->job->node, job->node)) {
        (void)snprintf(error, sizeof(error), "the pod is being bound to node %.*s",
            STR_FMT(str_take(other->job->node, NODE_NAME_MAX)));
        finish_job(binder, job, BIND_FAILED, error);
        return true;
    }
    entry = new_entry(binder, job);
    if (entry) {
        entry->next = other->followers;
        other->followers = entry;
    }
    return true;
}

void binder_add(Binder *binder, BindJob *job) {
    const char *fault = job_complaint(job);
    Entry *entry;

    if (fault) {
        finish_job(binder, job, job->is_expected ? BIND_EXPECTED : BIND_FAILED, fault);
        return;
    }
    if (job->is_expected) {
        expect(binder, job);
        return;
    }
    if (join(binder, job))
        return;
    entry = new_entry(binder, job);
    if (!entry || settle_known(entry)) /* even without the lease */
        return;
    list_push(&binder->waiting, entry);
    start_waiting(binder);
}

bool binder_is_idle(const Binder *binder) {
    return !binder->waiting.first && !binder->sent.first;
}

bool binder_is_decided(const Binder *binder) {
    return binder_is_idle(binder) && clock_monotonic_nsec() >= binder->undecided_until;
}

int64_t binder_tick(Binder *binder, int64_t now_nsec) {
    int64_t next_at = INT64_MAX;

    /* The list is sorted by deadline. */
    while (binder->waiting.first && now_nsec >= binder->waiting.first->deadline)
        give_up(list_pop(&binder->waiting));
    start_waiting(binder);
    for (Entry *entry = binder->sent.first, *next; entry; entry = next) {
        int64_t at;

        next = entry->next; /* binding_tick() may free this entry, but no other */
        at = binding_tick(entry->binding, now_nsec);
        next_at = at < next_at ? at : next_at;
    }
    if (binder->waiting.first && binder->waiting.first->deadline < next_at)
        next_at = binder->waiting.first->deadline;
    return next_at;
}
