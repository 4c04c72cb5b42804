#pragma once

/* UTF-8: one code point at a time, strictly (no overlong forms, no surrogates,
 * nothing above U+10FFFF). */

#include "base/buf.h"

/* Decodes the code point at the front of @text, which is not empty. Returns its
 * length in bytes, or 0 when the bytes are not valid UTF-8. */
size_t utf8_decode(Str text, uint32_t *ret);

/* Writes @c (a valid code point) into @out, 1 to 4 bytes; returns how many. */
size_t utf8_encode(uint32_t c, char out[4]);

/* Whether @c would end a line, move the cursor or reorder text in a terminal: controls (C0, DEL,
 * C1), line separators, bidirectional marks, the byte order mark. */
bool utf8_is_unsafe(uint32_t c);

/* Whether byte @c begins a character: it is not a continuation byte. */
static inline bool utf8_is_start(char c) {
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* How many characters begin in @text. */
size_t utf8_count(Str text);

/* The offset of the first byte that is not valid UTF-8; text.len if all of it is valid. */
size_t utf8_valid_length(Str text);

/* The first bytes of @text, at most @max, without cutting a character. */
Str utf8_take(Str text, size_t max);

/* Appends @bytes; each byte that is not part of valid UTF-8 becomes U+FFFD. */
void utf8_append_valid(Buf *out, Str bytes);
