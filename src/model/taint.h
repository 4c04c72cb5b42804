#pragma once

/* Taint and Toleration: which pods a node repels, and which taints a pod tolerates. */

#include "json/fields.h"

/* Limits, because every toleration may be compared with every taint; real objects have a handful.
 *
 * A node with more taints must neither be lost nor accept more pods: its last place then has the
 * taint TAINT_FOR_MORE, NoSchedule, which only a pod that tolerates everything tolerates.
 * (Taints that repel no pod are left out without it.) */
#define TAINTS_MAX 128u      /* of a node */
#define TOLERATIONS_MAX 256u /* of a pod */
#define TAINT_FOR_MORE "berth.dev/more-taints"

typedef enum TaintEffect {
    TAINT_ANY, /* tolerations only: no effect is given, which means all */
    TAINT_NO_SCHEDULE,
    TAINT_PREFER_NO_SCHEDULE,
    TAINT_NO_EXECUTE,
    TAINT_UNKNOWN, /* an unknown word; matches nothing */
} TaintEffect;

typedef struct Taint {
    Str key, value;
    TaintEffect effect;
} Taint;

typedef struct Taints {
    const Taint *items;
    size_t n;
} Taints;

typedef struct Toleration {
    Str key, value;
    bool exists; /* operator Exists; an empty key then tolerates every key */
    TaintEffect effect;
} Toleration;

typedef struct Tolerations {
    const Toleration *items;
    size_t n;
} Tolerations;

/* An array of taints into Taints, and a toleration into a Toleration. Errors are the reader's. */
JsonRead taints_decode, toleration_decode;

/* Whether both have the same taints in the same order. */
bool taints_equal(const Taints *a, const Taints *b);

/* The word of the API; "" for TAINT_ANY, "Unknown" for TAINT_UNKNOWN. */
Str taint_effect_word(TaintEffect effect);

/* "key=value:Effect" or "key:Effect", as kubectl writes a taint. Points into @text. False:
 * invalid. */
bool taint_parse(Str text, Taint *ret);

bool toleration_tolerates(const Toleration *toleration, const Taint *taint);

/* Whether one of the tolerations tolerates @taint. */
bool tolerations_tolerate(const Tolerations *tolerations, const Taint *taint);

/* Whether every taint that keeps new pods off (NoSchedule, NoExecute) is tolerated. */
bool tolerations_admit(const Tolerations *tolerations, const Taints *taints);
