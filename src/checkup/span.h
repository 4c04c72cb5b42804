#pragma once

/* Span: a length of time in the words of a person: "12 days", "3 hours", "40 s", "100 ms". */

#define SPAN_DAY_SEC 86400.0
#define SPAN_TEXT_MAX 32u

typedef struct Span {
    char text[SPAN_TEXT_MAX];
} Span;

/* Of @sec seconds, without its sign. */
Span span_of(double sec);
