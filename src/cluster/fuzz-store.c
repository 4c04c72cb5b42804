/* Any bytes as operations on a store and on the model. */

#include <stdio.h>
#include <stdlib.h>

#include "base/fuzz.h"
#include "base/hash.h"
#include "cluster/test-model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const ModelOptions options = {.n_nodes = 5,
        .n_pods = 9,
        .nodes_max = 4,
        .pods_max = 8,
        .assumed_max = 3,
        .publish_every = 4,
        .n_events = 20000};
    ModelRng rng = {.data = data, .n_left = size};
    const char *problem;

    if (size == 0)
        return 0;
    hash_set_key(1); /* the order of a walk depends on it: findings must repeat */
    problem = model_run(&options, &rng, NULL);
    if (problem) {
        (void)fprintf(stderr, "%s\n", problem);
        abort();
    }
    return 0;
}
