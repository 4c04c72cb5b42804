#pragma once

/*
 * Html: markup, written into a buffer by templates.
 *
 *     html_write(html, "<td class='number'>%zu of %zu nodes: %.*s</td>", n, m, STR_FMT(reason));
 *
 * Templates are literals. Everything else is untrusted text from pods, nodes and policies, and
 * cannot become markup: it is escaped, in elements and in attributes, and characters that a reader
 * could not see or would be misled by (control characters, NUL, marks that turn the direction of
 * text, broken UTF-8) are shown as \u202e and the like. Inside of pre and textarea line ends and
 * tabs stay unchanged.
 *
 * Elements may stay open at the end of a template: they are on a stack of HTML_DEPTH_MAX. Errors
 * are kept in the buffer; closing an element by another name, or one too many, is -EINVAL. The
 * output is well-formed XML, so that tests can parse it strictly.
 */

#include "base/buf.h"

#define HTML_DEPTH_MAX 32u

typedef struct Html {
    Buf *out;
    Str open[HTML_DEPTH_MAX];
    size_t depth;
    bool is_in_tag;   /* attributes may follow */
    bool is_void;     /* ... of an element without an end tag */
    bool is_in_query; /* of a URL in an attribute: texts are escaped for that */
    Str columns;      /* of the table: "Pod|#Attempts"; cells of its body get data-label from it */
    size_t cell;      /* number of cells so far in the row */
    int64_t now_nsec; /* for html_time(): since 1970 */
} Html;

#define HTML(buf) ((Html){.out = (buf)})

/*
 * @format is markup with the conversions of printf(), which the compiler checks:
 *
 *   %s, %.*s      text, escaped; behind the ? of a URL %.*s is escaped as a value of its query
 *   %zu, %u       html_count(); in attributes digits
 *   %d            digits
 *   %jd, %td      html_duration(), html_time()
 *   %.1f, %.4g    a number
 *
 * Values of attributes are in single quotes, "<p hidden>" is <p hidden="">, "</>" closes the
 * innermost element, and void elements (br, input, link, meta, …) are not closed.
 */
void html_write(Html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Without a template. Attributes may follow html_open(), and html_write() that ends in a tag. */
void html_open(Html *html, const char *tag); /* @tag is static */
void html_close(Html *html);
void html_attr(Html *html, const char *name, Str value);
void html_text(Html *html, Str text);

/* 4,203; 12 µs, 3.4 ms, 1.2 s, 3 min 20 s. A duration below 0 is not known: "–". */
void html_count(Html *html, uint64_t n);
void html_duration(Html *html, int64_t nsec);

/* <time datetime="…Z" title="2026-01-02 03:04:05 UTC">12 s ago</time>; or "in 12 s". */
void html_time(Html *html, int64_t at_nsec);

/* A link: <a href="PATH?k=v&…">, parameters escaped, left open for text: html_close() ends it. */
typedef struct HtmlParameter {
    const char *name; /* NULL: this one is left out */
    Str value;
} HtmlParameter;
void html_open_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n);
void html_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n, Str text);
