/*
 * Digests a cluster. Each node becomes a text with the length of each part, the text a digest; the
 * digests of all nodes are added, so that their order does not matter. (With XOR a node twice would
 * cancel out.) The same is done with the amounts of a node, whose columns may have any order.
 */

#include "cluster/fingerprint.h"

#include <endian.h>
#include <errno.h>

/* Enough for labels and taints of a node: the API server limits an object to 3 MiB. */
#define NODE_TEXT_MAX ((size_t)8 * 1024 * 1024)

static void add(Digest *sum, Digest digest) {
    sum->high += digest.high;
    sum->low += digest.low;
}

static void append_number(Buf *out, uint64_t number) {
    uint64_t bytes = htole64(number);

    buf_append(out, str_of((const char *)&bytes, sizeof(bytes)));
}

static void append_text(Buf *out, Str text) {
    append_number(out, text.len);
    buf_append(out, text);
}

static void append_labels(Buf *out, const Labels *labels) {
    append_number(out, labels->n);
    for (size_t i = 0; i < labels->n; i++) {
        append_text(out, labels->items[i].key);
        append_text(out, labels->items[i].value);
    }
}

static void append_taints(Buf *out, const Taints *taints) {
    append_number(out, taints->n);
    for (size_t i = 0; i < taints->n; i++) {
        append_text(out, taints->items[i].key);
        append_text(out, taints->items[i].value);
        append_text(out, taint_effect_word(taints->items[i].effect));
    }
}

/* Digests the resources that the node offers, and their requested amounts. Other columns exist only
 * because other nodes offer them, or did. */
static Digest digest_amounts(const NodeTable *table, uint32_t row, const Digest *names) {
    Digest sum = DIGEST_NONE;

    for (size_t i = 0; i < table->n_resources; i++) {
        int64_t allocatable = table_amount(table, row, i, AMOUNT_ALLOCATABLE);
        uint64_t parts[] = {
            htole64(names[i].high),
            htole64(names[i].low),
            htole64((uint64_t)allocatable),
            htole64((uint64_t)table_amount(table, row, i, AMOUNT_REQUESTED)),
        };

        if (allocatable != 0)
            add(&sum, digest_of(str_of((const char *)parts, sizeof(parts))));
    }
    return sum;
}

static Digest digest_row(const NodeTable *table, uint32_t row, const Digest *names, Buf *room) {
    const NodeChunk *chunk = table_chunk(table, row);
    size_t slot = table_slot(row);
    const Node *node = chunk->nodes[slot];
    Digest amounts = digest_amounts(table, row, names);

    buf_reset(room);
    append_text(room, node->name);
    append_labels(room, &node->labels);
    append_taints(room, &node->taints);
    append_number(room, chunk->is_ready[slot] + 2u * chunk->is_unschedulable[slot]);
    append_number(room, chunk->n_pods[slot]);
    append_number(room, amounts.high);
    append_number(room, amounts.low);
    return digest_of(buf_str(room));
}

int table_fingerprint(const NodeTable *table, Digest *ret) {
    _cleanup_(buf_done) Buf room = BUF_INIT(NODE_TEXT_MAX);
    Digest names[TABLE_RESOURCES_MAX];

    for (size_t i = 0; i < table->n_resources; i++)
        names[i] = digest_of(table->resources[i]);
    *ret = DIGEST_NONE;
    for (uint32_t row = 0; row < table->n_rows; row++)
        if (table_node(table, row)) {
            add(ret, digest_row(table, row, names, &room));
            if (buf_error(&room))
                return -ENOMEM;
        }
    return 0;
}
