#pragma once

/*
 * NodeList: the nodes of a request while they are read.
 *
 * In names mode the row of each name in the view's table must be found. Usually that needs no
 * parsing and no hashing: names are compared with those of earlier requests (cluster/names.h).
 */

#include "base/vec.h"
#include "extender/view.h"
#include "extender/wire.h"
#include "model/node.h"
#include "json/read.h"

typedef struct NodeList {
    bool is_given;
    size_t n, size;
    BodySpan *spans; /* of @size, @n used */
    uint32_t *rows;
    size_t n_unknown;
    size_t n_expected; /* names that take_expected() found */
    VEC(Node) nodes;   /* whole-node mode only */
} NodeList;

/* Adds the node at @raw in the request. False if over the memory budget: the reader has the
 * error. */
bool node_list_add(JsonReader *reader, Arena *arena, NodeList *list, Str raw, uint32_t row);

/* Decodes the value of "NodeNames"; errors are the reader's. */
void node_list_decode_names(const View *view, JsonReader *reader, Arena *arena, NodeList *list);

/* Sets an error in @reader if @name is empty or has control characters. Other invalid names are
 * only unknown nodes. */
void name_check(JsonReader *reader, Str name);
