#pragma once

/*
 * What decisions.c (remembering and forgetting) and decisions-read.c share. Nobody else includes
 * this.
 *
 * A ring of decisions by id. Ids are handed out under the lock, so those that are kept are the last
 * n without a gap, and the decision with id i is at i % max.
 */

#include <pthread.h>

#include "history/decisions.h"
#include "history/lineup.h"
#include "history/scenes.h"

typedef struct Kept {
    PastDecision *past;
    Outcomes *outcomes;
    KeptScene *scene;  /* the makings: both, */
    PodText *pod_text; /* or neither */
} Kept;

struct Decisions {
    size_t max, bytes_max;

    pthread_mutex_t mutex; /* guards what follows */
    Kept *ring;
    size_t n;
    uint64_t next;          /* id of the next one */
    uint64_t next_outcomes; /* all that are older have no outcomes; */
    uint64_t next_makings;  /* and these no makings, */
    uint64_t next_raw;      /* or none with a pod as it was sent */
    Roll *roll;             /* the current one */
    RuleBook *book;         /* the current one ... */
    Program *program;       /* ... and whose it is: a reference, for its address */
    Lineup lineup;
    Scenes scenes;
    PodTexts pods;
    size_t pods_bytes;
    DecisionsFigures figures; /* bytes: all but those of pods and scenes */
};

/* --- with the lock ---------------------------------------------------------------------------- */

/* Where the decision with this id is, or would be. */
static inline Kept *decisions_at(Decisions *decisions, uint64_t id) {
    return &decisions->ring[id % decisions->max];
}

/* The id of the oldest that is kept. */
static inline uint64_t decisions_oldest(const Decisions *decisions) {
    return decisions->next - decisions->n;
}

/* What pods, scenes and their programs take. */
static inline size_t decisions_makings_bytes(const Decisions *decisions) {
    return decisions->pods_bytes + scenes_bytes(&decisions->scenes);
}
