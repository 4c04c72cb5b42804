#pragma once

/* TopCanvas: the lines of a screen, of which there is a number, each cut or wrapped to its width.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/terminal.h"

typedef struct TopCanvas {
    size_t width, height; /* columns and lines there are */
    Paint paint;
    Buf *out;
    size_t n_lines;
} TopCanvas;

size_t canvas_lines_left(const TopCanvas *canvas);

/* One line of @text, cut to the width, in @colour. */
void canvas_line(TopCanvas *canvas, const char *colour, Str text);

/* Cuts a line of at most @width columns off the front of @text, between words where possible.
 * False: there is none left. */
bool canvas_wrap(Str *text, size_t width, Str *ret_line);

/* As many lines as @text needs; all but the first begin with @indent spaces. */
void canvas_wrapped(TopCanvas *canvas, const char *colour, Str text, size_t indent);
