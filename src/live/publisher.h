#pragma once

/*
 * Publisher: finds nodes that do not show published filters as they are now (policy/publish.h).
 *
 * It compares each node of the watch with the results of the filters, so it also corrects changes
 * by other writers or a restarted kubelet, and lost writes. It closes a node (fewer slots, a label)
 * at once, and opens it PUBLISHER_OPEN_MSEC later, so that a change that is soon reverted costs one
 * write. It removes resources and labels without a policy. It repeats a write that the watch does
 * not show after PUBLISHER_RETRY_SEC.
 *
 * Threads: one at a time.
 */

#include "base/token-bucket.h"
#include "extender/view.h"
#include "kube/api-writes.h"

#define PUBLISHER_PER_SEC 40 /* writes; well below the limits of an API server */
#define PUBLISHER_BURST 40
#define PUBLISHER_OPEN_MSEC 1000
#define PUBLISHER_RETRY_SEC 10

typedef struct PublisherFigures {
    size_t n_different;  /* pairs of node and resource or label with another value */
    int64_t oldest_nsec; /* since when the oldest of them differs; 0: none */
} PublisherFigures;

typedef struct Offer Offer;
typedef struct OfferDifference OfferDifference;

/* All zero at first; publisher_reset() frees what it refers to. */
typedef struct Publisher {
    View *view;   /* of the last run; NULL: none */
    Arena *arena; /* of the offers, and of names of leftover labels */
    Offer *offers;
    size_t n_offers;
    OfferDifference *differences; /* by row, then by offer */
    bool *is_open;                /* by chunk: a value differs there */
    size_t n_chunks;
    TokenBucket bucket;
    PublisherFigures figures;
} Publisher;

/* Returns false if the caller must try again later. */
typedef bool PublisherWrite(void *context, const PublishChange *change);

/* Calls @write for each due change of @view. Call it for each new view, and about once a second.
 * Costs little if nothing has changed since the last call. */
void publisher_run(
    Publisher *publisher, View *view, int64_t now_nsec, PublisherWrite *write, void *context);

/* Forgets everything but the pace of its writes: another replica writes from now on. */
void publisher_reset(Publisher *publisher);
