#pragma once

/*
 * LabelIndex: the labels and annotations of the nodes of a block, by key.
 *
 * Policies with many rules read dozens of keys of each node. The index reads all labels of a node
 * once; then a column of a key is there without a search in each node.
 */

#include "cluster/table.h"

typedef struct LabelIndex LabelIndex;

/* Plans that read fewer keys find them faster without an index, which reads all labels. */
#define LABEL_INDEX_KEYS_MIN 48u

/* More keys than these in a block have no index. */
#define LABEL_INDEX_KEYS_MAX 512u

/* Of the labels (or @annotations) of @n rows, at most CHUNK_ROWS; borrows from the table. NULL: too
 * many keys, or no memory. */
LabelIndex *label_index_new(
    const NodeTable *table, const uint32_t *rows, size_t n, bool annotations, Arena *arena);

/* The values of @key, one a row; NULL: not set. */
const Str *const *label_index_find(const LabelIndex *index, Str key);
