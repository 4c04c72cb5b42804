/* Reads any bytes as a list of metrics.k8s.io or custom.metrics.k8s.io. Requires a message that
 * fits or finite numbers. */

#include <math.h>

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "load/vector.h"

#define BUDGET ((size_t)64 * 1024 * 1024)

/* @resource empty: a list of custom.metrics.k8s.io. */
static void read_list(Str body, Str resource, bool is_of_pods) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX];
    Vector vector;
    int r;

    require(arena);
    memset(error, 'x', sizeof(error));
    r = str_is_empty(resource)
            ? vector_read_custom(body, arena, &vector, error)
            : vector_read_resources(body, resource, is_of_pods, arena, &vector, error);
    require(memchr(error, '\0', sizeof(error)));
    require((r < 0) == (error[0] != '\0'));
    for (size_t i = 0; r == 0 && i < vector.n; i++) {
        require(isfinite(vector.items[i].value));
        require(vector.items[i].n_labels == (is_of_pods ? 2 : 1));
        require(vector.items[i].at_msec >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str body = str_of((const char *)data, size);

    read_list(body, STR("cpu"), false);
    read_list(body, STR("memory"), true);
    read_list(body, STR_NULL, false);
    return 0;
}
