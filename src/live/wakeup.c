/* Finds nodes that a rule rejected and lets pass now, and marks them within limits. */

#include "live/wakeup.h"

#include "base/hash.h"
#include "base/nsec.h"

static bool was_marked(const Wakeup *wakeup, uint64_t name, int64_t now_nsec) {
    size_t n = wakeup->n_marked < WAKEUP_NODES_MAX ? wakeup->n_marked : WAKEUP_NODES_MAX;

    for (size_t i = 0; i < n; i++)
        if (wakeup->marked[i].name == name &&
            now_nsec - wakeup->marked[i].at_nsec < WAKEUP_NODE_SEC * NSEC_PER_SEC)
            return true;
    return false;
}

static void mark(Wakeup *wakeup, Str node, int64_t now_nsec, WakeupTouch *touch, void *context) {
    uint64_t name = hash_str(node);

    if (was_marked(wakeup, name, now_nsec) ||
        !token_take(&wakeup->bucket, WAKEUP_PER_SEC, WAKEUP_BURST, now_nsec)) {
        if (node.len > sizeof(wakeup->delayed))
            return;
        memcpy(wakeup->delayed, node.ptr, node.len);
        wakeup->delayed_len = node.len;
        return;
    }
    wakeup->marked[wakeup->n_marked++ % WAKEUP_NODES_MAX] =
        (MarkedNode){.name = name, .at_nsec = now_nsec};
    wakeup->delayed_len = 0; /* one mark wakes all parked pods */
    touch(context, node);
}

/* Whether a pod may be parked. If not, drops the delayed node. */
static bool may_have_parked(Wakeup *wakeup, int64_t now_nsec) {
    if (recent_pods_has_parked(wakeup->recent, now_nsec))
        return true;
    wakeup->delayed_len = 0;
    return false;
}

void wakeup_tick(Wakeup *wakeup, int64_t now_nsec, WakeupTouch *touch, void *context) {
    char node[NODE_NAME_MAX];
    size_t len = wakeup->delayed_len;

    if (len == 0 || !may_have_parked(wakeup, now_nsec))
        return;
    memcpy(node, wakeup->delayed, len);
    mark(wakeup, str_of(node, len), now_nsec, touch, context);
}

/* Whether the part of @filter that reads only the node has become true. */
static bool has_come_true(
    const View *before, const View *after, const Filter *filter, uint32_t row) {
    const Program *program = after->program;

    return filter->part != UINT32_MAX && !filter->policy->is_observed &&
           facts_state(program, &before->facts, filter->part, row) != COLUMN_TRUE &&
           facts_state(program, &after->facts, filter->part, row) == COLUMN_TRUE;
}

static bool has_turned(const View *before, const View *after, uint32_t row) {
    const Program *program = after->program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (!program->policies[i].is_observed &&
            facts_failing(&before->facts, i, row) != VERDICT_PASS &&
            facts_failing(&after->facts, i, row) == VERDICT_PASS)
            return true;
    for (size_t i = 0; i < program->n_filters; i++)
        if (has_come_true(before, after, program->filters[i], row))
            return true;
    return false;
}

static bool is_same_node(const View *before, const View *after, uint32_t row) {
    const Node *was = row < before->table->n_rows ? table_node(before->table, row) : NULL;
    const Node *is = row < after->table->n_rows ? table_node(after->table, row) : NULL;

    return was && is && str_eq(was->name, is->name);
}

/* Any node does; a ready one is the better choice. */
static Str choose_one(const View *view) {
    Str any = STR_NULL;

    for (uint32_t row = 0; row < view->table->n_rows; row++) {
        const Node *node = table_node(view->table, row);

        if (node && node->is_ready && !node->is_unschedulable)
            return node->name;
        if (node && str_is_empty(any))
            any = node->name;
    }
    return any;
}

void wakeup_note_view(Wakeup *wakeup, const View *before, const View *after, int64_t now_nsec,
    WakeupTouch *touch, void *context) {
    if (!before->snapshot || !after->snapshot || !may_have_parked(wakeup, now_nsec))
        return;
    if (before->program != after->program) {
        Str one = choose_one(after);

        if (!str_is_empty(one))
            mark(wakeup, one, now_nsec, touch, context);
        return;
    }
    for (size_t i = 0; i < after->facts.n_chunks && i < before->facts.n_chunks; i++) {
        if (after->facts.chunks[i] == before->facts.chunks[i])
            continue;
        for (uint32_t row = (uint32_t)(i * CHUNK_ROWS); row < (i + 1) * CHUNK_ROWS; row++)
            if (is_same_node(before, after, row) && has_turned(before, after, row))
                mark(wakeup, table_node(after->table, row)->name, now_nsec, touch, context);
    }
}
