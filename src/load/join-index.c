/* Nodes by hostname and address, for joins. */

#include "load/join-internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/record.h"

#define HOSTNAME_LABEL "kubernetes.io/hostname"

/* For 50,000 nodes with two addresses and two hostnames each. */
#define INDEX_BYTES_MAX ((size_t)64 * 1024 * 1024)

#define ADDRESS_TEXT_MAX 48u /* longer is no address */
#define ADDRESS_BYTES 16u

static void drop_nodes(JoinIndex *index) {
    for (size_t row = 0; index->nodes && row < index->names->n_rows; row++)
        node_record_unref(index->nodes[row]);
    index->arena = arena_free(index->arena);
    index->nodes = NULL;
    index->hostnames = (JoinKeys){0};
    index->addresses = (JoinKeys){0};
}

void join_index_done(JoinIndex *index) {
    drop_nodes(index);
    index->names = names_unref(index->names);
}

JoinIndex *join_index_new(void) {
    return calloc(1, sizeof(JoinIndex));
}

JoinIndex *join_index_free(JoinIndex *index) {
    if (index)
        join_index_done(index);
    free(index);
    return NULL;
}

/* --- whether it still holds ------------------------------------------------ */

static Str hostname_label(const Node *node) {
    const Str *value = labels_find(&node->labels, STR(HOSTNAME_LABEL));

    return value ? *value : STR_NULL;
}

static bool is_called_the_same(const Node *a, const Node *b) {
    return str_eq(hostname_label(a), hostname_label(b)) && node_addresses_equal(a, b);
}

/* Whether every row's node is called as it was. A new record with the same identities takes the
 * place of the one before. */
static bool nodes_hold(JoinIndex *index) {
    for (uint32_t row = 0; row < index->names->n_rows; row++) {
        const Node *now = table_node(index->table, row), **was = &index->nodes[row];

        if (now == *was)
            continue;
        if (!now || !*was || !is_called_the_same(now, *was))
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

/* --- making it ------------------------------------------------------------- */

/* 16 bytes, whatever way it is written; IPv4 as IPv6 has it. Brackets do not count. */
static bool address_parse(Str text, unsigned char ret[ADDRESS_BYTES]) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[ADDRESS_TEXT_MAX];

    if (text.len > 1 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
        text = str_of(text.ptr + 1, text.len - 2);
    if (text.len == 0 || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (strlen(copy) != text.len)
        return false;
    if (str_find(text, ':') != SIZE_MAX)
        return inet_pton(AF_INET6, copy, ret) == 1;
    memcpy(ret, mapped, sizeof(mapped));
    return inet_pton(AF_INET, copy, ret + sizeof(mapped)) == 1;
}

/* Out of memory the arena has failed. */
static void add_key(JoinKeys *keys, Arena *arena, Str key, uint32_t row) {
    uint32_t place = map_find(&keys->map, key), *new;
    Str copy;

    if (place != MAP_NONE) {
        if (keys->rows.items[place] != row)
            keys->rows.items[place] = JOIN_ROW_NONE;
        return;
    }
    new = VEC_PUSH(&keys->rows, arena);
    copy = arena_copy(arena, key);
    if (!new || !copy.ptr)
        return;
    *new = row;
    if (map_add(&keys->map, copy, (uint32_t)keys->rows.n - 1) < 0)
        keys->rows.n--;
}

static void add_address(JoinIndex *index, const Address *address, uint32_t row) {
    unsigned char bytes[ADDRESS_BYTES];

    if (address->type == ADDRESS_HOSTNAME)
        add_key(&index->hostnames, index->arena, address->text, row);
    else if (address_parse(address->text, bytes))
        add_key(&index->addresses, index->arena, str_of((const char *)bytes, sizeof(bytes)), row);
}

static void add_node(JoinIndex *index, const Node *node, uint32_t row) {
    Str label = hostname_label(node);

    index->nodes[row] = node_record_ref(node);
    if (!str_is_empty(label))
        add_key(&index->hostnames, index->arena, label, row);
    for (size_t i = 0; i < node->n_addresses; i++)
        add_address(index, &node->addresses[i], row);
}

static int make(JoinIndex *index) {
    size_t n_rows = index->names->n_rows;

    index->arena = arena_new(INDEX_BYTES_MAX);
    if (!index->arena)
        return -ENOMEM;
    index->hostnames.map = MAP_INIT_IN(index->arena);
    index->addresses.map = MAP_INIT_IN(index->arena);
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

/* --- asking it ------------------------------------------------------------- */

static uint32_t find_key(const JoinKeys *keys, Str key) {
    uint32_t place = map_find(&keys->map, key);

    if (place == MAP_NONE)
        return JOIN_ROW_NONE;
    assert(keys->rows.items); /* there is one for each key */
    return keys->rows.items[place];
}

static uint32_t find_name(const JoinIndex *index, Str name) {
    uint32_t row = names_find(index->names, name);

    return row < index->names->n_rows && !str_is_empty(name) ? row : JOIN_ROW_NONE;
}

static uint32_t find_address(const JoinIndex *index, Str text) {
    unsigned char bytes[ADDRESS_BYTES];

    if (!address_parse(text, bytes))
        return JOIN_ROW_NONE;
    return find_key(&index->addresses, str_of((const char *)bytes, sizeof(bytes)));
}

int join_index_find(JoinIndex *index, GaugeIdentity identity, Str text, uint32_t *ret_row) {
    int r;

    if (identity == GAUGE_BY_NAME) {
        *ret_row = find_name(index, text);
        return 0;
    }
    r = index->arena ? 0 : make(index);
    if (r < 0)
        return r;
    *ret_row =
        identity == GAUGE_BY_IP ? find_address(index, text) : find_key(&index->hostnames, text);
    return 0;
}
