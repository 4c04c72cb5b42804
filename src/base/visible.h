#pragma once

/*
 * Visible: text from outside, safe to show.
 *
 * Characters that could drive a terminal or reorder text (control characters, bidi
 * marks, bytes that are not UTF-8) are escaped, so that one line stays one line.
 */

#include "base/buf.h"

/* Appends @text (@out NULL: only measures). Returns how many columns it takes (a code point counts
 * as one). */
size_t visible_append(Buf *out, Str text);

/* The number of columns that visible_append() would append. */
size_t visible_width(Str text);

/* The longest beginning of @text that takes at most @width columns. */
Str visible_take(Str text, size_t width);

/* Appends @text and spaces up to @width columns. */
void visible_append_padded(Buf *out, Str text, size_t width);

/* Appends the words of @text from column @at on, in lines of at most @width columns; all but the
 * first are indented by @indent. Returns the column after the last word. */
size_t visible_append_words(Buf *out, Str text, size_t at, size_t indent, size_t width);

/* Appends @format, in which each {} is replaced by the next Str argument, escaped:
 * visible_print(out, "{}/{}: rejected\n", namespace, name). */
#define visible_print(out, format, ...)                                                            \
    visible_print_list((out), (format), (const Str[]){__VA_ARGS__})
void visible_print_list(Buf *out, const char *format, const Str *arguments);
