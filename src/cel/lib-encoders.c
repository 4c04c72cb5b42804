/*
 * Encoders: bytes as base64 text and back.
 *
 * Decoding is as easy-going as cel-go's: padding is there or not at all, lines may be
 * broken, and bits that are left over do not matter (encoders_ext/decode/hello_without_padding).
 */
#include "base/base64.h"
#include "base/cleanup.h"
#include "cel/library.h"

CEL_FUNCTION(decode) {
    Str text = cel_str(args[0]);
    _cleanup_(buf_done) Buf bytes = BUF_INIT(text.len);

    if (!cel_charge_bytes(run, 2 * text.len))
        return cel_exhausted(run);
    if (!base64_decode_loose(text, &bytes))
        return cel_fail(run, "illegal base64 data");
    if (buf_error(&bytes))
        return cel_no_memory(run);
    return cel_make_bytes(run, buf_str(&bytes));
}

CEL_FUNCTION(encode) {
    Str bytes = cel_str(args[0]);
    _cleanup_(buf_done) Buf text = BUF_INIT(bytes.len / 3 * 4 + 4);

    if (!cel_charge_bytes(run, 2 * bytes.len))
        return cel_exhausted(run);
    base64_encode(bytes, &text);
    if (buf_error(&text))
        return cel_no_memory(run);
    return cel_make_string(run, buf_str(&text));
}

static const CelOverloadSpec overloads[] = {
    {"base64.decode", "(string) -> bytes", decode, CEL_SIZED(BYTES, FIRST), .reads_text = true},
    {"base64.encode", "(bytes) -> string", encode, CEL_SIZED(BYTES, TWICE), .reads_text = true},
};

CEL_LIBRARY(cel_encoders_library, "encoders", overloads);
