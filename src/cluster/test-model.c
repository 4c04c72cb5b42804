#include "cluster/test-model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/num.h"
#include "cluster/record.h"
#include "cluster/store.h"

#define GENERATIONS 3u /* UIDs per name */
#define SNAPSHOTS_KEPT 4u
#define HISTORY 32u
#define STAGED_MAX 4096u
#define NO_NODE UINT32_MAX
/* Resources that only one node has: those of all nodes together exceed the number of columns. */
#define OWN_RESOURCES 9u

/* --- objects, made from a few numbers ----------------------------------------------- */

typedef struct NodeFacts {
    bool is_there;
    uint8_t variant;
} NodeFacts;

typedef struct PodFacts {
    bool is_there, is_terminal;
    uint8_t generation, variant;
    uint16_t node, nominated; /* index + 1; 0: none */
} PodFacts;

typedef struct EntryFacts {
    bool is_there;
    uint8_t variant;
    uint16_t node, nominated;
    int64_t until;
} EntryFacts;

typedef struct Texts {
    char bytes[1024];
    size_t n;
} Texts;

__attribute__((format(printf, 2, 3))) static Str text(Texts *texts, const char *format, ...) {
    char *at = texts->bytes + texts->n;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(at, sizeof(texts->bytes) - texts->n, format, arguments);
    va_end(arguments);
    texts->n += (size_t)n + 1;
    if (texts->n > sizeof(texts->bytes))
        abort();
    return str_of(at, (size_t)n);
}

typedef struct MadeNode {
    Node node;
    Texts texts;
    Label labels[2], annotations[1];
    Taint taints[2];
    Condition conditions[2];
    Resource resources[4 + OWN_RESOURCES];
    Str image_names[2];
    Image images[1];
    Address addresses[2];
} MadeNode;

static int64_t extreme_amount(unsigned variant, int64_t usual) {
    if (variant % 13 == 5)
        return -usual - 1;
    return variant % 13 == 6 ? INT64_MAX - usual : usual;
}

static Str node_name(Texts *texts, unsigned index) {
    return text(texts, "node-%u", index);
}

static void make_node_lists(MadeNode *made, unsigned index, unsigned v) {
    Node *node = &made->node;
    Texts *texts = &made->texts;

    made->labels[0] = (Label){STR("pool"), text(texts, "pool-%u", v % 3)};
    made->labels[1] = (Label){STR("zone"), text(texts, "zone-%u", v % 2)};
    node->labels = (Labels){.items = made->labels, .n = v % 3};
    made->annotations[0] = (Label){STR("note"), text(texts, "%u-%u", index, v % 4)};
    node->annotations = (Labels){.items = made->annotations, .n = v % 4 == 1};
    made->taints[0] = (Taint){STR("only"), text(texts, "for-%u", v % 4), TAINT_NO_SCHEDULE};
    /* Many distinct sets, so that unused ones accumulate. */
    made->taints[1] = (Taint){STR("mine"), text(texts, "%u-%u", index, v), TAINT_NO_EXECUTE};
    node->taints = (Taints){.items = made->taints, .n = v >= 96 ? 2 : v % 5 == 0};
    made->conditions[0] = (Condition){STR("Ready"), v & 1 ? STR("True") : STR("False")};
    made->conditions[1] = (Condition){STR("Pressure"), STR("False")};
    node->conditions = made->conditions;
    node->n_conditions = v % 3;
    made->image_names[0] = text(texts, "image-%u", v % 7);
    made->image_names[1] = STR("image");
    made->images[0] = (Image){.names = made->image_names, .n_names = v % 3, .size = v};
    node->images = made->images;
    node->n_images = v % 5 == 2;
    made->addresses[0] = (Address){ADDRESS_INTERNAL_IP, text(texts, "10.0.0.%u", index)};
    made->addresses[1] = (Address){v % 3 ? ADDRESS_HOSTNAME : ADDRESS_EXTERNAL_IP, STR("host")};
    node->addresses = made->addresses;
    node->n_addresses = v % 3;
}

static void make_node(MadeNode *made, unsigned index, unsigned v, unsigned noise) {
    Node *node = &made->node;
    Texts *texts = &made->texts;

    *made = (MadeNode){.node.is_ready = v & 1, .node.is_unschedulable = v & 2};
    node->name = node_name(texts, index);
    node->uid = text(texts, "node-uid-%u-%u", index, v % 2);
    node->resource_version = text(texts, "%u", noise);
    node->created_at = v % 2;
    make_node_lists(made, index, v);
    made->resources[0] = (Resource){STR("cpu"), extreme_amount(v, v * 100)};
    made->resources[1] = (Resource){STR("memory"), v * 1000};
    made->resources[2] = (Resource){STR("gpu"), extreme_amount(v + 1, v)};
    made->resources[3] = (Resource){text(texts, "rare-%u", v % 5), 7};
    for (unsigned i = 0; i < OWN_RESOURCES; i++)
        made->resources[4 + i] = (Resource){text(texts, "own-%u-%u", index, i), v % (i + 2)};
    node->allocatable = (Resources){.items = made->resources, .n = v > 200 ? 4 : v % 4};
    if (v > 160)
        node->allocatable.n = ELEMENTS_OF(made->resources);
}

typedef struct MadePod {
    Pod pod;
    Texts texts;
    Label labels[2];
    Resource resources[4];
    Toleration tolerations[2];
} MadePod;

static Str pod_uid(Texts *texts, unsigned index, unsigned generation) {
    return text(texts, "uid-%u-%u", index, generation);
}

static void make_pod_lists(MadePod *made, unsigned v) {
    Pod *pod = &made->pod;
    Texts *texts = &made->texts;

    made->labels[0] = (Label){STR("app"), text(texts, "app-%u", v % 6)};
    made->labels[1] = (Label){STR("tier"), STR("")};
    pod->labels = (Labels){.items = made->labels, .n = v % 3};
    made->resources[0] = (Resource){STR("cpu"), extreme_amount(v, v * 10)};
    made->resources[1] = (Resource){STR("memory"), v * 50};
    made->resources[2] = (Resource){STR("gpu"), extreme_amount(v + 2, 1)};
    made->resources[3] = (Resource){text(texts, v & 1 ? "scarce-%u" : "rare-%u", v % 5), 3};
    pod->requests = (Resources){.items = made->resources, .n = v > 200 ? 4 : v % 4};
    made->tolerations[0] = (Toleration){.key = STR("only"), .exists = true};
    made->tolerations[1] = (Toleration){.key = STR("mine"), .value = STR("x"), .effect = v % 4};
    pod->tolerations = (Tolerations){.items = made->tolerations, .n = v % 3};
}

static void make_pod(MadePod *made, unsigned index, const PodFacts *facts, unsigned noise) {
    Pod *pod = &made->pod;
    Texts *texts = &made->texts;
    unsigned v = facts->variant;

    *made = (MadePod){.pod.is_terminal = facts->is_terminal, .pod.is_terminating = v % 16 == 3};
    pod->namespace = text(texts, "space-%u", index % 3);
    pod->name = text(texts, "pod-%u", index / 3);
    pod->uid = pod_uid(texts, index, facts->generation);
    pod->resource_version = text(texts, "%u", noise);
    pod->created_at = facts->generation;
    pod->started_at = v % 2;
    pod->scheduled_at = v % 7 < 3 ? 0 : v;
    pod->owner_kind = v % 2 ? STR("ReplicaSet") : STR("");
    pod->owner_name = v % 2 ? text(texts, "owner-%u", v % 6) : STR("");
    pod->scheduler_name = STR("default-scheduler");
    pod->priority = v % 5;
    if (facts->node)
        pod->node_name = node_name(texts, facts->node - 1u);
    if (facts->nominated)
        pod->nominated_node_name = node_name(texts, facts->nominated - 1u);
    make_pod_lists(made, v);
}

/* --- the model -------------------------------------------------------------------- */

typedef struct Staged {
    bool is_open;
    size_t n;
    struct {
        unsigned index;
        NodeFacts node;
        PodFacts pod;
    } items[STAGED_MAX];
} Staged;

typedef struct Event {
    bool is_node;
    unsigned index;
    NodeFacts node;
    PodFacts pod;
} Event;

typedef struct Kept {
    Snapshot *snapshot;
    uint64_t print;
} Kept;

typedef struct Model {
    const ModelOptions *options;
    ModelRng *rng;
    Store *store;
    ModelTally tally;
    unsigned noise;
    int64_t now;

    NodeFacts nodes[MODEL_NODES_MAX];
    unsigned rows[MODEL_NODES_MAX]; /* by row: its node, or NO_NODE */
    unsigned n_nodes, n_pods, n_entries;
    PodFacts pods[MODEL_PODS_MAX];
    EntryFacts entries[MODEL_PODS_MAX][GENERATIONS];
    Staged staged_nodes, staged_pods;

    Event history[HISTORY];
    size_t n_history;
    Kept kept[SNAPSHOTS_KEPT];
    size_t n_kept;
    char problem[256];
} Model;

#define WRONG(model, ...)                                                                          \
    ((void)snprintf((model)->problem, sizeof((model)->problem), __VA_ARGS__), (model)->problem)

static unsigned pick(ModelRng *rng, unsigned n) {
    unsigned value = 0;

    if (!rng->data)
        return (unsigned)rng_pick(&rng->rng, n);
    for (unsigned reach = 1; reach < n && rng->n_left > 0; reach *= 256, rng->n_left--)
        value = value * 256 + *rng->data++;
    return value % n;
}

static bool is_over(const Model *model) {
    return model->tally.n_events >= model->options->n_events ||
           (model->rng->data && model->rng->n_left == 0);
}

static void drop_entry(Model *model, unsigned pod, unsigned generation) {
    model->n_entries -= model->entries[pod][generation].is_there;
    model->entries[pod][generation].is_there = false;
}

static void set_node(Model *model, unsigned index, NodeFacts facts) {
    if (!model->nodes[index].is_there) {
        unsigned row = 0;

        while (model->rows[row] != NO_NODE)
            row++;
        model->rows[row] = index;
        model->n_nodes++;
    }
    model->nodes[index] = facts;
}

static void remove_node(Model *model, unsigned index) {
    for (unsigned row = 0; row < MODEL_NODES_MAX; row++)
        if (model->rows[row] == index)
            model->rows[row] = NO_NODE;
    model->n_nodes -= model->nodes[index].is_there;
    model->nodes[index].is_there = false;
}

static void remove_pod(Model *model, unsigned index) {
    PodFacts *pod = &model->pods[index];

    if (pod->is_there)
        drop_entry(model, index, pod->generation);
    model->n_pods -= pod->is_there;
    pod->is_there = false;
}

/* Sets the pod. Returns whether it had no node before and has one now. */
static bool set_pod(Model *model, unsigned index, PodFacts facts) {
    PodFacts *old = &model->pods[index];
    bool was_bound = old->is_there && old->generation == facts.generation && old->node;

    if (facts.is_terminal) {
        remove_pod(model, index);
        drop_entry(model, index, facts.generation);
        return false;
    }
    if (old->is_there && old->generation != facts.generation)
        drop_entry(model, index, old->generation);
    if (facts.node)
        drop_entry(model, index, facts.generation);
    model->n_pods += !old->is_there;
    *old = facts;
    old->is_there = true;
    return facts.node && !was_bound;
}

/* --- comparing -------------------------------------------------------------------- */

static void mix(uint64_t *print, uint64_t value) {
    *print = (*print ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    *print ^= *print >> 29;
}

static void mix_pod(uint64_t *print, const Pod *pod) {
    mix(print, hash_str(pod->uid));
    mix(print, hash_str(pod->namespace));
    mix(print, hash_str(pod->node_name));
    mix(print, hash_str(pod->nominated_node_name));
    for (size_t i = 0; i < pod->labels.n; i++)
        mix(print, hash_str(pod->labels.items[i].value));
}

/* A hash of everything that a reader can see. */
static uint64_t hash_of_table(const NodeTable *table) {
    uint64_t print = table->n_rows;

    for (uint32_t row = 0; row <= table->n_rows; row++) {
        const NodeChunk *chunk = table_chunk(table, row);
        size_t slot = table_slot(row);
        const Taints *taints = &table->taint_sets[chunk->taint_set[slot]];

        mix(&print, row < table->n_rows ? hash_str(table->names->names[row]) : 0);
        mix(&print, chunk->is_ready[slot] + 2u * chunk->is_unschedulable[slot]);
        for (size_t i = 0; i < taints->n; i++)
            mix(&print, hash_str(taints->items[i].value));
        for (size_t i = 0; i < table->n_resources; i++)
            for (AmountKind kind = 0; kind < _AMOUNT_KINDS; kind++)
                mix(&print, (uint64_t)table_amount(table, row, i, kind));
        if (chunk->nodes[slot])
            mix(&print, hash_str(chunk->nodes[slot]->resource_version));
        for (uint32_t i = 0; i < chunk->n_pods[slot]; i++)
            mix_pod(&print, chunk->pods[slot]->items[i]);
    }
    for (size_t i = 0; i < table->n_resources; i++)
        mix(&print, hash_str(table->resources[i]));
    for (size_t i = 0; i < table->n_nominated; i++)
        mix_pod(&print, table->nominated[i]);
    return print;
}

/* The pods that must be on a node, computed from the arrays. */
typedef struct Expected {
    size_t n;
    MadePod pods[MODEL_PODS_MAX * 2];
} Expected;

static void expect_pod(Expected *expected, unsigned index, const PodFacts *facts) {
    MadePod *made = &expected->pods[expected->n++];

    make_pod(made, index, facts, 0);
    made->pod.tolerations = (Tolerations){0};
}

static void expect_pods(const Model *model, unsigned node, Expected *expected) {
    expected->n = 0;
    for (unsigned i = 0; i < model->options->n_pods; i++) {
        if (model->pods[i].is_there && model->pods[i].node == node + 1)
            expect_pod(expected, i, &model->pods[i]);
        for (unsigned g = 0; g < GENERATIONS; g++) {
            const EntryFacts *entry = &model->entries[i][g];

            if (entry->is_there && entry->node == node + 1)
                expect_pod(expected, i,
                    &(PodFacts){.generation = (uint8_t)g,
                        .variant = entry->variant,
                        .node = entry->node,
                        .nominated = entry->nominated});
        }
    }
}

static const char *check_pods(
    Model *model, unsigned row, const PodList *list, uint32_t n, const Expected *expected) {
    if (n != expected->n || (list ? list->n : 0) != n)
        return WRONG(model, "row %u: %u pods, not %zu", row, n, expected->n);
    for (size_t i = 0; i < expected->n; i++) {
        const Pod *want = &expected->pods[i].pod;
        unsigned n_found = 0;

        for (uint32_t j = 0; j < n; j++)
            n_found +=
                str_eq(list->items[j]->uid, want->uid) && pod_record_equal(list->items[j], want);
        if (n_found != 1)
            return WRONG(model, "row %u: pod %.*s %u times", row, STR_FMT(want->uid), n_found);
    }
    return NULL;
}

static const char *check_placed(
    Model *model, unsigned row, int64_t placed_at, const Expected *expected) {
    int64_t want = 0;

    for (size_t i = 0; i < expected->n; i++)
        if (pod_placed_at(&expected->pods[i].pod) > want)
            want = pod_placed_at(&expected->pods[i].pod);
    return placed_at == want ? NULL : WRONG(model, "row %u: when the last pod was placed", row);
}

static int64_t positive(int64_t amount) {
    return amount > 0 ? amount : 0;
}

static const char *check_amounts(Model *model, const NodeTable *table, unsigned row,
    const Resources *allocatable, const Expected *expected) {
    for (size_t i = 0; i < table->n_resources; i++) {
        Str name = table->resources[i];
        int64_t offered = positive(resources_get(allocatable, name)), requested = 0;

        for (size_t j = 0; j < expected->n; j++)
            requested = num_add_sat(
                requested, positive(resources_get(&expected->pods[j].pod.requests, name)));
        if (str_is(name, "pods"))
            requested = (int64_t)expected->n;
        if (table_amount(table, row, i, AMOUNT_ALLOCATABLE) != offered ||
            table_amount(table, row, i, AMOUNT_REQUESTED) != requested ||
            table_amount(table, row, i, AMOUNT_FREE) != offered - requested)
            return WRONG(model, "row %u: amounts of %.*s", row, STR_FMT(name));
    }
    return NULL;
}

static const char *check_empty_row(Model *model, const NodeTable *table, unsigned row) {
    static const Expected nothing;
    const NodeChunk *chunk = table_chunk(table, row);
    size_t slot = table_slot(row);

    if (chunk->nodes[slot] || chunk->pods[slot] || chunk->is_ready[slot] ||
        chunk->is_unschedulable[slot] || chunk->taint_set[slot] || chunk->n_pods[slot] ||
        chunk->placed_at[slot])
        return WRONG(model, "row %u: not empty", row);
    if (row < table->n_rows && !str_is_empty(table->names->names[row]))
        return WRONG(model, "row %u: has a name", row);
    return check_amounts(model, table, row, &(Resources){0}, &nothing);
}

static const char *check_row(Model *model, const NodeTable *table, unsigned row) {
    static _Thread_local Expected expected;
    unsigned index = model->rows[row];
    const NodeChunk *chunk = table_chunk(table, row);
    size_t slot = table_slot(row);
    const char *problem;
    MadeNode made;

    make_node(&made, index, model->nodes[index].variant, 0);
    if (!str_eq(table->names->names[row], made.node.name) ||
        table_find(table, made.node.name) != row)
        return WRONG(model, "row %u: name", row);
    if (!chunk->nodes[slot] || !node_record_equal(chunk->nodes[slot], &made.node))
        return WRONG(model, "row %u: node", row);
    if (chunk->is_ready[slot] != made.node.is_ready ||
        chunk->is_unschedulable[slot] != made.node.is_unschedulable)
        return WRONG(model, "row %u: flags", row);
    if (chunk->taint_set[slot] >= table->n_taint_sets ||
        !taints_equal(&table->taint_sets[chunk->taint_set[slot]], &made.node.taints))
        return WRONG(model, "row %u: taints", row);
    expect_pods(model, index, &expected);
    problem = check_pods(model, row, chunk->pods[slot], chunk->n_pods[slot], &expected);
    if (!problem)
        problem = check_placed(model, row, chunk->placed_at[slot], &expected);
    return problem ? problem : check_amounts(model, table, row, &made.node.allocatable, &expected);
}

static const char *check_nominated(Model *model, const NodeTable *table) {
    size_t n = 0;

    for (unsigned i = 0; i < model->options->n_pods; i++) {
        const PodFacts *pod = &model->pods[i];
        MadePod made;
        bool is_found = false;

        if (!pod->is_there || pod->node || !pod->nominated ||
            !model->nodes[pod->nominated - 1].is_there ||
            model->entries[i][pod->generation].is_there)
            continue;
        n++;
        make_pod(&made, i, pod, 0);
        for (size_t j = 0; j < table->n_nominated; j++)
            is_found = is_found || pod_record_equal(table->nominated[j], &made.pod);
        if (!is_found)
            return WRONG(model, "pod %u is not nominated", i);
    }
    return n == table->n_nominated ? NULL : WRONG(model, "%zu nominated", table->n_nominated);
}

static const char *check_found(Model *model) {
    for (unsigned i = 0; i < model->options->n_pods; i++) {
        const Pod *found;
        MadePod made;

        make_pod(&made, i, &model->pods[i], 0);
        found = store_find_pod(model->store, made.pod.namespace, made.pod.name);
        if ((found != NULL) != model->pods[i].is_there)
            return WRONG(model, "pod %u: found or not", i);
        if (made.pod.node_name.len > 0)
            made.pod.tolerations = (Tolerations){0};
        if (found && !pod_record_equal(found, &made.pod))
            return WRONG(model, "pod %u: differs", i);
    }
    for (unsigned i = 0; i < model->options->n_nodes; i++) {
        Texts texts = {0};

        if ((store_find_node(model->store, node_name(&texts, i)) != NULL) !=
            model->nodes[i].is_there)
            return WRONG(model, "node %u: found or not", i);
    }
    return NULL;
}

static const char *check_figures(Model *model) {
    StoreFigures figures;

    store_figures(model->store, &figures);
    if (figures.n_nodes != model->n_nodes || figures.n_pods != model->n_pods ||
        figures.n_assumed != model->n_entries)
        return WRONG(model, "figures");
    return NULL;
}

/* Every allocatable resource has a column, unless all columns are taken by others. */
static const char *check_columns(Model *model, const NodeTable *table) {
    _cleanup_(map_done) Map names = MAP_INIT;
    size_t n_with = 0, n_without = 0;
    StoreFigures figures;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        for (size_t i = 0; node && i < node->allocatable.n; i++) {
            const Resource *resource = &node->allocatable.items[i];
            size_t column = table_find_resource(table, resource->name);

            if (resource->amount <= 0 || map_find(&names, resource->name) != MAP_NONE)
                continue;
            if (map_add(&names, resource->name, 0) < 0)
                abort();
            n_with += column != SIZE_MAX && column != TABLE_CPU && column != TABLE_MEMORY;
            n_without += column == SIZE_MAX;
        }
    }
    store_figures(model->store, &figures);
    if ((n_without > 0 && n_with != TABLE_RESOURCES_MAX - 2) ||
        figures.n_resources_left_out != n_without)
        return WRONG(model, "%zu columns, %zu names without one", n_with, n_without);
    model->tally.n_over += n_without > 0;
    return NULL;
}

static const char *check_table(Model *model, const NodeTable *table) {
    const char *problem = NULL;
    size_t n_rows = 0, n_sets_max;

    for (unsigned row = 0; row < MODEL_NODES_MAX; row++)
        if (model->rows[row] != NO_NODE)
            n_rows = row + 1;
    if (table->n_rows != n_rows || table->n_chunks != n_rows / CHUNK_ROWS + 1 ||
        table->names->n_rows != n_rows || table->names->n_nodes != model->n_nodes)
        return WRONG(model, "%zu rows, not %zu", table->n_rows, n_rows);
    n_sets_max = 2 * ((size_t)model->options->nodes_max + 1) + 64;
    if (table->n_taint_sets > n_sets_max)
        return WRONG(model, "%zu sets of taints", table->n_taint_sets);
    for (unsigned row = 0; !problem && row < table->n_chunks * CHUNK_ROWS; row++)
        problem = row < n_rows && model->rows[row] != NO_NODE ? check_row(model, table, row)
                                                              : check_empty_row(model, table, row);
    if (!problem)
        problem = check_columns(model, table);
    return problem ? problem : check_nominated(model, table);
}

/* --- publishing ------------------------------------------------------------------- */

static void arm(Model *model) {
    if (model->options->arm)
        model->options->arm(pick(model->rng, 64));
}

static bool has_failed(Model *model, int r) {
    if (model->options->disarm)
        model->options->disarm();
    if (r != -ENOMEM || !model->options->arm)
        return false;
    model->tally.n_failed++;
    return true;
}

/* Keeps @snapshot in place of an older one, which must not have changed. */
static const char *keep(Model *model, Snapshot *snapshot) {
    Kept *kept = &model->kept[model->n_kept++ % SNAPSHOTS_KEPT];
    bool is_same = !kept->snapshot || hash_of_table(snapshot_table(kept->snapshot)) == kept->print;

    snapshot_unref(kept->snapshot);
    *kept = (Kept){.snapshot = snapshot, .print = hash_of_table(snapshot_table(snapshot))};
    return is_same ? NULL : WRONG(model, "an old snapshot has changed");
}

static const char *publish(Model *model) {
    Snapshot *snapshot = NULL, *again = NULL;
    const char *problem;
    int r;

    arm(model);
    r = store_publish(model->store, &snapshot);
    if (has_failed(model, r))
        return NULL;
    if (r < 0 || store_is_dirty(model->store) || store_publish(model->store, &again) < 0)
        return WRONG(model, "cannot publish, or is dirty afterwards");
    snapshot_unref(again);
    model->tally.n_published++;
    problem = again == snapshot ? check_table(model, snapshot_table(snapshot))
                                : WRONG(model, "publishes twice");
    if (!problem)
        problem = check_figures(model);
    if (!problem)
        problem = check_found(model);
    if (problem) {
        snapshot_unref(snapshot);
        return problem;
    }
    return keep(model, snapshot);
}

/* --- operations ------------------------------------------------------------------- */

static unsigned any_node(Model *model) {
    return pick(model->rng, model->options->n_nodes);
}

static unsigned any_pod(Model *model) {
    return pick(model->rng, model->options->n_pods);
}

static NodeFacts random_node(Model *model) {
    return (NodeFacts){.is_there = true, .variant = (uint8_t)pick(model->rng, 256)};
}

static PodFacts random_pod(Model *model) {
    PodFacts facts = {.is_there = true,
        .is_terminal = pick(model->rng, 12) == 0,
        .generation = (uint8_t)pick(model->rng, GENERATIONS),
        .variant = (uint8_t)pick(model->rng, 256)};

    if (pick(model->rng, 4) > 0)
        facts.node = (uint16_t)(any_node(model) + 1);
    if (pick(model->rng, 8) == 0)
        facts.nominated = (uint16_t)(any_node(model) + 1);
    return facts;
}

static const char *apply_node(Model *model, unsigned index, NodeFacts facts) {
    bool is_full = !model->nodes[index].is_there && model->n_nodes >= model->options->nodes_max;
    MadeNode made;
    int r;

    make_node(&made, index, facts.variant, model->noise++);
    arm(model);
    r = store_apply_node(model->store, &made.node);
    if (has_failed(model, r))
        return NULL;
    if (r != (is_full ? STORE_FULL : 0))
        return WRONG(model, "applying node %u: %d", index, r);
    model->tally.n_full += is_full;
    if (!is_full)
        set_node(model, index, facts);
    return NULL;
}

static const char *apply_pod(Model *model, unsigned index, PodFacts facts) {
    bool is_full = !facts.is_terminal && !model->pods[index].is_there &&
                   model->n_pods >= model->options->pods_max;
    MadePod made;
    int r, want = STORE_FULL;

    make_pod(&made, index, &facts, model->noise++);
    arm(model);
    r = store_apply_pod(model->store, &made.pod);
    if (has_failed(model, r))
        return NULL;
    if (!is_full)
        want = set_pod(model, index, facts) ? STORE_BOUND : 0;
    model->tally.n_full += is_full;
    model->tally.n_bound += want == STORE_BOUND;
    return r == want ? NULL : WRONG(model, "applying pod %u: %d, not %d", index, r, want);
}

static const char *do_event(Model *model, const Event *event) {
    return event->is_node ? apply_node(model, event->index, event->node)
                          : apply_pod(model, event->index, event->pod);
}

static const char *do_new_event(Model *model, bool is_node) {
    Event *event = &model->history[model->n_history++ % HISTORY];

    *event = (Event){.is_node = is_node};
    event->index = is_node ? any_node(model) : any_pod(model);
    if (is_node)
        event->node = random_node(model);
    else
        event->pod = random_pod(model);
    return do_event(model, event);
}

/* One of the last events again: a duplicate, or late. */
static const char *do_old_event(Model *model) {
    size_t n = model->n_history < HISTORY ? model->n_history : HISTORY;

    return n == 0 ? NULL : do_event(model, &model->history[pick(model->rng, (unsigned)n)]);
}

/* An existing object with another resourceVersion: nothing must change. */
static const char *do_heartbeat(Model *model) {
    unsigned node = any_node(model), pod = any_pod(model);
    bool was_dirty = store_is_dirty(model->store);
    const char *problem = NULL;

    if (model->nodes[node].is_there)
        problem = apply_node(model, node, model->nodes[node]);
    if (!problem && model->pods[pod].is_there)
        problem = apply_pod(model, pod, model->pods[pod]);
    if (!problem && store_is_dirty(model->store) != was_dirty)
        problem = WRONG(model, "a heartbeat was noticed");
    return problem;
}

static const char *do_remove_node(Model *model) {
    unsigned index = any_node(model);
    Texts texts = {0};

    store_remove_node(model->store, node_name(&texts, index));
    remove_node(model, index);
    return NULL;
}

static const char *do_remove_pod(Model *model) {
    unsigned index = any_pod(model), generation = pick(model->rng, GENERATIONS + 1);
    const PodFacts *pod = &model->pods[index];
    bool is_any = generation == GENERATIONS;
    MadePod made;

    make_pod(&made, index, &(PodFacts){.generation = (uint8_t)generation}, 0);
    store_remove_pod(
        model->store, made.pod.namespace, made.pod.name, is_any ? STR_NULL : made.pod.uid);
    if (!is_any)
        drop_entry(model, index, generation);
    if (is_any || pod->generation == generation)
        remove_pod(model, index);
    return NULL;
}

static const char *do_assume(Model *model) {
    unsigned index = any_pod(model);
    PodFacts facts = random_pod(model);
    uint16_t node = (uint16_t)(any_node(model) + 1);
    int64_t until = model->now + 1 + pick(model->rng, 50);
    EntryFacts *entry = &model->entries[index][facts.generation];
    const PodFacts *pod = &model->pods[index];
    bool is_bound = pod->is_there && pod->generation == facts.generation && pod->node;
    bool is_full = !is_bound && !entry->is_there && model->n_entries >= model->options->assumed_max;
    Texts texts = {0};
    MadePod made;
    int r;

    make_pod(&made, index, &facts, model->noise++);
    arm(model);
    r = store_assume(model->store, &made.pod, node_name(&texts, node - 1u), until);
    if (has_failed(model, r))
        return NULL;
    if (r != (is_full ? STORE_FULL : 0))
        return WRONG(model, "assuming pod %u: %d", index, r);
    model->tally.n_full += is_full;
    if (is_bound || is_full)
        return NULL;
    model->n_entries += !entry->is_there;
    *entry = (EntryFacts){.is_there = true,
        .variant = facts.variant,
        .node = node,
        .nominated = facts.nominated,
        .until = until};
    return NULL;
}

static const char *do_forget(Model *model) {
    unsigned index = any_pod(model), generation = pick(model->rng, GENERATIONS);
    Texts texts = {0};

    store_forget(model->store, pod_uid(&texts, index, generation));
    drop_entry(model, index, generation);
    return NULL;
}

static const char *do_expire(Model *model) {
    int64_t next = INT64_MAX, got_next = 0;
    size_t n = 0, got;

    model->now += pick(model->rng, 30);
    got = store_expire(model->store, model->now, &got_next);
    for (unsigned i = 0; i < model->options->n_pods; i++) {
        for (unsigned g = 0; g < GENERATIONS; g++) {
            const EntryFacts *entry = &model->entries[i][g];

            if (entry->is_there && entry->until <= model->now) {
                drop_entry(model, i, g);
                n++;
            } else if (entry->is_there && entry->until < next) {
                next = entry->until;
            }
        }
    }
    model->tally.n_expired += n;
    return got == n && got_next == next ? NULL : WRONG(model, "%zu expired, not %zu", got, n);
}

/* --- lists: one step at a time, so that other events can come in between ------------- */

static const char *stage_node(Model *model, unsigned index, NodeFacts facts) {
    Staged *staged = &model->staged_nodes;
    bool is_full = staged->n >= model->options->nodes_max;
    MadeNode made;
    int r;

    make_node(&made, index, facts.variant, model->noise++);
    arm(model);
    r = store_list_node(model->store, &made.node);
    if (has_failed(model, r))
        return NULL;
    if (r != (is_full ? STORE_FULL : 0))
        return WRONG(model, "listing node %u: %d", index, r);
    if (!is_full) {
        staged->items[staged->n].index = index;
        staged->items[staged->n++].node = facts;
    }
    return NULL;
}

static const char *stage_pod(Model *model, unsigned index, PodFacts facts) {
    Staged *staged = &model->staged_pods;
    bool is_full = staged->n >= model->options->pods_max;
    MadePod made;
    int r;

    make_pod(&made, index, &facts, model->noise++);
    arm(model);
    r = store_list_pod(model->store, &made.pod);
    if (has_failed(model, r))
        return NULL;
    if (r != (is_full ? STORE_FULL : 0))
        return WRONG(model, "listing pod %u: %d", index, r);
    if (!is_full) {
        staged->items[staged->n].index = index;
        staged->items[staged->n++].pod = facts;
    }
    return NULL;
}

/* The existing objects, with one in @changes modified. */
static const char *stage_nodes(Model *model, unsigned changes) {
    const char *problem = NULL;

    for (unsigned i = 0; !problem && i < model->options->n_nodes; i++)
        if (pick(model->rng, changes) == 0)
            problem = stage_node(model, any_node(model), random_node(model));
        else if (model->nodes[i].is_there)
            problem = stage_node(model, i, model->nodes[i]);
    return problem;
}

static const char *stage_pods(Model *model, unsigned changes) {
    const char *problem = NULL;

    for (unsigned i = 0; !problem && i < model->options->n_pods; i++)
        if (pick(model->rng, changes) == 0)
            problem = stage_pod(model, any_pod(model), random_pod(model));
        else if (model->pods[i].is_there)
            problem = stage_pod(model, i, model->pods[i]);
    return problem;
}

static void end_nodes(Model *model) {
    Staged *staged = &model->staged_nodes;
    NodeFacts listed[MODEL_NODES_MAX] = {0};

    for (size_t i = 0; i < staged->n; i++)
        listed[staged->items[i].index] = staged->items[i].node;
    for (unsigned i = 0; i < model->options->n_nodes; i++)
        if (!listed[i].is_there)
            remove_node(model, i);
    /* New nodes get rows in the order of their last occurrence in the list. */
    for (size_t i = 0; i < staged->n; i++) {
        unsigned index = staged->items[i].index;
        bool is_last = true;

        for (size_t j = i + 1; j < staged->n; j++)
            is_last = is_last && staged->items[j].index != index;
        if (is_last)
            set_node(model, index, listed[index]);
    }
}

static void end_pods(Model *model) {
    Staged *staged = &model->staged_pods;
    PodFacts listed[MODEL_PODS_MAX] = {0};

    for (size_t i = 0; i < staged->n; i++)
        listed[staged->items[i].index] = staged->items[i].pod;
    for (unsigned i = 0; i < model->options->n_pods; i++)
        if (listed[i].is_there)
            (void)set_pod(model, i, listed[i]);
        else
            remove_pod(model, i);
}

static const char *end_list(Model *model, StoreKind kind) {
    Staged *staged = kind == STORE_NODES ? &model->staged_nodes : &model->staged_pods;
    int r;

    arm(model);
    r = store_list_end(model->store, kind);
    if (has_failed(model, r))
        return NULL; /* still staged */
    if (r != 0)
        return WRONG(model, "ending a list: %d", r);
    if (kind == STORE_NODES)
        end_nodes(model);
    else
        end_pods(model);
    model->tally.n_lists++;
    staged->is_open = false;
    staged->n = 0;
    return NULL;
}

static const char *do_list(Model *model) {
    StoreKind kind = pick(model->rng, 2) ? STORE_PODS : STORE_NODES;
    Staged *staged = kind == STORE_NODES ? &model->staged_nodes : &model->staged_pods;
    unsigned step = pick(model->rng, 8);

    if (!staged->is_open || step == 0) {
        store_list_begin(model->store, kind);
        staged->is_open = true;
        staged->n = 0;
        return NULL;
    }
    if (step < 3 && staged->n > 0)
        return end_list(model, kind);
    if (step < 5 && staged->n == 0)
        return kind == STORE_NODES ? stage_nodes(model, 16) : stage_pods(model, 16);
    if (staged->n >= STAGED_MAX / 2)
        return NULL;
    return kind == STORE_NODES ? stage_node(model, any_node(model), random_node(model))
                               : stage_pod(model, any_pod(model), random_pod(model));
}

static const char *step(Model *model) {
    unsigned what = pick(model->rng, 64);

    if (pick(model->rng, model->options->publish_every) == 0)
        return publish(model);
    if (what < 24)
        return do_new_event(model, false);
    if (what < 32)
        return do_new_event(model, true);
    if (what < 38)
        return do_old_event(model);
    if (what < 41)
        return do_heartbeat(model);
    if (what < 44)
        return do_remove_pod(model);
    if (what < 46)
        return do_remove_node(model);
    if (what < 54)
        return do_assume(model);
    if (what < 56)
        return do_forget(model);
    if (what < 58)
        return do_expire(model);
    return do_list(model);
}

static void model_free(Model *model) {
    for (size_t i = 0; i < SNAPSHOTS_KEPT; i++)
        snapshot_unref(model->kept[i].snapshot);
    store_free(model->store);
    free(model);
}

static Model *model_new(const ModelOptions *options, ModelRng *rng) {
    Model *model = calloc(1, sizeof(*model));

    if (!model)
        return NULL;
    model->options = options;
    model->rng = rng;
    for (size_t row = 0; row < MODEL_NODES_MAX; row++)
        model->rows[row] = NO_NODE;
    model->store = store_new();
    if (model->store)
        store_keep_pod_parts(model->store, &(PodParts){0}); /* no tolerations of running pods */
    if (!model->store) {
        model_free(model);
        return NULL;
    }
    store_limit(model->store, options->nodes_max, options->pods_max, options->assumed_max);
    return model;
}

const char *model_run(const ModelOptions *options, ModelRng *rng, ModelTally *tally) {
    static _Thread_local char problem[512];
    Model *model = model_new(options, rng);
    const char *found = NULL;

    if (!model)
        return "out of memory";
    while (!found && !is_over(model)) {
        model->tally.n_events++;
        found = step(model);
    }
    if (!found)
        found = publish(model);
    if (found) {
        (void)snprintf(
            problem, sizeof(problem), "event %zu: %s", model->tally.n_events, model->problem);
        found = problem;
    }
    if (tally)
        *tally = model->tally;
    model_free(model);
    return found;
}
