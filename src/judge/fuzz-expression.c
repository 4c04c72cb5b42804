/* The bytes choose the parts of one expression, which is compiled as a filter and as a score
 * (fuzz-run.h). */

#include <errno.h>

#include "judge/fuzz-run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);

    generate_expression(&(Choices){.bytes = data, .n = size}, &text);
    return buf_error(&text) == -EFBIG ? 0 : fuzz_policy(buf_str(&text));
}
