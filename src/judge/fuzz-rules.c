/* The bytes choose the expressions, built-in rules and fields of a policy (fuzz-run.h). */

#include "judge/fuzz-run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);

    generate_policy(&(Choices){.bytes = data, .n = size}, &text);
    require(buf_error(&text) == 0);
    return fuzz_policy(buf_str(&text));
}
