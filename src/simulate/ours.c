#include "simulate/ours.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/store.h"
#include "extender/score.h"

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)

struct Ours {
    OursParts parts;
    Store *store;
    View *view; /* NULL, or older than the store, until somebody asks */
    Arena *scratch;
    Arena *arena;
    uint32_t *rows; /* by row of the parts' table: that of the view's */
};

/* The view of the cluster as it is now. */
static int refresh(Ours *ours) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    ViewParts parts = {
        .program = ours->parts.program,
        .zones = ours->parts.zones,
        .exemptions = ours->parts.exemptions,
        .measurements = ours->parts.measurements,
        .now_nsec = ours->parts.now_nsec,
        .uptime_nsec = ours->parts.uptime_nsec,
    };
    View *view = NULL;
    int r;

    if (ours->view && !store_is_dirty(ours->store))
        return 0;
    r = store_publish(ours->store, &snapshot);
    parts.snapshot = snapshot;
    if (r == 0)
        r = view_new(&parts, ours->view, &view);
    if (r < 0)
        return r;
    view_unref(ours->view);
    ours->view = view;
    return 0;
}

/* --- the cluster -------------------------------------------------------- */

static bool has_key(const NodeParts *parts, Str key) {
    for (size_t i = 0; i < parts->n_labels; i++)
        if (str_eq(parts->labels[i], key))
            return true;
    return parts->all_labels;
}

/* Nodes have dozens of labels, policies read one or two: the others only make them hard to find. */
static int add_node(Ours *ours, const Node *from) {
    const Program *program = ours->parts.program;
    Label *labels = ARENA_ARRAY(ours->scratch, Label, from->labels.n);
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
    r = store_apply_node(ours->store, &node);
    arena_reset(ours->scratch);
    return r < 0 ? r : r == STORE_FULL ? -ENOMEM : 0;
}

static int find_rows(Ours *ours) {
    const NodeTable *table = ours->parts.table;

    ours->rows = ARENA_ARRAY(ours->arena, uint32_t, table->n_rows + 1);
    if (!ours->rows)
        return -ENOMEM;
    assert(ours->view);
    for (uint32_t row = 0; row < table->n_rows; row++)
        ours->rows[row] = table_find(ours->view->table, table->names->names[row]);
    return 0;
}

/* In the order in which they will be asked about: what is asked together lies together. */
static int add_nodes(Ours *ours) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < ours->parts.n_order; i++)
        r = add_node(ours, table_node(ours->parts.table, ours->parts.order[i]));
    return r;
}

int ours_new(const OursParts *parts, Ours **ret) {
    _cleanup_(ours_freep) Ours *ours = calloc(1, sizeof(*ours));
    int r;

    if (!ours)
        return -ENOMEM;
    ours->parts = *parts;
    program_ref(parts->program);
    if (parts->measurements)
        measurements_ref(parts->measurements);
    ours->store = store_new();
    ours->scratch = arena_new(SCRATCH_BUDGET);
    ours->arena = arena_new(SCRATCH_BUDGET);
    if (!ours->store || !ours->scratch || !ours->arena)
        return -ENOMEM;
    r = add_nodes(ours);
    if (r == 0)
        r = refresh(ours);
    if (r == 0)
        r = find_rows(ours);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(ours);
    return 0;
}

Ours *ours_free(Ours *ours) {
    if (!ours)
        return NULL;
    view_unref(ours->view);
    store_free(ours->store);
    arena_free(ours->scratch);
    arena_free(ours->arena);
    measurements_unref(ours->parts.measurements);
    program_unref(ours->parts.program);
    free(ours);
    return NULL;
}

int ours_add(Ours *ours, const Pod *pod) {
    int r = store_apply_pod(ours->store, pod);

    return r < 0 ? r : r == STORE_FULL ? -ENOMEM : 0;
}

void ours_remove(Ours *ours, const Pod *pod) {
    store_remove_pod(ours->store, pod->namespace, pod->name, STR_NULL);
}

const Program *ours_program(const Ours *ours) {
    return ours->parts.program;
}

/* --- asking ------------------------------------------------------------- */

/* Opens the judge as the verbs do. */
static int open_judge(Ours *ours, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, Judge **ret) {
    Moment moment = {.now_nsec = now_nsec, .scratch = ours->scratch};
    uint32_t *own = ARENA_RAW(arena, uint32_t, n + 1);
    Question question;
    Sight sight;
    int r = own ? refresh(ours) : -ENOMEM;

    if (r < 0)
        return r;
    assert(ours->view);
    for (size_t i = 0; i < n; i++)
        own[i] = ours->rows[rows[i]];
    sight = (Sight){.table = ours->view->table, .facts = &ours->view->facts};
    r = view_adjust(ours->view, &moment, pod, /* gone= */ NULL, 0, arena, &sight);
    if (r < 0)
        return r;
    question = view_question(ours->view, &moment, &sight, pod, own, n, arena);
    return judge_open(&question, ret);
}

int ours_filter(Ours *ours, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret_said) {
    uint16_t *said = ARENA_RAW(arena, uint16_t, n + 1);
    Judge *judge = NULL;
    uint32_t narrow_to;
    int r = said ? open_judge(ours, pod, now_nsec, rows, n, arena, &judge) : -ENOMEM;

    if (r == 0)
        r = judge_filters(judge, said);
    narrow_to = r == 0 ? judge_narrow_to(judge) : 0;
    if (narrow_to > 0)
        r = judge_narrow(judge, narrow_to, said, /* ret_scores= */ NULL);
    *ret_said = said;
    return r;
}

int ours_prioritize(Ours *ours, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint8_t **ret) {
    double *scores = ARENA_RAW(arena, double, n + 1);
    uint8_t *wire = ARENA_RAW(arena, uint8_t, n + 1);
    Judge *judge = NULL;
    uint32_t most;
    int r = scores && wire ? open_judge(ours, pod, now_nsec, rows, n, arena, &judge) : -ENOMEM;

    *ret = NULL;
    if (r < 0)
        return r;
    if (!judge_has_scores(judge))
        return 0;
    r = judge_scores(judge, scores);
    if (r < 0)
        return r;
    most = judge_wire_max(judge);
    for (size_t i = 0; i < n; i++)
        wire[i] = (uint8_t)score_to_wire(scores[i], most);
    *ret = wire;
    return 0;
}
