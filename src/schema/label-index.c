/* Labels of a block's nodes by key: open addressing over a fixed number of keys. */

#include "schema/label-index.h"

#include "base/hash.h"

#define PLACES (2 * LABEL_INDEX_KEYS_MAX) /* a power of two */

typedef struct IndexedKey {
    Str key;
    const Str *values[CHUNK_ROWS];
} IndexedKey;

struct LabelIndex {
    uint16_t places[PLACES]; /* number of the key + 1; 0: free */
    size_t n;
    IndexedKey keys[LABEL_INDEX_KEYS_MAX];
};

/* Where @key is, or could be. Nodes of a store share the strings of their keys. */
static size_t place_of(const LabelIndex *index, Str key) {
    size_t place = hash_str(key) % PLACES;

    for (; index->places[place] != 0; place = (place + 1) % PLACES) {
        Str other = index->keys[index->places[place] - 1].key;

        if (other.len == key.len && (other.ptr == key.ptr || str_eq(other, key)))
            break;
    }
    return place;
}

static bool add(LabelIndex *index, size_t row, const Label *label) {
    size_t place = place_of(index, label->key);

    if (index->places[place] == 0) {
        if (index->n == LABEL_INDEX_KEYS_MAX)
            return false;
        index->keys[index->n] = (IndexedKey){.key = label->key};
        index->places[place] = (uint16_t)++index->n;
    }
    index->keys[index->places[place] - 1].values[row] = &label->value;
    return true;
}

LabelIndex *label_index_new(
    const NodeTable *table, const uint32_t *rows, size_t n, bool annotations, Arena *arena) {
    LabelIndex *index = ARENA_RAW(arena, LabelIndex, 1);

    if (!index)
        return NULL;
    memset(index->places, 0, sizeof(index->places));
    index->n = 0;
    for (size_t i = 0; i < n; i++) {
        const Node *node = table_node(table, rows[i]);
        const Labels *labels = node && annotations ? &node->annotations
                               : node              ? &node->labels
                                                   : NULL;

        for (size_t k = 0; labels && k < labels->n; k++)
            if (!add(index, i, &labels->items[k]))
                return NULL;
    }
    return index;
}

const Str *const *label_index_find(const LabelIndex *index, Str key) {
    static const Str *const none[CHUNK_ROWS];
    uint16_t number = index->places[place_of(index, key)];

    return number > 0 ? index->keys[number - 1].values : none;
}
