#pragma once

/*
 * SavedViews: the inputs of answers, the oldest first, and the memory they take.
 *
 * One per view, however many answers it gave. Each takes what the next newer one does not share
 * with it; the newest shares everything with the view that is in force. So saved views go from the
 * oldest on, and giving back the oldest gives back just what it was counted for.
 *
 * SavedViews keep the program that was in force, for explanations in its own words; of the programs
 * that are not in force any more only a few are kept, and saved views before them are without.
 *
 * Threads: under the lock of its owner; saved views themselves may be referenced and read by any.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "extender/view.h"
#include "replay/saved-view.h"

#define SAVED_VIEWS_PROGRAMS_MAX 4u

typedef struct SavedViewEntry SavedViewEntry;

struct SavedViewEntry {
    SavedViewEntry *older, *newer;
    SavedView *saved_view; /* NULL: there was no memory to take its program from it */
    size_t n_users;        /* decisions that refer to it */
    size_t bytes;          /* that it was counted for */
};

typedef struct KeptProgram {
    Program *program; /* a reference */
    size_t n_users;   /* saved views that have it */
    size_t bytes;
} KeptProgram;

typedef struct SavedViews {
    SavedViewEntry *oldest, *newest;
    size_t n;
    size_t bytes;                                   /* of saved views, without programs */
    KeptProgram programs[SAVED_VIEWS_PROGRAMS_MAX]; /* the last used last */
    size_t n_programs;
    size_t programs_bytes_max; /* what programs but the newest may take */
} SavedViews;

void saved_views_init(SavedViews *saved_views, size_t programs_bytes_max);
void saved_views_done(SavedViews *saved_views); /* none may be in use */

/* The saved view of @view, with one more user. NULL when out of memory. */
SavedViewEntry *saved_views_use(SavedViews *saved_views, const View *view) MUST_CHECK;

/* One user less. @kept may be gone afterwards. */
void saved_views_leave(SavedViews *saved_views, SavedViewEntry *kept);

/* Everything together; the program that was used last is not counted: it is in force. */
size_t saved_views_bytes(const SavedViews *saved_views);
