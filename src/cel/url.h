#pragma once

/* Url: a URL that Go's net/url accepts, as Kubernetes' url() does: an absolute URL
 * ("http://host:80/path?query#fragment", "mailto:a@b.c") or path ("/a/b?c"). Checking allocates
 * nothing. */

#include "base/arena.h"
#include "base/buf.h"

#define CEL_URL_QUOTED_MAX 1024               /* bytes of a text that a message repeats */
#define CEL_URL_FAULT_MAX ((size_t)16 * 1024) /* bytes of a message */

/* Why a text is not a URL: @before, then @part in quotes, then @after. */
typedef struct CelUrlFault {
    const char *before;
    Str part;          /* of the text; ptr NULL: only @before */
    const char *after; /* NULL: nothing */
} CelUrlFault;

typedef struct CelUrl {
    Str scheme;   /* in small letters; may be empty, as all of these */
    Str host;     /* with the port; escapes undone */
    Str hostname; /* without the port and brackets */
    Str port;
    Str path;  /* escaped */
    Str query; /* as written */
    Str text;  /* the whole, in one spelling: equal texts are equal URLs */
} CelUrl;

/* Whether @text is a URL (isURL). @ret_fault may be NULL. */
bool cel_url_check(Str text, CelUrlFault *ret_fault);

/* NULL: not a URL, with the reason in @ret_fault; or no memory, and @ret_fault->before is NULL. In
 * @arena, except for the text. */
const CelUrl *cel_url_parse(Str text, Arena *arena, CelUrlFault *ret_fault) MUST_CHECK;

/* Appends "parse "TEXT": reason", as Go does; a long text is cut. */
void cel_url_fault_print(Str text, const CelUrlFault *fault, Buf *out);

/* Appends a name or a value of a query, unescaped; false: bad escapes. Invalid UTF-8 becomes
 * U+FFFD. */
bool cel_url_unescape_query(Str text, Buf *out);
