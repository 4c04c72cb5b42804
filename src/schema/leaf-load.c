/*
 * Loads a leaf: a value and whether it is set, for each row or for each pod of a loop. The mode
 * decides the result of a row without a value.
 */

#include <assert.h>

#include "base/nsec.h"
#include "base/wide-loops.h"
#include "schema/leaf.h"
#include "schema/schema-internal.h"

typedef struct LeafLoad {
    const Leaf *leaf;
    const NodeTable *table;
    const uint32_t *rows;
    const CelValue *pods;    /* instead of rows */
    const Str *const *known; /* values of a label by row; NULL: they are searched */
    size_t n;
    Column *ret;
    CelValue *texts;
} LeafLoad;

/* Properties that nodes and pods have. */
typedef struct LeafObject {
    const Str *name, *uid, *namespace;
    const Labels *labels, *annotations;
    int64_t created_at, placed_at;
    bool is_terminating;
} LeafObject;

static bool gives_bool(const Leaf *leaf) {
    return leaf->mode == LEAF_IS_SET || leaf->source == LEAF_READY ||
           leaf->source == LEAF_CORDONED || leaf->source == LEAF_TERMINATING;
}

/* Whether a row that has no value is an error. */
static bool can_fail(const Leaf *leaf) {
    return leaf->mode == LEAF_STRICT ||
           (leaf->mode == LEAF_VALUE && leaf->source < LEAF_ALLOCATABLE);
}

static void set_bool(const LeafLoad *load, size_t i, bool value) {
    load->ret->states[i] = value ? COLUMN_TRUE : COLUMN_FALSE;
}

/* @value NULL: not set. */
static void set_text(const LeafLoad *load, size_t i, const Str *value) {
    const Leaf *leaf = load->leaf;

    if (leaf->mode == LEAF_IS_SET) {
        set_bool(load, i, value != NULL);
        return;
    }
    load->ret->states[i] = value || leaf->mode == LEAF_ELSE ? COLUMN_OK : COLUMN_ERROR;
    if (value)
        load->texts[i] = schema_text(*value);
    else
        load->texts[i] = leaf->mode == LEAF_ELSE ? leaf->otherwise : schema_text(STR_NULL);
}

static const Node *node_at(const LeafLoad *load, size_t i) {
    assert(load->rows); /* rows or elements, by the leaf's source */
    return schema_node_at(load->table, load->rows[i]);
}

/* The place of a key in the labels of the last object. */
typedef struct NearKey {
    size_t at; /* or where it would have been */
    Str found; /* the key's string in the last object that has it */
} NearKey;

/* labels_find() for one object after the other. Objects have similar labels, so the key is usually
 * at @near: that place and its neighbour are compared first. Objects of a store share strings, so
 * keys are first compared by their address. */
static const Str *find_near(const Labels *labels, Str key, NearKey *near) {
    size_t low = 0, high = labels->n, at = near->at < high ? near->at : high - 1;

    if (high > 0 && near->found.ptr && labels->items[at].key.ptr == near->found.ptr &&
        labels->items[at].key.len == near->found.len)
        return &labels->items[at].value;
    for (unsigned n = 0; low < high; n++) {
        int r;

        if (n >= 2 || at < low || at >= high)
            at = low + (high - low) / 2;
        r = str_cmp(key, labels->items[at].key);
        near->at = at;
        if (r == 0) {
            near->found = labels->items[at].key;
            return &labels->items[at].value;
        }
        if (r < 0)
            high = at--;
        else
            low = ++at;
    }
    near->at = low;
    return NULL;
}

/* Returns false if element @i is not a pod. */
static bool pod_at(const LeafLoad *load, size_t i, LeafObject *ret) {
    static const Labels none;
    const CelValue *value = &load->pods[i];
    const Pod *pod;

    if (value->kind != CEL_RECORD || value->record->type != &schema_node_pod.type)
        return false;
    pod = OBJECT_OF(value->record, PodValue, head)->pod;
    *ret = (LeafObject){.name = &pod->name,
        .uid = &pod->uid,
        .namespace = &pod->namespace,
        .labels = &pod->labels,
        .annotations = pod->details ? &pod->details->annotations : &none,
        .created_at = pod->created_at,
        .placed_at = pod_placed_at(pod),
        .is_terminating = pod->is_terminating};
    return true;
}

static bool object_at(const LeafLoad *load, size_t i, LeafObject *ret) {
    const Node *node;

    if (load->pods)
        return pod_at(load, i, ret);
    node = node_at(load, i);
    *ret = (LeafObject){.name = &node->name,
        .uid = &node->uid,
        .labels = &node->labels,
        .annotations = &node->annotations,
        .created_at = node->created_at};
    return true;
}

/* The text of the leaf; NULL: not set. */
static const Str *find_text(const LeafLoad *load, const LeafObject *object, NearKey *near) {
    switch (load->leaf->source) {
    case LEAF_NAME:
        return object->name;
    case LEAF_UID:
        return object->uid;
    case LEAF_NAMESPACE:
        return object->namespace;
    case LEAF_LABEL:
        return find_near(object->labels, load->leaf->key, near);
    default:
        assert(object->annotations);
        return find_near(object->annotations, load->leaf->key, near);
    }
}

static void load_texts(const LeafLoad *load) {
    NearKey near = {0};

    for (size_t i = 0; load->known && i < load->n; i++)
        set_text(load, i, load->known[i]);
    for (size_t i = 0; !load->known && i < load->n; i++) {
        LeafObject object;

        if (object_at(load, i, &object))
            set_text(load, i, find_text(load, &object, &near));
        else
            load->ret->states[i] = COLUMN_FALLBACK;
    }
}

static void set_time(const LeafLoad *load, size_t i, int64_t at) {
    load->ret->ints[i] = 0;
    if (at == 0)
        load->ret->states[i] = COLUMN_ERROR;
    else
        load->ret->states[i] = __builtin_mul_overflow(at, NSEC_PER_SEC, &load->ret->ints[i])
                                   ? COLUMN_FALLBACK
                                   : COLUMN_OK;
    if (load->ret->states[i] != COLUMN_OK)
        load->ret->ints[i] = 0;
}

static int64_t time_of(const LeafLoad *load, const LeafObject *object) {
    return load->leaf->source == LEAF_PLACED ? object->placed_at : object->created_at;
}

static void load_times(const LeafLoad *load) {
    for (size_t i = 0; i < load->n; i++) {
        LeafObject object;

        if (!object_at(load, i, &object))
            load->ret->states[i] = COLUMN_FALLBACK;
        else if (load->leaf->mode == LEAF_IS_SET)
            set_bool(load, i, time_of(load, &object) != 0);
        else
            set_time(load, i, time_of(load, &object));
    }
}

static void load_bools(const LeafLoad *load) {
    bool is_always = load->leaf->mode == LEAF_IS_SET;

    for (size_t i = 0; i < load->n; i++) {
        const Node *node = node_at(load, i);

        set_bool(load, i,
            is_always ||
                (load->leaf->source == LEAF_READY ? node->is_ready : node->is_unschedulable));
    }
}

/* Loads `terminating` of the pods of a loop. */
static void load_terminating(const LeafLoad *load) {
    for (size_t i = 0; i < load->n; i++) {
        LeafObject object;

        if (object_at(load, i, &object))
            set_bool(load, i, load->leaf->mode == LEAF_IS_SET || object.is_terminating);
        else
            load->ret->states[i] = COLUMN_FALLBACK;
    }
}

static void load_counts(const LeafLoad *load) {
    for (size_t i = 0; i < load->n; i++) {
        uint32_t row = load->rows[i];

        load->ret->ints[i] = load->leaf->source == LEAF_N_PODS
                                 ? table_chunk(load->table, row)->n_pods[table_slot(row)]
                                 : (int64_t)node_at(load, i)->taints.n;
        load->ret->states[i] = COLUMN_OK;
    }
}

static void load_amounts(const LeafLoad *load) {
    const Leaf *leaf = load->leaf;
    const AmountKey key = amount_key(leaf->key);
    AmountKind kind = leaf->source == LEAF_ALLOCATABLE ? AMOUNT_ALLOCATABLE
                      : leaf->source == LEAF_REQUESTED ? AMOUNT_REQUESTED
                                                       : AMOUNT_FREE;
    size_t column = table_find_resource(load->table, key.resource);

    for (size_t i = 0; i < load->n; i++) {
        uint32_t row = load->rows[i];
        bool is_there = leaf->mode == LEAF_VALUE ||
                        amount_is_there(load->table, row, kind, key.resource, column);

        if (leaf->mode == LEAF_IS_SET) {
            set_bool(load, i, is_there);
            continue;
        }
        load->ret->states[i] = is_there || leaf->mode == LEAF_ELSE ? COLUMN_OK : COLUMN_ERROR;
        load->ret->doubles[i] =
            is_there
                ? amount_number(key, amount_of_row(load->table, row, kind, key.resource, column))
                : leaf->otherwise.d;
    }
}

static void load_metrics(const LeafLoad *load) {
    leaf_load_metric(load->leaf, load->table, load->rows, load->n, load->ret);
}

/* Not for leaves whose key is a pod: leaf_load_selected(), leaf_load_tolerated(). */
static void load_column(const LeafLoad *load) {
    static void (*const loaders[])(const LeafLoad *load) = {
        [LEAF_NAME... LEAF_NAMESPACE] = load_texts,
        [LEAF_CREATED... LEAF_PLACED] = load_times,
        [LEAF_READY... LEAF_CORDONED] = load_bools,
        [LEAF_TERMINATING] = load_terminating,
        [LEAF_N_PODS... LEAF_N_TAINTS] = load_counts,
        [LEAF_METRIC... LEAF_MEASURED_AT] = load_metrics,
        [LEAF_LABEL... LEAF_ANNOTATION] = load_texts,
        [LEAF_ALLOCATABLE... LEAF_FREE] = load_amounts,
    };
    const Leaf *leaf = load->leaf;

    assert(loaders[leaf->source]);
    loaders[leaf->source](load);
    if (!gives_bool(leaf) && !can_fail(leaf) &&
        !memchr(load->ret->states, COLUMN_FALLBACK, load->n))
        load->ret->states = NULL;
}

void leaf_load(const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n,
    const Str *const *known, Column *ret, CelValue *ret_texts) {
    const LeafLoad load = {.leaf = leaf,
        .table = table,
        .rows = rows,
        .known = known,
        .n = n,
        .ret = ret,
        .texts = ret_texts};

    load_column(&load);
}

void leaf_load_pods(
    const Leaf *leaf, const CelValue *pods, size_t n, Column *ret, CelValue *ret_texts) {
    const LeafLoad load = {.leaf = leaf, .pods = pods, .n = n, .ret = ret, .texts = ret_texts};

    load_column(&load);
}

/* Checks each condition over all rows before the next: most pods have few conditions. */
void leaf_load_selected(
    const Pod *pod, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret) {
    const LeafLoad load = {.table = table, .rows = rows, .n = n, .ret = ret};
    const PodDetails *details = pod->details;

    memset(ret->states, COLUMN_TRUE, n);
    for (size_t k = 0; details && k < details->node_selector.n; k++) {
        const Label *wanted = &details->node_selector.items[k];
        NearKey near = {0};

        for (size_t i = 0; i < n; i++) {
            const Str *value = find_near(&node_at(&load, i)->labels, wanted->key, &near);

            if (!value || !str_eq(*value, wanted->value))
                ret->states[i] = COLUMN_FALSE;
        }
    }
    for (size_t i = 0; details && details->required_terms.is_given && i < n; i++) {
        const Node *node = node_at(&load, i);

        if (ret->states[i] == COLUMN_TRUE &&
            !terms_hold(&details->required_terms, node->name, &node->labels))
            ret->states[i] = COLUMN_FALSE;
    }
}

#define TOLERATED_SETS 64u /* lists of taints that are looked up by number */

/* The text of a taint is ambiguous if its key is empty or has '=': the scalar machine decides. */
static uint8_t tolerated(const Pod *pod, const Taints *taints) {
    for (size_t i = 0; i < taints->n; i++) {
        Str key = taints->items[i].key;

        if (str_is_empty(key) || str_find(key, '=') != SIZE_MAX)
            return COLUMN_FALLBACK;
    }
    return tolerations_admit(&pod->tolerations, taints) ? COLUMN_TRUE : COLUMN_FALSE;
}

/* Whether @rows follow each other. */
WIDE_LOOPS static bool is_range(const uint32_t *rows, uint32_t n) {
    uint32_t differs = 0;

    for (uint32_t i = 0; i < n; i++)
        differs |= rows[i] - rows[0] - i;
    return differs == 0;
}

/* Arrays are restrict: otherwise the compiler must assume that a written byte changes them. */
static inline void look_up_slots(
    const uint32_t *restrict sets, size_t n, const uint8_t *restrict known, uint8_t *restrict ret) {
    UNROLLED
    for (size_t i = 0; i < n; i++)
        ret[i] = known[sets[i]];
}

/* Looks up whole chunks if @rows are consecutive. */
static void look_up_sets(const NodeChunk *const *chunks, const uint32_t *rows, size_t n,
    const uint8_t *known, uint8_t *ret) {
    bool by_chunk = is_range(rows, (uint32_t)n);

    for (size_t i = 0, run = 1; i < n; i += run) {
        uint32_t slot = table_slot(rows[i]);

        if (by_chunk)
            run = CHUNK_ROWS - slot < n - i ? CHUNK_ROWS - slot : n - i;
        look_up_slots(chunks[rows[i] / CHUNK_ROWS]->taint_set + slot, run, known, ret + i);
    }
}

/* Decides once for each list of taints if there are few lists: most nodes share one. */
void leaf_load_tolerated(
    const Pod *pod, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret) {
    uint8_t known[TOLERATED_SETS] = {COLUMN_TRUE}; /* the empty list */

    if (table->n_taint_sets <= TOLERATED_SETS) {
        for (size_t i = 0; i < table->n_taint_sets; i++)
            known[i] = tolerated(pod, &table->taint_sets[i]);
        look_up_sets(table->chunks, rows, n, known, ret->states);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ret->states[i] = tolerated(
            pod, &table->taint_sets[table_chunk(table, rows[i])->taint_set[table_slot(rows[i])]]);
}
