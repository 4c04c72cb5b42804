#pragma once

/*
 * SavedViews: the inputs of answers, the oldest first, and the memory they take.
 *
 * One per view, however many answers it gave. Each is charged for the memory that the next newer
 * one does not share; the newest shares everything with the view in force. So the oldest are
 * dropped first, and dropping the oldest frees exactly the bytes it was charged for.
 *
 * SavedViews keep the program that was in force, for explanations. Only a few programs that are no
 * longer in force are kept; older saved views have none.
 *
 * Threads: under the lock of its owner; saved views themselves may be referenced and read by any.
 */

#include "extender/view.h"
#include "replay/saved-view.h"

#define SAVED_VIEWS_PROGRAMS_MAX 4u

typedef struct SavedViewEntry SavedViewEntry;

struct SavedViewEntry {
    SavedViewEntry *older, *newer;
    SavedView *saved_view; /* NULL: there was no memory to take its program from it */
    size_t n_users;        /* decisions that refer to it */
    size_t bytes;          /* that it is charged for */
};

typedef struct KeptProgram {
    Program *program; /* a reference */
    size_t n_users;   /* saved views that have it */
    size_t bytes;
} KeptProgram;

/* All zero but for the limit; without users it holds nothing. */
typedef struct SavedViews {
    SavedViewEntry *oldest, *newest;
    size_t n;
    size_t bytes;                                   /* of saved views, without programs */
    KeptProgram programs[SAVED_VIEWS_PROGRAMS_MAX]; /* the last used last */
    size_t n_programs;
    size_t programs_bytes_max; /* limit for all programs but the newest */
} SavedViews;

/* The saved view of @view, with one more user. NULL when out of memory. */
SavedViewEntry *saved_views_use(SavedViews *saved_views, const View *view) MUST_CHECK;

/* Removes a user. @kept may be freed. */
void saved_views_leave(SavedViews *saved_views, SavedViewEntry *kept);

/* Everything together; the program that was used last is not counted: it is in force. */
size_t saved_views_bytes(const SavedViews *saved_views);
