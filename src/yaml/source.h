#pragma once

/*
 * Source: the text of a YAML file, and places in it.
 *
 * Offsets become lines and columns here, and what must not reach libfyaml is
 * found here.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/str.h"

typedef struct Source {
    Str file;
    Str text;  /* without a byte order mark: it takes no column */
    Str shown; /* the text, or nothing when it has lines too long to be shown */

    /* The line of the last place asked for: places come nearly in order. */
    size_t line, line_start, line_end;
} Source;

Source source_of(Str file, Str text);

/* Whether the text may be parsed; if not, why is in @diags. */
bool source_check(Source *source, DiagList *diags);

/* The place of @width bytes from @offset on, as far as they are on one line. */
Place source_place(Source *source, size_t offset, size_t width);

/* The first byte from @offset on that is neither blank nor comment. */
size_t source_skip_blank(const Source *source, size_t offset);

static inline bool source_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
