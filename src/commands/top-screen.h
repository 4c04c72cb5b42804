#pragma once

/*
 * TopScreen: what `berth top` shows, as lines of text. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "commands/top-state.h"

#define TOP_FILTER_MAX 64u

typedef struct TopScreen {
    size_t width, height; /* columns and lines there are */
    bool has_colour, has_symbols;
    const char *server;
    const char *problem; /* why nothing new comes; NULL: it does */
    bool is_paused;
    bool only_rejected; /* decisions that left no node */
    bool is_typing;     /* the filter is being typed */
    bool shows_help;
    bool is_once;                /* nobody types, and nothing follows: no keys, no empty lines */
    char filter[TOP_FILTER_MAX]; /* decisions whose pod, node or reason has it; empty: all */
    size_t offset;               /* decisions scrolled past */
} TopScreen;

/* At most @height lines, each of at most @width columns, with "\n" between them. */
void top_screen_draw(const TopScreen *screen, const TopState *state, Buf *out);

/* Keys as they are typed. True: it is time to go. */
bool top_screen_key(TopScreen *screen, char key);
