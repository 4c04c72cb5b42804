/* berth in this process: a Store of the simulated cluster, and the View that the verbs use. */

#include "simulate/berth-extender.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/store.h"
#include "scheduler/view-verbs.h"

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)

struct BerthExtender {
    ViewParts parts; /* without a snapshot */
    ViewVerbs verbs;
    const ClusterState *cluster;
    Store *store;
    View *view; /* may be NULL, or older than the store, between calls */
    Arena *scratch;
    uint32_t *rows; /* row of the cluster's table to row of the view's */
};

/* Makes the view of the current cluster, if that has changed. */
static int refresh(BerthExtender *berth) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    ViewParts parts = berth->parts;
    View *view = NULL;
    int r;

    if (berth->view && !store_is_dirty(berth->store))
        return 0;
    r = store_publish(berth->store, &snapshot);
    parts.snapshot = snapshot;
    if (r == 0)
        r = view_new(&parts, berth->view, &view);
    if (r < 0)
        return r;
    view_unref(berth->view);
    berth->view = view;
    return 0;
}

static bool has_key(const NodeParts *parts, Str key) {
    return parts->all_labels || str_is_one_of(key, parts->labels, parts->n_labels);
}

/* Keeps only the labels that policies read: nodes have dozens of others. */
static int add_node(BerthExtender *berth, const Node *from) {
    const Program *program = berth->parts.program;
    Label *labels = ARENA_ARRAY(berth->scratch, Label, from->labels.n);
    Node node = *from;
    size_t n = 0;
    int r;

    if (!labels)
        return -ENOMEM;
    for (size_t i = 0; i < from->labels.n; i++)
        if (has_key(&program->filter_parts, from->labels.items[i].key) ||
            has_key(&program->score_parts, from->labels.items[i].key))
            labels[n++] = from->labels.items[i];
    node.labels = (Labels){.items = labels, .n = n};
    r = store_apply_node(berth->store, &node);
    arena_reset(berth->scratch);
    return r < 0 ? r : r == STORE_FULL ? -ENOMEM : 0;
}

/* Adds all nodes in the order of the scheduler, so that the nodes of one call are adjacent. */
static int add_nodes(BerthExtender *berth) {
    const NodeTable *table = berth->cluster->table;
    int r = 0;

    for (size_t i = 0; r == 0 && i < berth->cluster->n_order; i++)
        r = add_node(berth, table_node(table, berth->cluster->order[i]));
    if (r == 0)
        r = refresh(berth);
    assert(r < 0 || berth->view);
    for (uint32_t row = 0; r == 0 && row < table->n_rows; row++)
        berth->rows[row] = table_find(berth->view->table, table->names->names[row]);
    return r;
}

int berth_extender_new(const ViewParts *parts, const RelatedObjects *related,
    const ClusterState *cluster, BerthExtender **ret) {
    _cleanup_(berth_extender_freep) BerthExtender *berth = calloc(1, sizeof(*berth));
    int r;

    if (!berth)
        return -ENOMEM;
    berth->parts = *parts;
    berth->cluster = cluster;
    berth->store = store_new();
    berth->scratch = arena_new(SCRATCH_BUDGET);
    berth->rows = calloc(cluster->table->n_rows + 1, sizeof(uint32_t));
    if (!berth->store || !berth->scratch || !berth->rows)
        return -ENOMEM;
    store_set_related(berth->store, related);
    r = add_nodes(berth);
    if (r == 0)
        *ret = TAKE_PTR(berth);
    return r;
}

BerthExtender *berth_extender_free(BerthExtender *berth) {
    if (!berth)
        return NULL;
    view_unref(berth->view);
    store_free(berth->store);
    arena_free(berth->scratch);
    free(berth->rows);
    free(berth);
    return NULL;
}

int berth_extender_add_node(BerthExtender *berth, uint32_t row) {
    const Node *node = table_node(berth->cluster->table, row);
    int r = add_node(berth, node);

    if (r == 0)
        r = refresh(berth);
    if (r < 0)
        return r;
    assert(berth->view);
    berth->rows[row] = table_find(berth->view->table, node->name);
    return 0;
}

void berth_extender_remove_node(BerthExtender *berth, uint32_t row) {
    store_remove_node(berth->store, berth->cluster->table->names->names[row]);
}

int berth_extender_add(BerthExtender *berth, const Pod *pod) {
    int r = store_apply_pod(berth->store, pod);

    return r < 0 ? r : r == STORE_FULL ? -ENOMEM : 0;
}

void berth_extender_remove(BerthExtender *berth, const Pod *pod) {
    store_remove_pod(berth->store, pod->namespace, pod->name, STR_NULL);
}

/* Makes the input to judge the current cluster for @pod. */
static int make_input(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, JudgeInput *ret) {
    BerthExtender *berth = context;
    const RequestTime time = {.now_nsec = now_nsec, .scratch = berth->scratch};
    uint32_t *own = ARENA_RAW(arena, uint32_t, n + 1);
    NodeSet node_set;
    int r = own ? refresh(berth) : -ENOMEM;

    if (r < 0)
        return r;
    assert(berth->view);
    for (size_t i = 0; i < n; i++)
        own[i] = berth->rows[rows[i]];
    node_set = (NodeSet){.table = berth->view->table, .facts = &berth->view->facts};
    r = view_adjust(berth->view, &time, pod, /* rows= */ NULL, 0, arena, &node_set);
    *ret = view_judge_input(berth->view, &time, &node_set, pod, own, n, arena);
    return r;
}

/* Whether the filter is published to nodes, and admission can apply its policy to the pod. */
static bool is_published(const Judge *judge, const Filter *filter) {
    return (filter->slots || filter->is_label) && !filter->policy->is_observed &&
           !expression_is_given(&filter->policy->match.expression) &&
           judge_applies(judge, filter->policy);
}

static int filter_published(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint16_t **ret_verdicts) {
    const ViewVerbs *verbs = context;
    uint16_t *verdicts = ARENA_RAW(arena, uint16_t, n + 1);
    uint8_t *states = ARENA_RAW(arena, uint8_t, n + 1);
    Judge *judge = NULL;
    JudgeInput input;
    int r = verdicts && states ? make_input(verbs->context, pod, now_nsec, rows, n, arena, &input)
                               : -ENOMEM;

    if (r == 0)
        r = judge_open(&input, &judge);
    for (size_t i = 0; r == 0 && i < n; i++)
        verdicts[i] = EXTENDER_PASSES;
    for (size_t k = 0; r == 0 && k < verbs->program->n_filters; k++) {
        const Filter *filter = verbs->program->filters[k];

        if (!is_published(judge, filter))
            continue;
        r = judge_filter_states(judge, filter, states);
        for (size_t i = 0; r == 0 && i < n; i++)
            if (!judge_state_passes(filter, states[i]))
                verdicts[i] = (uint16_t)k;
    }
    *ret_verdicts = verdicts;
    return r;
}

SchedulerExtender berth_extender_verbs(BerthExtender *berth) {
    berth->verbs =
        (ViewVerbs){.program = berth->parts.program, .make_input = make_input, .context = berth};
    return view_verbs(&berth->verbs);
}

SchedulerExtender berth_extender_published(BerthExtender *berth) {
    SchedulerExtender verbs = berth_extender_verbs(berth);

    verbs.filter = filter_published;
    verbs.prioritize = NULL;
    return verbs;
}
