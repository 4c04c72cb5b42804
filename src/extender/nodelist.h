#pragma once

/*
 * NodeList: the nodes of a request while they are read.
 *
 * In names mode each name is to become a row of the view's table. Mostly that takes no parsing and
 * no hashing: what comes is compared with what came before (cluster/names.h).
 */

#include "base/vec.h"
#include "extender/view.h"
#include "extender/wire.h"
#include "model/node.h"
#include "json/read.h"

typedef struct NodeList {
    bool is_given;
    size_t n, size;
    BodySpan *spans; /* size of them, n used */
    uint32_t *rows;
    size_t n_unknown;
    size_t n_expected; /* names that were guessed one by one */
    VEC(Node) nodes;   /* whole-node mode only */
} NodeList;

/* Adds the node at @raw in the request. False with the reader's error over the budget. */
bool node_list_add(JsonReader *reader, Arena *arena, NodeList *list, Str raw, uint32_t row);

/* The value of "NodeNames". */
void node_list_decode_names(const View *view, JsonReader *reader, Arena *arena, NodeList *list);

/* Gives @reader an error when @name is empty, or holds control characters: everything else that is
 * not a name is only unknown. */
void name_check(JsonReader *reader, Str name);
