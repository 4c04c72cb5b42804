/* Any bytes as a policy file (fuzz-run.h). */

#include "judge/fuzz-run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_policy(str_of((const char *)data, size));
}
