/*
 * Walks decisions once, the oldest first: a filter starts an attempt, later verbs belong to it, and
 * the newest decisions of a pod give its state. Pods that another scheduler bound are found
 * afterwards, in one pass over the pods of the cluster.
 */

#include "history/pods-summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/nsec.h"

/* How many decisions are taken between two takings of the lock that decisions wait for. */
#define READ_AT_ONCE 64u

/* Whose decisions are wanted. */
typedef struct PodChoice {
    bool is_one;
    Str namespace, name, uid; /* of that one; an empty uid: any */
} PodChoice;

/* A pod while it is put together. */
typedef struct Gathered {
    PodSummary summary;
    uint64_t last_id;
} Gathered;

typedef struct Gathering {
    Arena *arena;
    const PodChoice *choice;
    PodsSummary *summary;
    Map by_uid, by_name; /* indexes of pods; the second for pods without a UID */
    Gathered *pods;      /* as many as there are decisions at most */
    size_t n_pods;
    size_t n_max; /* decisions that there is room for */
} Gathering;

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_chosen(const PodChoice *choice, const PastDecision *past) {
    if (str_is_empty(past->pod_name) && str_is_empty(past->pod_uid))
        return false; /* a request that could not be read */
    return !choice->is_one ||
           (str_eq(past->pod_namespace, choice->namespace) &&
               str_eq(past->pod_name, choice->name) &&
               (str_is_empty(choice->uid) || str_eq(past->pod_uid, choice->uid)));
}

/* Reads up to READ_AT_ONCE more below @below; releases those that are not chosen. Returns how many
 * there were, and through @below where to continue. */
static size_t read_some(Gathering *gathering, Decisions *decisions, uint64_t *below) {
    PodsSummary *summary = gathering->summary;
    size_t room = gathering->n_max - summary->n_decisions;
    FoundDecision some[READ_AT_ONCE];
    size_t n = decisions_read(decisions, *below, some, room < READ_AT_ONCE ? room : READ_AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        *below = some[i].past->id;
        if (is_chosen(gathering->choice, some[i].past))
            summary->found[summary->n_found++] = some[i];
        else
            found_done(&some[i]);
    }
    summary->n_decisions += n;
    return n;
}

static int read_decisions(Gathering *gathering, Decisions *decisions) {
    PodsSummary *summary = gathering->summary;
    DecisionsFigures figures;
    uint64_t below = 0;

    decisions_figures(decisions, &figures);
    gathering->n_max = figures.n + READ_AT_ONCE; /* some may come meanwhile */
    if (gathering->n_max > PODS_SUMMARY_DECISIONS_MAX)
        gathering->n_max = PODS_SUMMARY_DECISIONS_MAX;
    summary->found = ARENA_RAW(gathering->arena, FoundDecision, gathering->n_max);
    if (!summary->found)
        return -ENOMEM;
    while (read_some(gathering, decisions, &below) > 0)
        ;
    return 0;
}

/* --- pods ------------------------------------------------------------------------------------- */

static Gathered *new_pod(Gathering *gathering) {
    return &gathering->pods[gathering->n_pods++];
}

/* The pod at the key @key of @map, new or old. NULL when out of memory. */
static Gathered *find_by(Gathering *gathering, Map *map, Str key) {
    uint32_t place = map_find(map, key);

    if (place != MAP_NONE)
        return &gathering->pods[place];
    if (map_add(map, key, (uint32_t)gathering->n_pods) < 0)
        return NULL;
    return new_pod(gathering);
}

static Str full_name(Arena *arena, Str namespace, Str name) {
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name));
}

static Gathered *find_pod(Gathering *gathering, const PastDecision *past) {
    Str name;

    if (gathering->choice->is_one)
        return gathering->n_pods > 0 ? &gathering->pods[0] : new_pod(gathering);
    if (!str_is_empty(past->pod_uid))
        return find_by(gathering, &gathering->by_uid, past->pod_uid);
    name = full_name(gathering->arena, past->pod_namespace, past->pod_name);
    return name.ptr ? find_by(gathering, &gathering->by_name, name) : NULL;
}

/* --- the state of a pod ----------------------------------------------------------------------- */

static void note_filter(Gathered *pod, const FoundDecision *found) {
    const PastDecision *past = found->past;

    pod->summary.filter = found;
    pod->summary.n_passed = past->summary.n_out;
    pod->summary.n_in = past->summary.n_in;
    pod->summary.is_exempt = past->is_exempt;
    pod->summary.is_waiting = past->summary.n_out == 0 && str_is_empty(past->error);
    pod->summary.node = STR_NULL; /* it is placed again */
}

static void note(Gathered *pod, const FoundDecision *found) {
    const PastDecision *past = found->past;
    PodSummary *summary = &pod->summary;

    if (pod->last_id == 0)
        summary->first_nsec = past->at_nsec;
    pod->last_id = past->id;
    summary->last_nsec = past->at_nsec;
    summary->namespace = past->pod_namespace;
    summary->name = past->pod_name;
    summary->uid = past->pod_uid;
    /* A filter starts an attempt; so does any verb before the first filter that is kept. */
    summary->n_attempts += past->verb == VERB_FILTER || summary->n_attempts == 0;
    if (past->verb == VERB_FILTER) {
        note_filter(pod, found);
    } else if (past->verb == VERB_BIND && str_is_empty(past->error)) {
        summary->is_waiting = false;
        summary->node = past->node;
    }
}

#define REASON_MAX ((size_t)64 * 1024)

/* False: out of memory. */
static bool find_rule(const Gathering *gathering, Gathered *pod) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(REASON_MAX);
    const FoundDecision *filter = pod->summary.filter;
    const RuleName *rule = filter ? past_main_rule(filter->past) : NULL;

    if (!rule)
        return true;
    past_print_reason(filter->past, &reason);
    pod->summary.policy = rule->policy;
    pod->summary.rule = rule->name;
    pod->summary.reason = arena_copy(gathering->arena, buf_str(&reason));
    return pod->summary.reason.ptr != NULL;
}

static int gather(Gathering *gathering) {
    const PodsSummary *summary = gathering->summary;

    gathering->pods =
        ARENA_ARRAY(gathering->arena, Gathered, gathering->choice->is_one ? 1 : summary->n_found);
    if (!gathering->pods)
        return -ENOMEM;
    for (size_t i = summary->n_found; i-- > 0;) {
        Gathered *pod = find_pod(gathering, summary->found[i].past);

        if (!pod)
            return -ENOMEM;
        note(pod, &summary->found[i]);
    }
    for (size_t i = 0; i < gathering->n_pods; i++)
        if (!find_rule(gathering, &gathering->pods[i]))
            return -ENOMEM;
    return 0;
}

/* --- where pods run --------------------------------------------------------------------------- */

/* Finds pods in the cluster by UID, or by name if they have none. There may be a hundred thousand
 * to compare with, so nodes where no pod was placed since the first decision are skipped. */
typedef struct Search {
    Map by_uid, by_name;
    int64_t since_sec; /* since 1970; INT64_MIN: whenever */
    Arena *scratch;
} Search;

/* How far the API server's clock may be behind ours. */
#define CLOCK_SLACK_SEC 300

/* A pod filtered with a single node may already run there: it is being resized. */
static void search_since(Search *search, const PodSummary *pod) {
    int64_t at_sec = pod->first_nsec / NSEC_PER_SEC - CLOCK_SLACK_SEC;

    if (pod->is_waiting && pod->n_in <= 1)
        at_sec = INT64_MIN;
    if (at_sec < search->since_sec)
        search->since_sec = at_sec;
}

static int search_for(Gathering *gathering, Search *search) {
    for (size_t i = 0; i < gathering->n_pods; i++) {
        const PodSummary *pod = &gathering->pods[i].summary;
        bool has_uid = !str_is_empty(pod->uid);
        Map *map = has_uid ? &search->by_uid : &search->by_name;
        Str key = has_uid ? pod->uid : full_name(gathering->arena, pod->namespace, pod->name);

        if (!str_is_empty(pod->node))
            continue;
        if (!key.ptr || map_add(map, key, (uint32_t)i) < 0)
            return -ENOMEM;
        search_since(search, pod);
    }
    return 0;
}

static uint32_t find_searched(const Search *search, const Pod *pod) {
    uint32_t place = search->by_uid.n_used > 0 ? map_find(&search->by_uid, pod->uid) : MAP_NONE;
    Str name;

    if (place != MAP_NONE || search->by_name.n_used == 0)
        return place;
    arena_reset(search->scratch);
    name = full_name(search->scratch, pod->namespace, pod->name);
    return name.ptr ? map_find(&search->by_name, name) : MAP_NONE;
}

static void look_at_row(
    Gathering *gathering, const Search *search, const NodeTable *table, uint32_t row) {
    const PodList *list = table_chunk(table, row)->pods[table_slot(row)];
    int64_t placed_at = table_chunk(table, row)->placed_at[table_slot(row)];

    if (placed_at != 0 && placed_at < search->since_sec)
        return;
    for (uint32_t i = 0; list && i < list->n; i++) {
        uint32_t place = find_searched(search, list->items[i]);

        if (place == MAP_NONE)
            continue;
        gathering->pods[place].summary.node =
            arena_copy(gathering->arena, table->names->names[row]);
        gathering->pods[place].summary.is_waiting = false;
    }
}

#define SCRATCH_BUDGET ((size_t)64 * 1024)

static int look_up(Gathering *gathering, const View *view) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    Search search = {.by_uid = MAP_INIT_IN(gathering->arena),
        .by_name = MAP_INIT_IN(gathering->arena),
        .since_sec = INT64_MAX,
        .scratch = scratch};
    int r = scratch ? search_for(gathering, &search) : -ENOMEM;

    if (r < 0)
        return r;
    if (search.by_uid.n_used + search.by_name.n_used == 0)
        return 0;
    for (uint32_t row = 0; row < view->table->n_rows; row++)
        look_at_row(gathering, &search, view->table, row);
    return arena_has_failed(gathering->arena) ? -ENOMEM : 0;
}

/* --- attempts --------------------------------------------------------------------------------- */

static FoundDecision *attempt_field(PodAttempt *attempt, Verb verb) {
    return verb == VERB_FILTER       ? &attempt->filter
           : verb == VERB_PRIORITIZE ? &attempt->prioritize
           : verb == VERB_PREEMPT    ? &attempt->preempt
                                     : &attempt->bind;
}

/* Within one attempt the newer decision of a verb counts. */
static int list_attempts(Gathering *gathering) {
    const PodsSummary *summary = gathering->summary;
    PodSummary *pod = &gathering->pods[0].summary;
    size_t place = pod->n_attempts;

    pod->attempts = ARENA_ARRAY(gathering->arena, PodAttempt, pod->n_attempts);
    if (!pod->attempts)
        return -ENOMEM;
    for (size_t i = summary->n_found; i-- > 0;) {
        const FoundDecision *found = &summary->found[i];

        if (found->past->verb == VERB_FILTER || place == pod->n_attempts)
            place--;
        *attempt_field(&pod->attempts[place], found->past->verb) = *found;
    }
    return 0;
}

/* --- all together ----------------------------------------------------------------------------- */

static int compare_pods(const void *a, const void *b) {
    const Gathered *x = a, *y = b;

    if (x->summary.is_waiting != y->summary.is_waiting)
        return x->summary.is_waiting ? -1 : 1;
    return (x->last_id < y->last_id) - (x->last_id > y->last_id);
}

static int hand_out(Gathering *gathering) {
    PodsSummary *summary = gathering->summary;

    summary->pods = ARENA_RAW(gathering->arena, PodSummary, gathering->n_pods);
    if (!summary->pods)
        return -ENOMEM;
    if (gathering->n_pods > 1)
        qsort(gathering->pods, gathering->n_pods, sizeof(*gathering->pods), compare_pods);
    summary->n = gathering->n_pods;
    for (size_t i = 0; i < summary->n; i++) {
        summary->pods[i] = gathering->pods[i].summary;
        summary->n_waiting += summary->pods[i].is_waiting;
    }
    return 0;
}

static void note_deleted(Gathering *gathering, RecentPods *recent) {
    for (size_t i = 0; i < gathering->n_pods; i++) {
        PodSummary *pod = &gathering->pods[i].summary;

        if (pod->is_waiting && recent_pods_is_deleted(recent, pod->uid, pod->namespace, pod->name))
            pod->is_waiting = false;
    }
}

static int make(Decisions *decisions, RecentPods *recent, const View *view, const PodChoice *choice,
    Arena *arena, PodsSummary *ret) {
    Gathering gathering = {
        .arena = arena,
        .choice = choice,
        .summary = ret,
        .by_uid = MAP_INIT_IN(arena),
        .by_name = MAP_INIT_IN(arena),
    };
    int r;

    *ret = (PodsSummary){0};
    if (!decisions)
        return 0;
    r = read_decisions(&gathering, decisions);
    if (r == 0)
        r = gather(&gathering);
    if (r == 0)
        r = look_up(&gathering, view);
    if (r == 0 && recent)
        note_deleted(&gathering, recent);
    if (r == 0 && choice->is_one && gathering.n_pods > 0)
        r = list_attempts(&gathering);
    if (r == 0)
        r = hand_out(&gathering);
    if (r < 0)
        pods_summary_done(ret);
    return r;
}

int pods_summary_all(
    Decisions *decisions, RecentPods *recent, const View *view, Arena *arena, PodsSummary *ret) {
    const PodChoice choice = {.is_one = false};

    return make(decisions, recent, view, &choice, arena, ret);
}

int pods_summary_one(Decisions *decisions, RecentPods *recent, const View *view, Str namespace,
    Str name, Str uid, Arena *arena, PodsSummary *ret) {
    const PodChoice choice = {.is_one = true, .namespace = namespace, .name = name, .uid = uid};

    return make(decisions, recent, view, &choice, arena, ret);
}

void pods_summary_done(PodsSummary *summary) {
    for (size_t i = 0; i < summary->n_found; i++)
        found_done(&summary->found[i]);
    *summary = (PodsSummary){0};
}

/* --- reasons ---------------------------------------------------------------------------------- */

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

    for (size_t i = 0; past && i < past->n_rules; i++) {
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
    if (past) {
        add_group(ret, &n, max,
            (ReasonGroup){.reason = STR(UNKNOWN_NODE_REASON),
                .n_nodes = past->summary.n_unknown,
                .kind = OUTCOME_UNKNOWN});
        add_group(ret, &n, max,
            (ReasonGroup){.reason = STR(LATE_NODE_REASON),
                .n_nodes = past->summary.n_late,
                .kind = OUTCOME_LATE});
    }
    if (n > 1)
        qsort(ret, n, sizeof(*ret), compare_groups);
    return n;
}
