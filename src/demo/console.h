#pragma once

/*
 * Console: output for the user, buffered until console_flush(). On a terminal there may be colour,
 * and the last line may be a status line that is replaced. Threads: one.
 */

#include "base/buf.h"

#define CONSOLE_TEXT_MAX ((size_t)256 * 1024)

typedef enum Style {
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_GOOD,
    STYLE_BAD,
    STYLE_PLAIN,
} Style;

typedef struct Console {
    bool is_live; /* a terminal: it has a width, and lines can be replaced */
    bool has_colour;
    Buf text;        /* not yet written; the owner frees it */
    bool has_status; /* the last line is the status line */
    bool has_failed; /* standard output cannot be written any more */
} Console;

#define CONSOLE_INIT(live, colour)                                                                 \
    { .is_live = (live), .has_colour = (colour), .text = BUF_INIT(CONSOLE_TEXT_MAX) }

/* Sets @style, until STYLE_PLAIN. */
void console_paint(Console *console, Style style);

/* A word in a style, padded to @width columns. */
void console_painted(Console *console, Style style, size_t width, Str word);

/* Text in a style; a line break at its end is not painted. */
__attribute__((format(printf, 3, 4))) void console_print(
    Console *console, Style style, const char *format, ...);

/* A console_paragraph() in a style, in place of the status line. */
__attribute__((format(printf, 4, 5))) void console_say(
    Console *console, Style style, const char *lead, const char *format, ...);

/* @text wrapped at CONSOLE_COLUMNS or the terminal's width, the first line after @lead, the others
 * indented as much. */
#define CONSOLE_COLUMNS 92u
void console_paragraph(Console *console, const char *lead, Str text);

/* Replaces the status line; prints nothing without a terminal. */
void console_status(Console *console, Str line);
void console_clear_status(Console *console); /* before other output */

/* Writes the text to standard output; sets has_failed when that fails. */
void console_flush(Console *console);

/* Columns of the terminal; 80 without one. */
size_t console_width(void);
