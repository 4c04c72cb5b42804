#pragma once

/* Url: what Go's net/url takes for one, as Kubernetes' url() does: an absolute URL
 * ("http://host:80/path?query#fragment", "mailto:a@b.c") or path ("/a/b?c"). Checking allocates
 * nothing. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

#define CEL_URL_QUOTED_MAX 1024               /* bytes of a text that a message repeats */
#define CEL_URL_FAULT_MAX ((size_t)16 * 1024) /* bytes of a message */

/* Why a text is none: @before, then @part in quotes, then @after. */
typedef struct CelUrlFault {
    const char *before;
    Str part;          /* of the text; ptr NULL: only @before */
    const char *after; /* NULL: nothing */
} CelUrlFault;

typedef struct CelUrl {
    Str scheme;   /* in small letters; may be empty, as all of these */
    Str host;     /* with the port; escapes undone */
    Str hostname; /* without, and without brackets */
    Str port;
    Str path;  /* escaped */
    Str query; /* as written */
    Str text;  /* the whole, in one spelling: equal texts are equal URLs */
} CelUrl;

/* Whether @text is a URL (isURL). @ret_fault may be NULL. */
bool cel_url_check(Str text, CelUrlFault *ret_fault);

/* NULL: it is none, and @ret_fault says why; or there is no memory, and @ret_fault->before is
 * NULL. Lies in @arena, the text not included. */
const CelUrl *cel_url_parse(Str text, Arena *arena, CelUrlFault *ret_fault) MUST_CHECK;

/* Appends "parse "TEXT": why", as Go says it; a long text is cut. */
void cel_url_fault_print(Str text, const CelUrlFault *fault, Buf *out);

/* Appends a name or a value of a query with its escapes undone; false: bad escapes. What
 * is no UTF-8 then becomes U+FFFD. */
bool cel_url_unescape_query(Str text, Buf *out);
