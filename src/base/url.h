#pragma once

/* Url: text as a part of a path or a query. */

#include "base/buf.h"

/* Appends @text; every byte but letters, digits, '-', '.', '_' and '~' as %XX. */
void url_escape(Buf *out, Str text);

/* The text of @out as a C string, borrowed until it changes; NULL when it has failed. */
const char *url_text(Buf *out);
