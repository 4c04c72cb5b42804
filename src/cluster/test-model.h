#pragma once

/*
 * Model: a simple implementation of a Store.
 *
 * It keeps a few nodes and pods in plain arrays. Random operations go to a store and to the model;
 * after each publication every column of every row is computed from the arrays and compared.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

#define MODEL_NODES_MAX 256u
#define MODEL_PODS_MAX 1024u

/* The source of choices: bytes of a fuzzer, or rng. */
typedef struct ModelRng {
    const uint8_t *data; /* NULL: random numbers, without end */
    size_t n_left;
    Rng rng;
} ModelRng;

typedef struct ModelOptions {
    unsigned n_nodes, n_pods;                  /* in the model */
    unsigned nodes_max, pods_max, assumed_max; /* the store's limits */
    unsigned publish_every;                    /* approximate number of events */
    size_t n_events;
    /* Called around each call of the store; NULL: none. With them -ENOMEM is an expected result. */
    void (*arm)(unsigned roll);
    void (*disarm)(void);
} ModelOptions;

typedef struct ModelTally {
    size_t n_events, n_published, n_failed, n_bound, n_full, n_lists, n_expired;
    size_t n_over; /* snapshots with more resources than columns */
} ModelTally;

/* NULL, or an error (static). @tally may be NULL. */
const char *model_run(const ModelOptions *options, ModelRng *rng, ModelTally *tally);
