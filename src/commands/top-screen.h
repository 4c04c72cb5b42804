#pragma once

/* The parts of `berth top`: its state, the screen and its keys. */

#include "base/arena.h"
#include "base/buf.h"

/*
 * TopState: the state of `berth top`.
 *
 * Updates come once a second (api/updates.h); the newest decisions and the rejections of rules
 * since the start are kept here, in fields of fixed size: longer names are cut. Pure: time is an
 * argument.
 */

#define TOP_DECISIONS_MAX 512u
#define TOP_RULES_MAX 64u
#define TOP_NAME_MAX 160u
#define TOP_TEXT_MAX 256u
#define TOP_RATE_UPDATES 10u /* for rates */
#define TOP_REPLICAS_MAX 16u

/* A filter and its result; or another verb whose filter was not seen. */
typedef struct TopDecision {
    int64_t id;
    int64_t at_nsec; /* since 1970 */
    char time[16];   /* "12:03:04" */
    char verb[16];
    char pod[TOP_NAME_MAX]; /* NAMESPACE/NAME */
    int64_t asked, passed;
    char node[TOP_NAME_MAX];   /* where it was bound to; empty: not yet, or not by berth */
    char reason[TOP_NAME_MAX]; /* the main reason for rejections, or an error */
} TopDecision;

/* A counter that only grows, and how fast. */
typedef struct TopCounter {
    int64_t last;
    int64_t before[TOP_RATE_UPDATES];
    size_t n_before; /* values so far; the last TOP_RATE_UPDATES are kept */
} TopCounter;

typedef struct TopRule {
    char name[TOP_NAME_MAX]; /* POLICY/RULE */
    TopCounter rejected;
} TopRule;

typedef struct TopState {
    bool has_update;
    char time[32];
    char health[16];
    char summary[TOP_TEXT_MAX];
    double error_rate, p99_sec; /* NaN: not known */
    int64_t n_nodes, n_pending;
    TopCounter filters, rejected;
    TopRule rules[TOP_RULES_MAX]; /* those that reject most, first */
    size_t n_rules;
    TopDecision decisions[TOP_DECISIONS_MAX];
    int64_t newest_id;  /* newest that was taken: updates repeat some */
    size_t n_decisions; /* so far; the newest is at (n - 1) % TOP_DECISIONS_MAX */
} TopState;

static inline bool top_state_is_healthy(const TopState *state) {
    return strcmp(state->health, "healthy") == 0;
}

/* Applies one update, the JSON of an event. @scratch is reset. Returns false if it is invalid; then
 * @state is unchanged. */
bool top_state_take(TopState *state, Str json, Arena *scratch);

/* Merges the states of @n replicas: counters are added, decisions are sorted by time, health is the
 * worst. @ret must not be one of @parts. */
void top_state_merge(const TopState *const *parts, size_t n, TopState *ret);

/* The growth per second over the last updates; -1: not known yet. */
double top_counter_rate(const TopCounter *counter);

/* The decision @back places before the newest; NULL: none. */
const TopDecision *top_state_decision(const TopState *state, size_t back);

/* TopScreen: the screen as lines of text. Pure. */

#define TOP_FILTER_MAX 64u

typedef struct TopScreen {
    size_t width, height; /* in columns and lines */
    bool has_colour, has_symbols;
    const char *server;
    const char *problem; /* why there are no updates; NULL: there are */
    bool is_paused;
    bool only_rejected;          /* decisions that left no node */
    bool is_typing;              /* the filter is being typed */
    bool is_once;                /* one screen, then exit: no keys, no empty lines */
    char filter[TOP_FILTER_MAX]; /* text in the pod, node or reason; empty: show all */
    int64_t selected;            /* the id of a decision; 0: none */
    bool wants_explanation;      /* Enter was typed: explain the selected decision */
    Str text;                    /* an explanation, shown in place of the lists; NULL: none */
    char text_title[TOP_TEXT_MAX];
    size_t text_offset; /* lines scrolled past */
} TopScreen;

/* Draws at most screen->height lines of at most screen->width columns, with "\n" between them. */
void top_screen_draw(const TopScreen *screen, const TopState *state, Buf *out);

/* Whether the filter and only_rejected let @decision be shown. */
bool top_screen_shows(const TopScreen *screen, const TopDecision *decision);

/* Handles a key that was typed. Returns true to quit. */
bool top_screen_key(TopScreen *screen, const TopState *state, char key);

#define KEYBOARD_INTERRUPT 3 /* Ctrl-C */

/* Arrows and pages: the control characters of Emacs and vi. */
#define KEYBOARD_DOWN 14
#define KEYBOARD_UP 16
#define KEYBOARD_PAGE_DOWN 6
#define KEYBOARD_PAGE_UP 2
#define KEY_ESCAPE 27
