#pragma once

/*
 * CelText: CEL as text, piece by piece, for the kinds (kind.h).
 *
 * What is written reads like what a person would have written, and never ends in an error: labels
 * are looked up with a value for those that are absent, texts are made numbers only where they are
 * some. A buffer that is over its limit remembers it (buf_error()): whoever reads it asks.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "model/selector.h"
#include "policy/kind.h"

/* 'text', with what needs it escaped. */
void cel_text_string(Buf *out, Str text);

/* The same for words that were put together in a buffer; and what was written in one, with
 * something around it: nothing when it is empty. Where the buffer has failed, so has @out. */
void cel_text_words(Buf *out, const Buf *words);
void cel_text_part(Buf *out, const char *before, const Buf *part, const char *after);

/* A double as a literal: 0.5, 500.0, 1e+20. */
void cel_text_double(Buf *out, double value);

/* What the map of strings @map says of @key, '' where it says nothing: map[?'key'].orValue(''). */
void cel_text_look_up(Buf *out, const char *map, Str key);

/* What the map of amounts @map (node.free, pod.requests …) says of @resource, in whole units: of
 * cpu thousandths. */
void cel_text_amount(Buf *out, const char *map, Str resource);

/* The condition that @selector stands for, over the map of labels that the expression @labels
 * gives: `labels[?'a'].orValue('') == 'x' && …`; "true" for one without requirements. Never an
 * error. It can stand on either side of &&; anywhere else it wants brackets. */
void cel_text_selector(Buf *out, const Selector *selector, const char *labels);
void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels);

/* `['a', 'b']`. */
void cel_text_strings(Buf *out, const Str *items, size_t n);

/* Several findings as one message, with "; " between those that are there:
 *
 *     [C ? '' : M, D ? '' : N].filter(m, m != '').join('; ')
 *
 * begin, then for each finding next and "C ? '' : M", then end. */
void cel_text_findings_begin(Buf *out);
void cel_text_findings_next(Buf *out);
void cel_text_findings_end(Buf *out);

/* One of several parts of a rule that must all hold: the expression of it, and what to say where
 * it does not. */
typedef struct TextPart {
    void (*condition)(Buf *out, const void *item);
    void (*finding)(Buf *out, const void *item);
} TextPart;

/* The rule of @n items of @size bytes each: `C && D`, and their findings as its message. */
void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n, size_t size);
