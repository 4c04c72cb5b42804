#pragma once

/*
 * Scenes: what answers were made from, the oldest first, and what that takes.
 *
 * One scene a view, however many answers it gave. Each takes what the next newer one does not share
 * with it; the newest shares everything with the view that is in force. So scenes go from the
 * oldest on, and giving back the oldest gives back just what it was counted for.
 *
 * Scenes keep the program that was in force, for explanations in its own words; of the programs
 * that are not in force any more only a few are kept, and scenes before them are without.
 *
 * Threads: under the lock of its owner; scenes themselves may be referenced and read by any.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "extender/view.h"
#include "replay/scene.h"

#define SCENES_PROGRAMS_MAX 4u

typedef struct KeptScene KeptScene;

struct KeptScene {
    KeptScene *older, *newer;
    Scene *scene;   /* NULL: there was no memory to take its program from it */
    size_t n_users; /* decisions that refer to it */
    size_t bytes;   /* that it was counted for */
};

typedef struct KeptProgram {
    Program *program; /* a reference */
    size_t n_users;   /* scenes that have it */
    size_t bytes;
} KeptProgram;

typedef struct Scenes {
    KeptScene *oldest, *newest;
    size_t n;
    size_t bytes;                              /* of scenes, without programs */
    KeptProgram programs[SCENES_PROGRAMS_MAX]; /* the last used last */
    size_t n_programs;
    size_t programs_bytes_max; /* what programs but the newest may take */
} Scenes;

void scenes_init(Scenes *scenes, size_t programs_bytes_max);
void scenes_done(Scenes *scenes); /* nobody may use one any more */

/* The scene of @view, with one more user. NULL when out of memory. */
KeptScene *scenes_use(Scenes *scenes, const View *view) MUST_CHECK;

/* One user less. @kept may be gone afterwards. */
void scenes_leave(Scenes *scenes, KeptScene *kept);

/* Everything together; the program that was used last is not counted: it is in force. */
size_t scenes_bytes(const Scenes *scenes);
