#pragma once

/*
 * Round: a drawn scene, some of its nodes in some order, the requests about them, and what is to
 * become of each: found out without the code that is tested, by asking the scalar machine for one
 * filter and one node after the other.
 */

#include <limits.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "extender/test-drawn.h"
#include "extender/view.h"
#include "policy/test-scene.h"

typedef struct Round {
    Arena *arena;
    Str text;
    TestScene scene;
    View *view;
    unsigned order[DRAWN_NODES_MAX]; /* some of the nodes, in the order they are asked for */
    unsigned n;
    bool with_stranger; /* asks for a node berth does not know, too, first of all */
} Round;

void round_init(Round *round, Rng *rng);
void round_done(Round *round);

/* Another view of the scene; a reference. */
View *round_view(const Round *round);

/* The request for filter and prioritize, in both modes, and for preempt: node N has N mod 3 victims
 * and N violated budgets. */
Str round_names_body(const Round *round);
Str round_nodes_body(const Round *round);
Str round_victims_body(const Round *round);

/* The first filter, one by one, that node @row fails once its first @n_gone victims, and the pod
 * itself, are gone; NULL: none. */
const Filter *round_first_failing(const Round *round, uint32_t row, unsigned n_gone);

/* Whether @policy has a say. Drawn policies match by namespace and labels. */
bool round_is_asked(const Round *round, const Policy *policy);

#define STRANGER UINT_MAX

/* Whether node @number, or the STRANGER, is called so. */
bool round_is_node(Str name, unsigned number);

/* What is to become of a node of the request. */
typedef struct Fate {
    unsigned number; /* or STRANGER */
    bool fails;
    const Filter *filter; /* why; NULL: nobody knows the node */
    double score;
    bool is_left_out;
} Fate;

#define FATES_MAX (DRAWN_NODES_MAX + 1)

/* In the order of the request; how many. */
size_t round_fates(const Round *round, bool with_stranger, Fate ret[static FATES_MAX]);
