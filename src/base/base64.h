#pragma once

/*
 * Base64: RFC 4648, the standard alphabet, padded.
 *
 * Decoding takes what Go's encoding/json takes for bytes: lines may be broken (CR and LF are
 * skipped), padding is required, and the bits that padding leaves over must be zero.
 */

#include "base/buf.h"

/* Appends the bytes that @text encodes to @out. False when it is no base64; then, or when @out has
 * failed (buf_error()), part of them may have been appended. */
bool base64_decode(Str text, Buf *out) MUST_CHECK;

/* The same for text that people write: padding is complete or absent, and the bits
 * that it leaves over may have any value. */
bool base64_decode_loose(Str text, Buf *out) MUST_CHECK;

/* Appends @bytes as base64, without line breaks. */
void base64_encode(Str bytes, Buf *out);
