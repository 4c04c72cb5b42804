/*
 * Reads the steps that delta-write.c wrote, and applies them to a store.
 *
 * A store gives a new node the lowest free row. Where a node had a higher one, rows below are held
 * by placeholder nodes, which are removed before anything is published.
 */

#include <errno.h>
#include <stdio.h>

#include "cluster/delta.h"

/* No node of a cluster can have such a name. */
#define HOLDER_FORMAT "\001held-%u"
#define HOLDER_MAX 32u

#define NO_MEMORY "a change of the cluster"

static void read_pod_name(JsonReader *reader, Arena *arena, void *target) {
    DeltaPodName *ret = target;
    Str *const parts[] = {&ret->namespace, &ret->name};
    size_t n = 0;

    json_array(reader);
    for (; json_element(reader); n++) {
        if (n < ELEMENTS_OF(parts))
            json_string(reader, arena, parts[n]);
        else
            json_skip(reader, NULL);
    }
    if (n != ELEMENTS_OF(parts))
        json_fail(reader, JSON_E_TYPE, "a namespace and a name were expected");
}

/* Reads a row or a place in a list; null is DELTA_NO_ROW. */
static void read_number(JsonReader *reader, Arena *arena, void *target) {
    int64_t number = -1;

    *(uint32_t *)target = DELTA_NO_ROW;
    if (json_null(reader))
        return;
    json_int64(reader, &number);
    if (!json_error(reader) && (number < 0 || number >= STORE_PODS_MAX))
        json_fail(reader, JSON_E_RANGE, "a row or place in a list was expected");
    *(uint32_t *)target = (uint32_t)number;
}

static void read_node(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("row", DeltaNode, row, read_number),
        JSON_CUSTOM("node", DeltaNode, node, node_decode),
    };
    Delta *delta = target;
    DeltaNode node = {.row = DELTA_NO_ROW};

    JSON_READ_KEYS(reader, arena, fields, &node);
    if (!json_error(reader) && str_is_empty(node.node.name))
        json_fail(reader, JSON_E_TYPE, "a node was expected");
    JSON_ADD(reader, arena, &delta->nodes, NO_MEMORY, node);
}

static void read_pod(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("assumed", BOOL, DeltaPod, is_assumed),
        JSON_MEMBER("guessed", BOOL, DeltaPod, is_guessed),
        JSON_CUSTOM("pod", DeltaPod, pod, pod_decode),
    };
    Delta *delta = target;
    DeltaPod pod = {0};

    JSON_READ_KEYS(reader, arena, fields, &pod);
    JSON_ADD(reader, arena, &delta->pods, NO_MEMORY, pod);
}

#define LIST(key, member, read) JSON_LIST(key, Delta, member.items, member.n, STORE_PODS_MAX, read)

static void read_order(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        LIST("rows", order.rows, read_number),
        LIST("pods", order.pods, read_number),
        LIST("assumed", order.assumed, read_number),
        LIST("guessed", order.guessed, read_number),
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

/* Nodes and pods are added to those of a dump. */
bool delta_read(Delta *delta, JsonReader *reader, Arena *arena, Str key) {
    static const JsonField fields[] = {
        LIST("forgotten", forgotten, json_read_text),
        LIST("removedPods", removed_pods, read_pod_name),
        LIST("removedNodes", removed_nodes, json_read_text),
        {JSON_NAME("nodes"), JSON_FIELD_ARRAY, 0, read_node},
        {JSON_NAME("pods"), JSON_FIELD_ARRAY, 0, read_pod},
        {JSON_NAME("order"), JSON_FIELD_CUSTOM, 0, read_order},
    };

    return json_read_key(reader, arena, fields, ELEMENTS_OF(fields), key, delta);
}

/* An item of a dump: its kind decides how it is read, and is read first. */
static void read_object(JsonReader *reader, Arena *arena, void *target) {
    Delta *delta = target;
    JsonReader own, again;
    Str object = STR_NULL, kind = STR_NULL;
    DeltaNode node = {.row = DELTA_NO_ROW};
    DeltaPod pod = {0};

    json_skip(reader, &object);
    if (json_error(reader))
        return;
    json_reader_init(&again, object);
    json_string_member(&again, arena, STR("kind"), &kind);
    json_reader_init(&own, object);
    if (str_eq(kind, STR("Node"))) {
        node_decode(&own, arena, &node.node);
        JSON_ADD(reader, arena, &delta->nodes, NO_MEMORY, node);
    } else if (str_eq(kind, STR("Pod"))) {
        pod_decode(&own, arena, &pod.pod);
        JSON_ADD(reader, arena, &delta->pods, NO_MEMORY, pod);
    }
    if (json_error(&own))
        json_fail(reader, json_error(&own), own.error_text);
}

void delta_read_list(Delta *delta, JsonReader *reader, Arena *arena) {
    static const JsonField fields[] = {{JSON_NAME("items"), JSON_FIELD_ARRAY, 0, read_object}};

    JSON_READ_KEYS(reader, arena, fields, delta);
}

/* Sorts nodes by row, those without a row last. False: a number has no node, or comes twice. */
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

static bool order_pods(Delta *delta, DeltaPod *into, bool *is_taken) {
    const DeltaOrder *order = &delta->order;
    size_t n = 0;

    for (size_t i = 0; i < order->assumed.n; i++) {
        if (order->assumed.items[i] >= delta->pods.n)
            return false;
        delta->pods.items[order->assumed.items[i]].is_assumed = true;
    }
    for (size_t i = 0; i < order->guessed.n; i++) {
        if (order->guessed.items[i] >= delta->pods.n)
            return false;
        delta->pods.items[order->guessed.items[i]].is_guessed = true;
    }
    for (size_t i = 0; i < order->pods.n; i++) {
        uint32_t from = order->pods.items[i];

        if (from >= delta->pods.n || is_taken[from])
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
    if (!order_nodes(delta, nodes, is_node_taken) || !order_pods(delta, pods, is_pod_taken))
        return DELTA_E_MALFORMED;
    delta->nodes.items = nodes;
    delta->pods.items = pods;
    return 0;
}

/* The rows of a store that are in use, as far as the delta depends on them. */
typedef struct RowReservations {
    bool *is_taken;
    size_t n, first_free;
    VEC(uint32_t) held; /* rows of placeholder nodes */
    size_t *spare;
    Arena *arena;
} RowReservations;

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
    char text[HOLDER_MAX];
    Node node = {.name = holder_name(row, text)};

    if (!VEC_ADD(&rows->held, rows->arena, row))
        return -ENOMEM;
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
    const NodeNames *names = before ? snapshot_table(before)->names : NULL;
    size_t n_before = names ? names->n_rows : 0;
    /* Each new node takes a row, and so does each row that is held. */
    size_t n = n_before + delta->nodes.n + *spare;
    RowReservations rows = {
        .n = n < STORE_NODES_MAX ? n : STORE_NODES_MAX, .arena = arena, .spare = spare};
    int r = 0;

    if (delta->nodes.n == 0)
        return 0;
    rows.is_taken = ARENA_ARRAY(arena, bool, rows.n + 1);
    if (!rows.is_taken)
        return -ENOMEM;
    for (size_t row = 0; row < n_before && row < rows.n; row++)
        rows.is_taken[row] = names->names[row].len > 0 && store_find_node(store, names->names[row]);
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

int delta_apply(
    const Delta *delta, Store *store, const Snapshot *before, Arena *arena, size_t *spare) {
    int r;

    for (size_t i = 0; i < delta->forgotten.n; i++)
        store_forget(store, delta->forgotten.items[i]);
    for (size_t i = 0; i < delta->removed_pods.n; i++)
        store_remove_pod(store, delta->removed_pods.items[i].namespace,
            delta->removed_pods.items[i].name, STR_NULL);
    for (size_t i = 0; i < delta->removed_nodes.n; i++)
        store_remove_node(store, delta->removed_nodes.items[i]);
    r = apply_nodes(delta, store, before, arena, spare);
    for (size_t i = 0; r == 0 && i < delta->pods.n; i++)
        r = apply_pod(store, &delta->pods.items[i]);
    return r;
}
