/*
 * Walks decisions once, oldest first: a filter starts an attempt, later verbs belong to it, and the
 * newest decisions of a pod give its state. Then one pass over the pods of the cluster finds those
 * that another scheduler has bound.
 */

#include "history/pods-summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "model/workload.h"

typedef struct Gathering {
    bool is_one;         /* only decisions about one pod, ... */
    Str namespace, name; /* ... this one */
    Arena *arena;
    PodsSummary *summary;
    Map by_key; /* index of a pod, by key_of() */
} Gathering;

static bool is_chosen(const Gathering *choice, const PastDecision *past) {
    if (str_is_empty(past->pod_name) && str_is_empty(past->pod_uid))
        return false; /* an unreadable request */
    return !choice->is_one ||
           (str_eq(past->pod_namespace, choice->namespace) && str_eq(past->pod_name, choice->name));
}

static void read_decisions(Gathering *gathering, Decisions *decisions) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = decisions};
    PodsSummary *summary = gathering->summary;
    DecisionsFigures figures;
    FoundDecision found;
    size_t n_max;

    decisions_figures(decisions, &figures);
    n_max = figures.n + DECISIONS_AT_ONCE; /* some may be added meanwhile */
    if (n_max > PODS_SUMMARY_DECISIONS_MAX)
        n_max = PODS_SUMMARY_DECISIONS_MAX;
    summary->found = ARENA_RAW(gathering->arena, FoundDecision, n_max);
    if (!summary->found)
        return;
    for (; summary->n_decisions < n_max && decisions_next(&walk, &found); summary->n_decisions++) {
        if (is_chosen(gathering, found.past))
            summary->found[summary->n_found++] = found;
        else
            found_done(&found);
    }
}

/* The UID, or namespace and name with a slash, which no UID has. ptr NULL: out of memory. */
static Str key_of(Arena *arena, Str uid, Str namespace, Str name) {
    if (!str_is_empty(uid))
        return uid;
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
}

/* Returns the pod of @past, existing or new. NULL when out of memory. */
static PodSummary *find_pod(Gathering *gathering, const PastDecision *past) {
    PodsSummary *summary = gathering->summary;
    uint32_t place;
    Str key;

    if (gathering->is_one) {
        summary->n = 1;
        return &summary->pods[0];
    }
    key = key_of(gathering->arena, past->pod_uid, past->pod_namespace, past->pod_name);
    place = map_find(&gathering->by_key, key);
    if (place == MAP_NONE &&
        (!key.ptr || map_add(&gathering->by_key, key, (uint32_t)summary->n) < 0))
        return NULL;
    return &summary->pods[place == MAP_NONE ? summary->n++ : place];
}

static void note_filter(PodSummary *pod, const FoundDecision *found) {
    const PastDecision *past = found->past;

    pod->filter = found;
    pod->n_passed = past->summary.n_out;
    pod->n_in = past->summary.n_in;
    pod->is_exempt = past->is_exempt;
    pod->is_waiting = past->summary.n_out == 0 && str_is_empty(past->error);
    pod->node = STR_NULL; /* it is scheduled again */
}

static void note(PodSummary *pod, const FoundDecision *found) {
    const PastDecision *past = found->past;

    if (pod->last_id == 0)
        pod->first_nsec = past->at_nsec;
    pod->last_id = past->id;
    pod->last_nsec = past->at_nsec;
    pod->namespace = past->pod_namespace;
    pod->name = past->pod_name;
    pod->uid = past->pod_uid;
    /* A filter starts an attempt, and so does any verb before the first kept filter. */
    pod->n_attempts += past->verb == VERB_FILTER || pod->n_attempts == 0;
    if (past->verb == VERB_FILTER) {
        note_filter(pod, found);
    } else if (past->verb == VERB_BIND && str_is_empty(past->error)) {
        pod->is_waiting = false;
        pod->node = past->node;
    }
}

#define REASON_MAX ((size_t)64 * 1024)

static void find_rule(Arena *arena, PodSummary *pod) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(REASON_MAX);
    const RuleName *rule = pod->filter ? past_main_rule(pod->filter->past) : NULL;

    if (!rule)
        return;
    past_print_reason(pod->filter->past, &reason);
    pod->policy = rule->policy;
    pod->rule = rule->name;
    pod->reason = arena_copy(arena, buf_str(&reason));
}

static void gather(Gathering *gathering) {
    PodsSummary *summary = gathering->summary;

    summary->pods =
        ARENA_ARRAY(gathering->arena, PodSummary, gathering->is_one ? 1 : summary->n_found);
    for (size_t i = summary->n_found; summary->pods && i-- > 0;) {
        PodSummary *pod = find_pod(gathering, summary->found[i].past);

        if (pod)
            note(pod, &summary->found[i]);
    }
    for (size_t i = 0; i < summary->n; i++)
        find_rule(gathering->arena, &summary->pods[i]);
}

/* Finds pods in the cluster by UID, or by name if they have none. The cluster may have a hundred
 * thousand pods, so nodes without a new pod since the first decision are skipped. */
typedef struct Search {
    Map by_key;
    bool has_names;    /* some pods have no UID */
    int64_t since_sec; /* since 1970; INT64_MIN: any time */
} Search;

/* How far the API server's clock may be behind berth's. */
#define CLOCK_SLACK_SEC 300

static void search_for(Gathering *gathering, Search *search) {
    for (size_t i = 0; i < gathering->summary->n; i++) {
        const PodSummary *pod = &gathering->summary->pods[i];
        Str key = key_of(gathering->arena, pod->uid, pod->namespace, pod->name);

        if (!str_is_empty(pod->node) || !key.ptr || map_add(&search->by_key, key, (uint32_t)i) < 0)
            continue;
        search->has_names |= str_is_empty(pod->uid);
        if (pod->is_waiting && pod->n_in <= 1)
            search->since_sec = INT64_MIN; /* a resized pod runs there already */
        else
            search->since_sec =
                clock_earlier(search->since_sec, pod->first_nsec / NSEC_PER_SEC - CLOCK_SLACK_SEC);
    }
}

static uint32_t find_searched(const Search *search, const Pod *pod) {
    uint32_t place = map_find(&search->by_key, pod->uid);
    char name[2 * PAST_NAME_MAX + 2];
    int len;

    if (place != MAP_NONE || !search->has_names)
        return place;
    len = snprintf(name, sizeof(name), "%.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name));
    return map_find(&search->by_key, str_of(name, (size_t)len < sizeof(name) ? (size_t)len : 0));
}

static void search_row(
    Gathering *gathering, const Search *search, const NodeTable *table, uint32_t row) {
    const PodList *list = table_chunk(table, row)->pods[table_slot(row)];
    int64_t placed_at = table_chunk(table, row)->placed_at[table_slot(row)];

    if (placed_at != 0 && placed_at < search->since_sec)
        return;
    for (uint32_t i = 0; list && i < list->n; i++) {
        uint32_t place = find_searched(search, list->items[i]);

        if (place == MAP_NONE)
            continue;
        gathering->summary->pods[place].node =
            arena_copy(gathering->arena, table->names->names[row]);
        gathering->summary->pods[place].is_waiting = false;
    }
}

static void find_bound_pods(Gathering *gathering, const View *view) {
    Search search = {.by_key = MAP_INIT_IN(gathering->arena), .since_sec = INT64_MAX};

    search_for(gathering, &search);
    if (search.by_key.n_used == 0)
        return;
    for (uint32_t row = 0; row < view->table->n_rows; row++)
        search_row(gathering, &search, view->table, row);
}

/* Lists attempts, newest first. If an attempt has a verb twice, the newer one counts. */
static void list_attempts(Gathering *gathering) {
    const PodsSummary *summary = gathering->summary;
    PodSummary *pod = &summary->pods[0];
    size_t place = pod->n_attempts;

    pod->attempts = ARENA_ARRAY(gathering->arena, PodAttempt, pod->n_attempts);
    for (size_t i = summary->n_found; pod->attempts && i-- > 0;) {
        const FoundDecision *found = &summary->found[i];

        if (found->past->verb == VERB_FILTER || place == pod->n_attempts)
            place--;
        pod->attempts[place].verbs[found->past->verb] = *found;
    }
}

static int compare_pods(const void *a, const void *b) {
    const PodSummary *x = a, *y = b;

    if (x->is_waiting != y->is_waiting)
        return x->is_waiting ? -1 : 1;
    return (x->last_id < y->last_id) - (x->last_id > y->last_id);
}

/* Makes a summary; the caller has set is_one and the pod of @gathering. */
static int make(Gathering *gathering, Decisions *decisions, RecentPods *recent, const View *view,
    Arena *arena, PodsSummary *ret) {
    *ret = (PodsSummary){0};
    if (!decisions)
        return 0;
    gathering->arena = arena;
    gathering->summary = ret;
    gathering->by_key = MAP_INIT_IN(arena);
    read_decisions(gathering, decisions);
    gather(gathering);
    find_bound_pods(gathering, view);
    if (gathering->is_one && ret->n > 0)
        list_attempts(gathering);
    if (arena_has_failed(arena)) {
        pods_summary_done(ret);
        return -ENOMEM;
    }
    for (size_t i = 0; i < ret->n; i++) {
        PodSummary *pod = &ret->pods[i];

        pod->is_waiting &=
            !recent || !recent_pods_is_deleted(recent, pod->uid, pod->namespace, pod->name);
        ret->n_waiting += pod->is_waiting;
    }
    if (ret->n > 1)
        qsort(ret->pods, ret->n, sizeof(*ret->pods), compare_pods);
    return 0;
}

int pods_summary_all(
    Decisions *decisions, RecentPods *recent, const View *view, Arena *arena, PodsSummary *ret) {
    return make(&(Gathering){.is_one = false}, decisions, recent, view, arena, ret);
}

int pods_summary_one(Decisions *decisions, RecentPods *recent, const View *view, Str namespace,
    Str name, Arena *arena, PodsSummary *ret) {
    return make(&(Gathering){.is_one = true, .namespace = namespace, .name = name}, decisions,
        recent, view, arena, ret);
}

void pods_summary_done(PodsSummary *summary) {
    for (size_t i = 0; i < summary->n_found; i++)
        found_done(&summary->found[i]);
    *summary = (PodsSummary){0};
}

static void add_group(ReasonGroup *groups, size_t *n, size_t max, ReasonGroup added) {
    size_t i = 0;

    if (added.n_nodes == 0)
        return;
    while (i < *n && !str_eq(groups[i].reason, added.reason))
        i++;
    if (i < *n)
        groups[i].n_nodes += added.n_nodes;
    else if (*n < max)
        groups[(*n)++] = added;
}

/* kube-scheduler sorts "COUNT REASON" as text: 10 comes before 2. */
static int compare_groups(const void *a, const void *b) {
    const ReasonGroup *x = a, *y = b;
    char first[32], second[32];
    int order;

    (void)snprintf(first, sizeof(first), "%zu ", x->n_nodes);
    (void)snprintf(second, sizeof(second), "%zu ", y->n_nodes);
    order = strcmp(first, second);
    return order != 0 ? order : str_cmp(x->reason, y->reason);
}

size_t attempt_reasons(const FoundDecision *filter, ReasonGroup *ret, size_t max) {
    const PastDecision *past = filter->past;
    size_t n = 0;

    if (!past)
        return 0;
    for (size_t i = 0; i < past->n_rules; i++) {
        const RuleName *rule = past_rule(past, i);

        add_group(ret, &n, max,
            (ReasonGroup){
                .reason = rule->reason,
                .n_nodes = past->rules[i].rejected,
                .policy = rule->policy,
                .rule = rule->name,
                .is_unresolvable = rule->is_unresolvable,
                .kind = OUTCOME_REJECTED,
            });
    }
    add_group(ret, &n, max,
        (ReasonGroup){STR(UNKNOWN_NODE_REASON), past->summary.n_unknown, .kind = OUTCOME_UNKNOWN});
    add_group(ret, &n, max,
        (ReasonGroup){STR(LATE_NODE_REASON), past->summary.n_late, .kind = OUTCOME_LATE});
    if (n > 1)
        qsort(ret, n, sizeof(*ret), compare_groups);
    return n;
}

/* --- pending pods in groups ------------------------------------------------------------------- */

#define POD_BUDGET ((size_t)8 * 1024 * 1024) /* for decoding one pod */

Str pod_summary_workload(const PodSummary *pod, Arena *arena) {
    Pod decoded;

    if (!pod->filter || !pod->filter->pod_text ||
        !pod_text_decode(pod->filter->pod_text, arena, &decoded))
        return STR_NULL;
    return workload_of(&decoded, arena);
}

static Str group_key(const PodSummary *pod, Str workload, Arena *arena) {
    if (str_is_empty(workload))
        return arena_printf(arena, "%.*s/%.*s %.*s", STR_FMT(pod->namespace), STR_FMT(pod->name),
            STR_FMT(pod->uid));
    return arena_printf(
        arena, "%.*s %.*s/%.*s", STR_FMT(workload), STR_FMT(pod->policy), STR_FMT(pod->rule));
}

/* Returns the group of the key, existing or new. NULL when out of memory. */
static PendingGroup *find_group(PendingGroups *groups, Map *by_key, Str key) {
    uint32_t place = key.ptr ? map_find(by_key, key) : MAP_NONE;

    if (place != MAP_NONE)
        return &groups->groups[place];
    if (!key.ptr || map_add(by_key, key, (uint32_t)groups->n) < 0)
        return NULL;
    return &groups->groups[groups->n++];
}

static int compare_pending(const void *a, const void *b) {
    const PendingGroup *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->first->first_nsec > y->first->first_nsec) -
           (x->first->first_nsec < y->first->first_nsec);
}

int pending_groups_make(const PodsSummary *summary, Arena *arena, PendingGroups *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(POD_BUDGET);
    Map by_key = MAP_INIT_IN(arena);

    *ret = (PendingGroups){.groups = ARENA_ARRAY(arena, PendingGroup, summary->n_waiting + 1)};
    if (!scratch || !ret->groups)
        return -ENOMEM;
    for (size_t i = 0; i < summary->n; i++) {
        const PodSummary *pod = &summary->pods[i];
        PendingGroup *group;
        Str workload;

        if (!pod->is_waiting)
            continue;
        arena_reset(scratch);
        workload = arena_copy(arena, pod_summary_workload(pod, scratch));
        group = find_group(ret, &by_key, group_key(pod, workload, arena));
        if (!group)
            return -ENOMEM;
        group->workload = workload;
        if (group->n == 0 || pod->first_nsec < group->first->first_nsec)
            group->first = pod;
        if (group->n == 0 || pod->last_nsec > group->last->last_nsec)
            group->last = pod;
        group->n++;
        ret->n_pods++;
    }
    qsort(ret->groups, ret->n, sizeof(*ret->groups), compare_pending);
    return 0;
}
