#pragma once

/*
 * SavedViews that nobody thought of: policies, nodes, pods and what was measured of them, drawn
 * with rng, as the text of a TestScene (policy/test-scene.h). The same rng draw the same scene.
 */

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"

#define DRAWN_NODES_MAX 14u

/* In @arena. Its nodes are n0, n1, …, as many as @ret_n_nodes says, at least one. */
Str drawn_scene(Rng *rng, Arena *arena, unsigned *ret_n_nodes);
