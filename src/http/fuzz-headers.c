/* Header lines that nobody wrote: reading them ends, and stays inside. */

#include "base/fuzz.h"
#include "http/headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str block = str_of((const char *)data, size);
    Headers headers = {0};

    headers_add_block(&headers, block);
    headers_finish(&headers, /* is_http_1_1= */ true);
    require(headers.n_lines <= size);
    if (headers.status == 0) {
        require(headers.n_hosts == 1);
        require(headers.n_lengths + headers.n_codings <= 1);
        require(!headers.is_chunked || headers.content_length == 0);
    } else
        require(headers.problem);
    (void)headers_request_line_is_clean(str_take(block, size / 2), str_skip(block, size / 2));
    return 0;
}
