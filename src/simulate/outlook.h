#pragma once

/*
 * Outlook: what kube-scheduler's plugins say of every node for pods of one sort, as far as it does
 * not depend on what runs there.
 *
 * Pods come in sorts (Want.place_key): the thousand pods of one Deployment ask the same of nodes.
 * What their selector, affinity, tolerations and images come to is worked out once a sort, and kept
 * while there is memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "simulate/ground.h"
#include "simulate/images.h"
#include "simulate/want.h"

/* When more than this is kept, all is dropped, and worked out anew. */
#define OUTLOOKS_BUDGET ((size_t)128 * 1024 * 1024)

/* Why a node cannot take a pod. */
typedef enum Refusal {
    REFUSAL_NONE,
    REFUSAL_CORDONED,
    REFUSAL_TAINT,
    REFUSAL_AFFINITY,
    REFUSAL_PORTS,
    REFUSAL_PODS,
    _REFUSAL_MAX,
} Refusal;

/* In kube-scheduler's words. */
const char *refusal_text(Refusal refusal);

/* All by row. */
typedef struct Outlook {
    Str key;
    uint8_t *refusals;    /* one of the first four */
    uint8_t *disliked;    /* taints PreferNoSchedule that are not tolerated */
    uint16_t *liked;      /* weights of preferred terms that hold */
    uint8_t *images;      /* 0 to 100 */
    const uint32_t *only; /* the rows that the pods name; NULL: all are looked at */
    size_t n_only;
} Outlook;

typedef struct Outlooks Outlooks;

/* Borrows @ground, whose table must not change. 0, or -ENOMEM. */
int outlooks_new(const Ground *ground, Outlooks **ret);
Outlooks *outlooks_free(Outlooks *outlooks); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Outlooks *, outlooks_free)

/* Borrowed until the next call. 0, or -ENOMEM. */
int outlooks_find(Outlooks *outlooks, const Want *want, const Outlook **ret);
