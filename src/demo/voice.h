#pragma once

/*
 * Voice: text on its way to the person who watches.
 *
 * Collected in one buffer, which leaves in one write; colour only where somebody can see it, and
 * it only repeats what words say. On a terminal the last line may be one that is replaced.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define VOICE_TEXT_MAX ((size_t)256 * 1024)

typedef enum Style {
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_GOOD,
    STYLE_BAD,
} Style;

typedef struct Voice {
    bool is_live; /* a terminal: it has a width, and lines can be replaced */
    bool has_colour;
    Buf text;        /* not yet written */
    bool has_status; /* the last line is one that is replaced */
    bool has_failed; /* nobody reads any more */
} Voice;

#define VOICE_INIT(live, colour)                                                                   \
    { .is_live = (live), .has_colour = (colour), .text = BUF_INIT(VOICE_TEXT_MAX) }

void voice_done(Voice *voice);

/* From here on in @style, until voice_plain(). */
void voice_paint(Voice *voice, Style style);
void voice_plain(Voice *voice);

/* A word of @width columns in a style. */
void voice_painted(Voice *voice, Style style, size_t width, Str word);
void voice_heading(Voice *voice, const char *text); /* a line */

/* @text in lines of at most VOICE_COLUMNS, the first behind @lead, the others as far from the edge.
 * Words longer than that stand alone. */
#define VOICE_COLUMNS 92u
void voice_paragraph(Voice *voice, const char *lead, Str text);

/* A line that the next one takes the place of; nothing where lines cannot be replaced. */
void voice_status(Voice *voice, Str line);
void voice_clear_status(Voice *voice); /* before anything else is said */

void voice_flush(Voice *voice);

/* Columns of the terminal; 80 where there is none. */
size_t voice_width(void);
