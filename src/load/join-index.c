/*
 * From a label's value to a node: the nodes by hostname and address, the way from a label to them,
 * and the rows that the series of the last answer led to.
 */

#include "load/join-internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "cluster/object-fields.h"
#include "cluster/record.h"
#include "kube/proxy.h"

#define HOSTNAME_LABEL "kubernetes.io/hostname"

/* This is enough for 50,000 nodes with two addresses and two hostnames each. */
#define INDEX_BYTES_MAX ((size_t)64 * 1024 * 1024)

static void drop_nodes(JoinIndex *index) {
    for (size_t row = 0; index->nodes && row < index->names->n_rows; row++)
        node_record_unref(index->nodes[row]);
    index->arena = arena_free(index->arena);
    index->nodes = NULL;
    index->hostnames = index->addresses = MAP_INIT;
}

JoinIndex *join_index_new(void) {
    return calloc(1, sizeof(JoinIndex));
}

JoinIndex *join_index_free(JoinIndex *index) {
    if (!index)
        return NULL;
    drop_nodes(index);
    names_unref(index->names);
    free(index);
    return NULL;
}

static Str hostname_label(const Node *node) {
    const Str *value = labels_find(&node->labels, STR(HOSTNAME_LABEL));

    return value ? *value : STR_NULL;
}

/* Whether the node of every row has the same identities as before. A new record with the same
 * identities replaces the old one. */
static bool nodes_hold(JoinIndex *index) {
    for (uint32_t row = 0; row < index->names->n_rows; row++) {
        const Node *now = table_node(index->table, row), **was = &index->nodes[row];

        if (now == *was)
            continue;
        if (!now || !*was || !str_eq(hostname_label(now), hostname_label(*was)) ||
            !object_items_equal(&address_type, now->addresses, now->n_addresses, (*was)->addresses,
                (*was)->n_addresses))
            return false;
        node_record_unref(*was);
        *was = node_record_ref(now);
    }
    return true;
}

void join_index_follow(JoinIndex *index, const NodeTable *table) {
    index->table = table;
    if (index->names == table->names && (!index->arena || nodes_hold(index)))
        return;
    drop_nodes(index);
    names_unref(index->names);
    index->names = names_ref((NodeNames *)(uintptr_t)table->names);
    index->version++;
}

/* --- building the index ---------------------------------------------------- */

/* @text may be in brackets. */
static bool read_address(Str text, unsigned char ret[ADDRESS_BYTES]) {
    if (text.len > 1 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
        text = str_of(text.ptr + 1, text.len - 2);
    return address_parse(text, ret);
}

/* 0, or -ENOMEM: the arena has failed. */
static int add_key(JoinIndex *index, Map *keys, Str key, uint32_t row) {
    uint32_t known = map_find(keys, key);
    Str copy;

    if (known != MAP_NONE) {
        if (known != row)
            map_set(keys, key, (uint32_t)index->names->n_rows);
        return 0;
    }
    copy = arena_copy(index->arena, key);
    return copy.ptr ? map_add(keys, copy, row) : -ENOMEM;
}

static void add_node(JoinIndex *index, const Node *node, uint32_t row) {
    Str label = hostname_label(node);
    unsigned char bytes[ADDRESS_BYTES];

    index->nodes[row] = node_record_ref(node);
    if (!str_is_empty(label))
        (void)add_key(index, &index->hostnames, label, row);
    for (size_t i = 0; i < node->n_addresses; i++) {
        const Address *address = &node->addresses[i];

        if (address->type == ADDRESS_HOSTNAME)
            (void)add_key(index, &index->hostnames, address->text, row);
        else if (read_address(address->text, bytes))
            (void)add_key(
                index, &index->addresses, str_of((const char *)bytes, sizeof(bytes)), row);
    }
}

static int make(JoinIndex *index) {
    size_t n_rows = index->names->n_rows;

    index->arena = arena_new(INDEX_BYTES_MAX);
    if (!index->arena)
        return -ENOMEM;
    index->hostnames = index->addresses = MAP_INIT_IN(index->arena);
    index->nodes = ARENA_ARRAY(index->arena, const Node *, n_rows);
    for (uint32_t row = 0; row < n_rows && !arena_has_failed(index->arena); row++) {
        const Node *node = table_node(index->table, row);

        if (node)
            add_node(index, node, row);
    }
    if (!arena_has_failed(index->arena))
        return 0;
    drop_nodes(index);
    return -ENOMEM;
}

/* --- looking up nodes ------------------------------------------------------ */

/* Sets the row of the node with this @identity (not GAUGE_BY_ANY); JOIN_ROW_NONE: no node, or
 * several, have it. 0 or -ENOMEM. */
static int find_node(JoinIndex *index, GaugeIdentity identity, Str text, uint32_t *ret_row) {
    unsigned char bytes[ADDRESS_BYTES];
    uint32_t row = JOIN_ROW_NONE;
    int r = identity == GAUGE_BY_NAME || index->arena ? 0 : make(index);

    if (r < 0)
        return r;
    if (identity == GAUGE_BY_NAME)
        row = str_is_empty(text) ? JOIN_ROW_NONE : names_find(index->names, text);
    else if (identity == GAUGE_BY_HOSTNAME)
        row = map_find(&index->hostnames, text);
    else if (read_address(text, bytes))
        row = map_find(&index->addresses, str_of((const char *)bytes, sizeof(bytes)));
    *ret_row = row < index->names->n_rows ? row : JOIN_ROW_NONE;
    return 0;
}

/* --- the way from a label to a node ------------------------------------------------------- */

#define PORT_DIGITS_MAX 5u

/* "a:9100" and "[::1]:9100" without the port. An IPv6 address without brackets has more than one
 * colon, and none of them begins a port. */
static Str host_of(Str value) {
    size_t colon = str_find_last(value, ':'), n_digits = value.len - colon - 1;

    if (colon == SIZE_MAX || n_digits < 1 || n_digits > PORT_DIGITS_MAX)
        return value;
    for (size_t i = colon + 1; i < value.len; i++)
        if (!ascii_is_digit(value.ptr[i]))
            return value;
    if (value.ptr[0] == '[' ? value.ptr[colon - 1] != ']' : str_find(value, ':') != colon)
        return value;
    return str_take(value, colon);
}

/* Sets the part of @value that the pattern matches; a NULL pointer: no match. Errors: as below. */
static int extract(JoinWay *way, Str value, Str *ret) {
    _cleanup_(regex_scan_freep) RegexScan *scan = NULL;
    RegexSpan spans[2] = {{0}, {.from = SIZE_MAX}}; /* the second: if there is a group */
    RegexError error;
    size_t n_spans;
    int r;

    *ret = STR_NULL;
    if (!way->pattern)
        way->pattern = regex_compile(
            way->join->gauge->node_pattern, GAUGE_PATTERN_MAX, way->join->scratch, &error);
    if (!way->pattern)
        return arena_has_failed(way->join->scratch) ? -ENOMEM : -EINVAL;
    n_spans = regex_n_groups(way->pattern) > 0 ? 2 : 1;
    scan = regex_scan_new(way->pattern, value, n_spans);
    r = scan ? regex_scan_next(scan, &way->join->work, spans) : -ENOMEM;
    if (r == REGEX_LIMIT) {
        way->join->work = 0;
        return -E2BIG;
    }
    if (r <= 0)
        return r;
    if (spans[1].from == SIZE_MAX)
        spans[1] = spans[0];
    *ret = str_of(value.ptr + spans[1].from, spans[1].to - spans[1].from);
    return 0;
}

static const Str *find_mapped(const JoinWay *way, Str text) {
    return way->join->gauge->mapping.n > 0 ? labels_find(&way->join->gauge->mapping, text) : NULL;
}

/* The mapping gives a node's name. A text that it does not have is compared itself. */
static int find_text(JoinWay *way, Str text, uint32_t *ret_row) {
    const Str *mapped = find_mapped(way, text);

    return find_node(
        way->join->index, mapped ? GAUGE_BY_NAME : way->identity, mapped ? *mapped : text, ret_row);
}

int join_way_find(JoinWay *way, Str value, uint32_t *ret_row) {
    Str host;
    int r;

    *ret_row = JOIN_ROW_NONE;
    if (!str_is_empty(way->join->gauge->node_pattern)) {
        r = extract(way, value, &host);
        return r < 0 || !host.ptr ? r : find_text(way, host, ret_row);
    }
    host = host_of(value);
    if (find_mapped(way, value)) /* the mapping may be of values with ports */
        host = value;
    r = find_text(way, host, ret_row);
    way->has_cut_port |= host.len < value.len && *ret_row != JOIN_ROW_NONE;
    return r;
}

Str join_way_compared(JoinWay *way, Str value) {
    Str part;

    if (str_is_empty(way->join->gauge->node_pattern))
        return host_of(value);
    return extract(way, value, &part) == 0 && part.ptr ? part : value;
}

Str join_label(const Series *series, Str name, size_t *hint) {
    size_t i = *hint;

    if (i >= series->n_labels || !str_eq(series->labels[i].name, name))
        for (i = 0; i < series->n_labels && !str_eq(series->labels[i].name, name);)
            i++;
    if (i == series->n_labels || str_is_empty(series->labels[i].value))
        return STR_NULL;
    *hint = i;
    return series->labels[i].value;
}

const char *join_identity_name(GaugeIdentity identity) {
    static const char *const names[] = {
        [GAUGE_BY_ANY] = "name, hostname or IP address",
        [GAUGE_BY_NAME] = "name",
        [GAUGE_BY_HOSTNAME] = "hostname",
        [GAUGE_BY_IP] = "IP address",
    };

    return names[identity];
}

void join_way_describe(const JoinWay *way, Message *message) {
    message_add(message, "label ");
    message_show(message, way->label, MESSAGE_QUOTE_MAX);
    if (!str_is_empty(way->join->gauge->node_pattern))
        message_add(message, ", by nodePattern,");
    else if (way->has_cut_port)
        message_add(message, ", without the port,");
    if (way->join->gauge->mapping.n > 0)
        message_add(message, " through the mapping");
    message_add(message, " is the node's %s", join_identity_name(way->identity));
}

/* --- the last answer of a query, in order -------------------------------------------------- */

JoinMemory *join_memory_new(void) {
    JoinMemory *memory = calloc(1, sizeof(*memory));

    if (memory)
        memory->label.ceiling = memory->texts.ceiling = JOIN_MEMORY_BYTES_MAX;
    return memory;
}

void join_memory_done(JoinMemory *memory) {
    buf_done(&memory->label);
    buf_done(&memory->texts);
    free(memory->series);
}

JoinMemory *join_memory_free(JoinMemory *memory) {
    if (memory)
        join_memory_done(memory);
    free(memory);
    return NULL;
}

bool join_memory_way(const JoinMemory *memory, uint64_t labels, JoinWay *way) {
    if (memory->labels != labels || memory->version != way->join->index->version)
        return false;
    way->label = buf_str(&memory->label);
    way->identity = memory->identity;
    way->has_cut_port = memory->has_cut_port;
    return true;
}

bool join_memory_holds(const JoinMemory *memory, const JoinWay *way) {
    return memory->version == way->join->index->version && memory->identity == way->identity &&
           str_eq(way->label, buf_str(&memory->label));
}

static bool make_room(JoinMemory *memory, size_t n) {
    if (n > memory->size) {
        free(memory->series);
        memory->series = malloc(n * sizeof(*memory->series));
        memory->size = memory->series ? n : 0;
    }
    return memory->size >= n;
}

static void copy_series(JoinMemory *memory, const Vector *vector, Str label, const uint32_t *rows) {
    size_t hint = 0;

    buf_reset(&memory->texts);
    for (size_t i = 0; i < vector->n; i++) {
        Str value = join_label(&vector->items[i], label, &hint);

        memory->series[i] =
            (RememberedSeries){(uint32_t)memory->texts.len, (uint32_t)value.len, rows[i]};
        buf_append(&memory->texts, value);
    }
    memory->n = buf_error(&memory->texts) ? 0 : vector->n;
}

void join_memory_learn(JoinMemory *memory, uint64_t labels, const JoinWay *way,
    const Vector *vector, const uint32_t *rows) {
    bool is_kept = vector->n <= JOIN_MEMORY_SERIES_MAX;
    size_t n_bytes = 0, hint = 0;

    for (size_t i = 0; i < vector->n && is_kept; i++)
        n_bytes += join_label(&vector->items[i], way->label, &hint).len;
    is_kept &= n_bytes <= JOIN_MEMORY_BYTES_MAX;
    memory->n = 0;
    if (!str_eq(way->label, buf_str(&memory->label))) { /* else both may be the same memory */
        buf_reset(&memory->label);
        buf_append(&memory->label, way->label);
    }
    memory->labels = buf_error(&memory->label) ? 0 : labels;
    memory->identity = way->identity;
    memory->has_cut_port = way->has_cut_port;
    memory->version = way->join->index->version;
    if (!buf_error(&memory->label) && is_kept && make_room(memory, vector->n))
        copy_series(memory, vector, way->label, rows);
}
