#pragma once

/*
 * Html: markup, written element by element into a buffer.
 *
 * Names of elements and attributes are ours and static; everything else is text, and comes from
 * pods, nodes and policies of strangers. There is no way to write markup from data: text is
 * escaped, in elements and in attributes, and what a reader could not see or would be misled by
 * (control characters, NUL, marks that turn the direction of text, broken UTF-8) is shown as \u202e
 * and the like.
 *
 *     html_open(html, "td");
 *     html_attr(html, "class", STR("number"));
 *     html_text(html, name);
 *     html_close(html);
 *
 * Attributes come right after html_open(). Elements are closed in the order of a stack of
 * HTML_DEPTH_MAX. Failures are the buffer's; one too many opened or closed is -EINVAL.
 *
 * What is written is well-formed as XML, too: a page can be checked by a parser that forgives
 * nothing. Inside of pre and textarea line ends and tabs stay what they are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define HTML_DEPTH_MAX 32u

typedef struct Html {
    Buf *out;
    const char *open[HTML_DEPTH_MAX];
    size_t depth;
    bool is_in_tag; /* attributes may follow */
    bool is_void;   /* ... of an element that has no end */
} Html;

#define HTML(buf) ((Html){.out = (buf)})

/* @tag is static; void elements (br, input, link, meta, …) are not to be closed. */
void html_open(Html *html, const char *tag);
void html_close(Html *html);
void html_attr(Html *html, const char *name, Str value);
void html_attr_number(Html *html, const char *name, int64_t value);
void html_flag(Html *html, const char *name); /* hidden, open, disabled, … */
void html_text(Html *html, Str text);

/* <tag class="…">text</tag>; @class NULL: none. */
void html_element(Html *html, const char *tag, const char *class, Str text);
void html_element_c(Html *html, const char *tag, const char *class, const char *text);
void html_printf(Html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 4,203; 12 µs, 3.4 ms, 1.2 s, 3 min 20 s. A duration below 0 is not known: "–". */
void html_count(Html *html, uint64_t n);
void html_duration(Html *html, int64_t nsec);

/* <time datetime="…Z" title="2026-01-02 03:04:05 UTC">12 s ago</time>; or "in 12 s". */
void html_time(Html *html, int64_t at_nsec, int64_t now_nsec);

/* A link: <a href="PATH?k=v&…">, parameters escaped, left open for text: html_close() ends it. */
typedef struct HtmlParameter {
    const char *name; /* NULL: this one is left out */
    Str value;
} HtmlParameter;
void html_open_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n);
void html_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n, Str text);
