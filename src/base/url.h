#pragma once

/* Url: escapes text for a path or a query. */

#include "base/buf.h"

/* Appends @text; all bytes except letters, digits, '-', '.', '_' and '~' become %XX. */
void url_escape(Buf *out, Str text);

/* The text of @out as a C string, borrowed until @out changes; NULL if @out has failed. */
const char *url_text(Buf *out);
