#pragma once

/*
 * Random policies, nodes, pods and measurements, as the text of a TestScene (policy/test-scene.h).
 * The same rng gives the same scene.
 */

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"

#define RANDOM_NODES_MAX 14u

/* In @arena. Its nodes are n0, n1, …; @ret_n_nodes is at least one. */
Str random_scene(Rng *rng, Arena *arena, unsigned *ret_n_nodes);
