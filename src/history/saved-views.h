#pragma once

/*
 * SavedViews: the inputs of answers, by age, and the memory that they take.
 *
 * One per view, for all its answers. Each counts the memory that the next newer one does not share;
 * the newest shares everything with the view in force. So the oldest are dropped first, and
 * dropping the oldest frees exactly the bytes counted for it.
 *
 * Saved views keep their program for explanations. Only a few programs that are no longer in force
 * are kept; older saved views have none.
 *
 * Threads: under the owner's lock; any thread may reference and read a saved view.
 */

#include "extender/view.h"
#include "replay/saved-view.h"

#define SAVED_VIEWS_PROGRAMS_MAX 4u

typedef struct SavedViewEntry SavedViewEntry;

struct SavedViewEntry {
    SavedViewEntry *older, *newer;
    SavedView *saved_view; /* NULL: out of memory when its program was removed */
    size_t n_users;        /* decisions that use it */
    size_t bytes;          /* counted for it */
};

typedef struct KeptProgram {
    Program *program; /* a reference */
    size_t n_users;   /* saved views that have it */
    size_t bytes;
} KeptProgram;

/* Zero everything but the limit. It owns nothing without users. */
typedef struct SavedViews {
    SavedViewEntry *oldest, *newest;
    size_t n;
    size_t bytes;                                   /* of saved views, without programs */
    KeptProgram programs[SAVED_VIEWS_PROGRAMS_MAX]; /* the one last used is last */
    size_t n_programs;
    size_t programs_bytes_max; /* limit for all programs but the newest */
} SavedViews;

/* Returns the saved view of @view, with one more user. NULL when out of memory. */
SavedViewEntry *saved_views_use(SavedViews *saved_views, const View *view) MUST_CHECK;

/* Removes a user; may free @kept. */
void saved_views_leave(SavedViews *saved_views, SavedViewEntry *kept);

/* Bytes of everything, except the program used last: that one is in force. */
size_t saved_views_bytes(const SavedViews *saved_views);
