#pragma once

/* Round: a random scene, some of its nodes in some order, the requests for them, and the expected
 * result of each node. Expected results do not use the tested code: the scalar machine evaluates
 * one filter and one node after the other. */

#include <limits.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "extender/test-random-scene.h"
#include "extender/view.h"
#include "policy/test-scene.h"

typedef struct Round {
    Arena *arena;
    Str text;
    TestScene scene;
    View *view;
    unsigned order[RANDOM_NODES_MAX]; /* some of the nodes, in the order of the request */
    unsigned n;
    bool with_unknown; /* the request starts with a node that berth does not know */
} Round;

void round_init(Round *round, Rng *rng);
void round_done(Round *round);

/* A new view of the scene, which the caller owns. */
View *round_view(const Round *round);

/* Request bodies: filter and prioritize in both node modes, and preempt, where node N has N mod 3
 * victims and N violated budgets. */
Str round_names_body(const Round *round);
Str round_nodes_body(const Round *round);
Str round_victims_body(const Round *round);

/* The first filter that rejects node @row without its first @n_gone victims and without the pod
 * itself; NULL: none. */
const Filter *round_first_failing(const Round *round, uint32_t row, unsigned n_gone);

/* Whether @policy applies. Random policies match by namespace and labels. */
bool round_applies(const Round *round, const Policy *policy);

#define UNKNOWN_NODE UINT_MAX

/* Whether @name is the name of node @number, or of UNKNOWN_NODE. */
bool round_is_node(Str name, unsigned number);

/* The expected result of a node of the request. */
typedef struct ExpectedNode {
    unsigned number; /* or UNKNOWN_NODE */
    bool fails;
    const Filter *filter; /* the filter that rejects; NULL: the node is unknown */
    double score;
    bool is_left_out;
} ExpectedNode;

#define EXPECTED_MAX (RANDOM_NODES_MAX + 1)

/* Fills @ret in the order of the request; returns the number of nodes. */
size_t round_expected(const Round *round, bool with_unknown, ExpectedNode ret[static EXPECTED_MAX]);
