#pragma once

/*
 * Console: text on its way to the person who watches.
 *
 * Collected in one buffer, which leaves in one write; colour only where somebody can see it, and
 * it only repeats what words say. On a terminal the last line may be one that is replaced.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define CONSOLE_TEXT_MAX ((size_t)256 * 1024)

typedef enum Style {
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_GOOD,
    STYLE_BAD,
} Style;

typedef struct Console {
    bool is_live; /* a terminal: it has a width, and lines can be replaced */
    bool has_colour;
    Buf text;        /* not yet written */
    bool has_status; /* the last line is one that is replaced */
    bool has_failed; /* nobody reads any more */
} Console;

#define CONSOLE_INIT(live, colour)                                                                 \
    { .is_live = (live), .has_colour = (colour), .text = BUF_INIT(CONSOLE_TEXT_MAX) }

void console_done(Console *console);

/* From here on in @style, until voice_plain(). */
void console_paint(Console *console, Style style);
void console_plain(Console *console);

/* A word of @width columns in a style. */
void console_painted(Console *console, Style style, size_t width, Str word);
void console_heading(Console *console, const char *text); /* a line */

/* @text in lines of at most CONSOLE_COLUMNS, the first behind @lead, the others as far from the
 * edge. Words longer than that stand alone. */
#define CONSOLE_COLUMNS 92u
void console_paragraph(Console *console, const char *lead, Str text);

/* A line that the next one takes the place of; nothing where lines cannot be replaced. */
void console_status(Console *console, Str line);
void console_clear_status(Console *console); /* before anything else is said */

void console_flush(Console *console);

/* Columns of the terminal; 80 where there is none. */
size_t console_width(void);
