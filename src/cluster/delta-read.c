/*
 * Reads the steps that delta-write.c wrote, and applies them to a store.
 *
 * A store gives a new node the lowest free row. Where a node had a higher one, rows below are held
 * by placeholder nodes, which are removed before anything is published.
 */

#include <errno.h>
#include <stdio.h>

#include "cluster/delta.h"

/* No node of a cluster is called so. */
#define HOLDER_FORMAT "\001held-%u"
#define HOLDER_MAX 32u

/* --- reading ----------------------------------------------------------------------------- */

static void fail_memory(JsonReader *reader) {
    json_fail(reader, JSON_E_MEMORY, "a change of the cluster");
}

/* Room for the next of a list; NULL: an error of the reader. */
#define NEXT(reader, vec, arena)                                                                   \
    ({                                                                                             \
        __typeof__((vec)->items) _next = VEC_PUSH(vec, arena);                                     \
        if (!_next)                                                                                \
            fail_memory(reader);                                                                   \
        _next;                                                                                     \
    })

/* Each element of an array into a new item of @vec, by @read. */
#define READ_LIST(reader, arena, vec, read)                                                        \
    do {                                                                                           \
        json_array(reader);                                                                        \
        while (json_element(reader)) {                                                             \
            __typeof__((vec)->items) _item = NEXT(reader, vec, arena);                             \
            if (_item)                                                                             \
                read(reader, arena, _item);                                                        \
        }                                                                                          \
    } while (0)

static void read_pod_name(JsonReader *reader, Arena *arena, DeltaPodName *ret) {
    Str parts[2] = {0};
    size_t n = 0;

    json_array(reader);
    for (; json_element(reader); n++) {
        if (n < ELEMENTS_OF(parts))
            json_string(reader, arena, &parts[n]);
        else
            json_skip(reader, NULL);
    }
    if (n != ELEMENTS_OF(parts))
        json_fail(reader, JSON_E_TYPE, "a namespace and a name were expected");
    *ret = (DeltaPodName){.namespace = parts[0], .name = parts[1]};
}

/* A number of something, or null for none. */
static void read_number(JsonReader *reader, Arena *arena, uint32_t *ret) {
    int64_t number = -1;

    *ret = DELTA_NO_ROW;
    if (json_null(reader))
        return;
    json_int64(reader, &number);
    if (!json_error(reader) && (number < 0 || number >= STORE_PODS_MAX))
        json_fail(reader, JSON_E_RANGE, "a row or place in a list was expected");
    *ret = (uint32_t)number;
}

static void read_node(JsonReader *reader, Arena *arena, DeltaNode *ret) {
    Str key;

    ret->row = DELTA_NO_ROW;
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("row")))
            read_number(reader, arena, &ret->row);
        else if (json_key_is(reader, key, STR("node")))
            node_decode(reader, arena, &ret->node);
        else
            json_skip(reader, NULL);
    }
    if (!json_error(reader) && str_is_empty(ret->node.name))
        json_fail(reader, JSON_E_TYPE, "a node was expected");
}

static void read_pod(JsonReader *reader, Arena *arena, DeltaPod *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("assumed")))
            json_bool(reader, &ret->is_assumed);
        else if (json_key_is(reader, key, STR("guessed")))
            json_bool(reader, &ret->is_guessed);
        else if (json_key_is(reader, key, STR("pod")))
            pod_decode(reader, arena, &ret->pod);
        else
            json_skip(reader, NULL);
    }
}

static void read_order(Delta *delta, JsonReader *reader, Arena *arena) {
    DeltaOrder *order = &delta->order;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("rows")))
            READ_LIST(reader, arena, &order->rows, read_number);
        else if (json_key_is(reader, key, STR("pods")))
            READ_LIST(reader, arena, &order->pods, read_number);
        else if (json_key_is(reader, key, STR("assumed")))
            READ_LIST(reader, arena, &order->assumed, read_number);
        else if (json_key_is(reader, key, STR("guessed")))
            READ_LIST(reader, arena, &order->guessed, read_number);
        else
            json_skip(reader, NULL);
    }
}

bool delta_read(Delta *delta, JsonReader *reader, Arena *arena, Str key) {
    if (json_key_is(reader, key, STR("forgotten")))
        READ_LIST(reader, arena, &delta->forgotten, json_string);
    else if (json_key_is(reader, key, STR("removedPods")))
        READ_LIST(reader, arena, &delta->removed_pods, read_pod_name);
    else if (json_key_is(reader, key, STR("removedNodes")))
        READ_LIST(reader, arena, &delta->removed_nodes, json_string);
    else if (json_key_is(reader, key, STR("nodes")))
        READ_LIST(reader, arena, &delta->nodes, read_node);
    else if (json_key_is(reader, key, STR("pods")))
        READ_LIST(reader, arena, &delta->pods, read_pod);
    else if (json_key_is(reader, key, STR("order")))
        read_order(delta, reader, arena);
    else
        return false;
    return true;
}

/* --- a dump ------------------------------------------------------------------------------ */

/* The kind of an object, which is read twice. */
static Str kind_of(Str object, Arena *arena) {
    Str kind = STR_NULL;
    JsonReader reader;

    json_reader_init(&reader, object);
    json_string_member(&reader, arena, STR("kind"), &kind);
    return kind;
}

static void read_object(Delta *delta, JsonReader *reader, Arena *arena) {
    JsonReader own = {0};
    Str object, kind;

    json_skip(reader, &object);
    if (json_error(reader))
        return;
    kind = kind_of(object, arena);
    json_reader_init(&own, object);
    if (str_eq(kind, STR("Node"))) {
        DeltaNode *node = NEXT(reader, &delta->nodes, arena);

        if (node)
            node_decode(&own, arena, &node->node);
    } else if (str_eq(kind, STR("Pod"))) {
        DeltaPod *pod = NEXT(reader, &delta->pods, arena);

        if (pod)
            pod_decode(&own, arena, &pod->pod);
    }
    if (json_error(&own))
        json_fail(reader, json_error(&own), own.error_text);
}

void delta_read_list(Delta *delta, JsonReader *reader, Arena *arena) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (!json_key_is(reader, key, STR("items"))) {
            json_skip(reader, NULL);
            continue;
        }
        json_array(reader);
        while (json_element(reader))
            read_object(delta, reader, arena);
    }
    for (size_t i = 0; i < delta->nodes.n; i++)
        delta->nodes.items[i].row = DELTA_NO_ROW;
}

/* --- the order of a dump ----------------------------------------------------------------- */

/* By row, then those without one. False: a number is no node's, or given twice. */
static bool order_nodes(Delta *delta, DeltaNode *into, bool *is_taken) {
    size_t n = 0;

    for (size_t row = 0; row < delta->order.rows.n; row++) {
        uint32_t i = delta->order.rows.items[row];

        if (i == DELTA_NO_ROW)
            continue;
        if (i >= delta->nodes.n || is_taken[i])
            return false;
        is_taken[i] = true;
        into[n] = delta->nodes.items[i];
        into[n++].row = (uint32_t)row;
    }
    for (size_t i = 0; i < delta->nodes.n; i++)
        if (!is_taken[i])
            into[n++] = delta->nodes.items[i];
    return true;
}

static bool order_pods(Delta *delta, size_t n_listed, DeltaPod *into, bool *is_taken) {
    size_t n = 0;

    for (size_t i = 0; i < delta->order.assumed.n; i++) {
        if (delta->order.assumed.items[i] >= n_listed)
            return false;
        delta->pods.items[delta->order.assumed.items[i]].is_assumed = true;
    }
    for (size_t i = 0; i < delta->order.guessed.n; i++) {
        if (delta->order.guessed.items[i] >= n_listed)
            return false;
        delta->pods.items[delta->order.guessed.items[i]].is_guessed = true;
    }
    for (size_t i = 0; i < delta->order.pods.n; i++) {
        uint32_t from = delta->order.pods.items[i];

        if (from >= n_listed || is_taken[from])
            return false;
        is_taken[from] = true;
        into[n++] = delta->pods.items[from];
    }
    for (size_t i = 0; i < delta->pods.n; i++)
        if (!is_taken[i])
            into[n++] = delta->pods.items[i];
    return true;
}

int delta_put_in_order(Delta *delta, Arena *arena) {
    DeltaNode *nodes = ARENA_ARRAY(arena, DeltaNode, delta->nodes.n);
    DeltaPod *pods = ARENA_ARRAY(arena, DeltaPod, delta->pods.n);
    bool *is_node_taken = ARENA_ARRAY(arena, bool, delta->nodes.n);
    bool *is_pod_taken = ARENA_ARRAY(arena, bool, delta->pods.n);

    if (!nodes || !pods || !is_node_taken || !is_pod_taken)
        return -ENOMEM;
    if (!order_nodes(delta, nodes, is_node_taken) ||
        !order_pods(delta, delta->pods.n, pods, is_pod_taken))
        return DELTA_E_MALFORMED;
    delta->nodes.items = nodes;
    delta->pods.items = pods;
    return 0;
}

/* --- applying ---------------------------------------------------------------------------- */

/* Which rows of a store are taken, as far as it matters here. */
typedef struct RowReservations {
    bool *is_taken;
    size_t n, first_free;
    VEC(uint32_t) held; /* rows that are held free for others */
    size_t *spare;
    Arena *arena;
} RowReservations;

static int reservations_init(
    RowReservations *rows, const Delta *delta, const Store *store, const Snapshot *before) {
    const NodeNames *names = before ? snapshot_table(before)->names : NULL;
    size_t n_before = names ? names->n_rows : 0;

    /* Each new node takes one, and so does each row that is held. */
    rows->n = n_before + delta->nodes.n + *rows->spare;
    rows->n = rows->n < STORE_NODES_MAX ? rows->n : STORE_NODES_MAX;
    rows->is_taken = ARENA_ARRAY(rows->arena, bool, rows->n + 1);
    if (!rows->is_taken)
        return -ENOMEM;
    for (size_t row = 0; row < n_before && row < rows->n; row++)
        rows->is_taken[row] =
            names->names[row].len > 0 && store_find_node(store, names->names[row]);
    return 0;
}

/* The row that the store will give next. */
static size_t reservations_next(RowReservations *rows) {
    while (rows->first_free < rows->n && rows->is_taken[rows->first_free])
        rows->first_free++;
    return rows->first_free;
}

static Str holder_name(uint32_t row, char text[static HOLDER_MAX]) {
    (void)snprintf(text, HOLDER_MAX, HOLDER_FORMAT, row);
    return str_from_c(text);
}

/* A result of the store as one of delta_apply(). */
static int outcome(int r) {
    if (r < 0)
        return r;
    return r == STORE_FULL ? DELTA_E_FULL : 0;
}

static int hold_row(RowReservations *rows, Store *store, uint32_t row) {
    uint32_t *held = VEC_PUSH(&rows->held, rows->arena);
    char text[HOLDER_MAX];
    Node node = {.name = holder_name(row, text)};

    if (!held)
        return -ENOMEM;
    *held = row;
    (*rows->spare)--;
    rows->is_taken[row] = true;
    return outcome(store_apply_node(store, &node));
}

static int apply_node(RowReservations *rows, Store *store, const DeltaNode *node) {
    bool is_new = !store_find_node(store, node->node.name);
    int r = 0;

    while (r == 0 && is_new && node->row != DELTA_NO_ROW && node->row < rows->n &&
           reservations_next(rows) < node->row && *rows->spare > 0)
        r = hold_row(rows, store, (uint32_t)rows->first_free);
    if (r == 0)
        r = outcome(store_apply_node(store, &node->node));
    if (is_new && reservations_next(rows) < rows->n)
        rows->is_taken[rows->first_free] = true;
    return r;
}

static int apply_nodes(
    const Delta *delta, Store *store, const Snapshot *before, Arena *arena, size_t *spare) {
    RowReservations rows = {.arena = arena, .spare = spare};
    int r;

    if (delta->nodes.n == 0)
        return 0;
    r = reservations_init(&rows, delta, store, before);
    for (size_t i = 0; r == 0 && i < delta->nodes.n; i++)
        r = apply_node(&rows, store, &delta->nodes.items[i]);
    for (size_t i = 0; i < rows.held.n; i++) {
        char text[HOLDER_MAX];

        store_remove_node(store, holder_name(rows.held.items[i], text));
    }
    return r;
}

static int apply_pod(Store *store, const DeltaPod *pod) {
    Pod assumed = pod->pod;

    assumed.is_guessed = pod->is_guessed;
    if (pod->is_assumed)
        return outcome(store_assume(store, &assumed, assumed.node_name, INT64_MAX));
    return outcome(store_apply_pod(store, &pod->pod));
}

static void remove_all(const Delta *delta, Store *store) {
    for (size_t i = 0; i < delta->forgotten.n; i++)
        store_forget(store, delta->forgotten.items[i]);
    for (size_t i = 0; i < delta->removed_pods.n; i++)
        store_remove_pod(store, delta->removed_pods.items[i].namespace,
            delta->removed_pods.items[i].name, STR_NULL);
    for (size_t i = 0; i < delta->removed_nodes.n; i++)
        store_remove_node(store, delta->removed_nodes.items[i]);
}

int delta_apply(
    const Delta *delta, Store *store, const Snapshot *before, Arena *arena, size_t *spare) {
    int r;

    remove_all(delta, store);
    r = apply_nodes(delta, store, before, arena, spare);
    for (size_t i = 0; r == 0 && i < delta->pods.n; i++)
        r = apply_pod(store, &delta->pods.items[i]);
    return r;
}
