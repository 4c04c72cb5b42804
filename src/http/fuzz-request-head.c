/* Any bytes as a request's head, in any pieces: the parser must terminate and stay in bounds. */

#include "base/fuzz.h"
#include "http/request-head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str bytes = str_of((const char *)data, size);
    size_t scanned = 0, length = request_head_length(bytes, &scanned), in_pieces = 0;
    RequestHead head;

    scanned = 0;
    for (size_t i = 0; i <= size && in_pieces == 0; i++)
        in_pieces = request_head_length(str_take(bytes, i), &scanned);
    require(in_pieces == length);
    if (length == 0 || length == REQUEST_HEAD_MALFORMED)
        return 0;
    require(length <= size);
    request_head_parse(str_take(bytes, length), &head);
    if (head.status == 0) {
        require(head.n_hosts == 1 || (head.n_hosts == 0 && !head.is_http_1_1));
        require(head.n_lengths <= 1 && head.n_authorizations <= 1 && head.n_tokens <= 1);
        require(head.http.method.len > 0);
    } else
        require(head.problem);
    return 0;
}
