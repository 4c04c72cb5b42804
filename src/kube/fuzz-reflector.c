/* A reflector with an API server that is controlled by the bytes: events, bookmarks, errors, 410s
 * and streamed lists in any order and cut anywhere (test-reflector-server.h). */

#include "kube/test-reflector-server.h"

#define STEPS_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0)
        run_server((Choices){.bytes = data + 1, .n = size - 1}, data[0], STEPS_MAX);
    return 0;
}
