#pragma once

/*
 * Phrase: a sentence for a person in an array of a fixed size.
 *
 * What others sent is shown in quotes, cut short and with its control characters escaped, so that
 * it can neither fill a log nor drive a terminal. What does not fit is left out; the text is always
 * terminated.
 */

#include <stddef.h>

#include "base/str.h"

#define PHRASE_QUOTE_MAX 80u /* bytes of what others sent */

typedef struct Phrase {
    char *text;
    size_t len, size; /* size counts the NUL */
} Phrase;

/* An empty phrase in @text of @size bytes, 1 at least. */
Phrase phrase_begin(char *text, size_t size);

void phrase_add(Phrase *phrase, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* At most @max columns of @text, escaped, and "…" where it was longer. */
void phrase_show(Phrase *phrase, Str text, size_t max);

/* The same in quotes, at most PHRASE_QUOTE_MAX. */
void phrase_quote(Phrase *phrase, Str text);
