#include "dashboard/hour.h"

#include <math.h>

#include "base/nsec.h"

const LatencySlot *hour_read(const PageContext *context) {
    LatencySlot *slots = ARENA_RAW(context->arena, LatencySlot, LATENCY_SLOTS);

    if (slots)
        latency_slots(context->api->latency, context->now_nsec, slots);
    return slots;
}

bool hour_was_there(const PageContext *context, const LatencySlot *slot) {
    return slot->ago_sec * NSEC_PER_SEC <= context->now_nsec - context->api->fixed.started_at_nsec;
}

double hour_p99_msec(const LatencySlot *slot) {
    return slot->n[VERB_FILTER] > 0 ? (double)slot->p99_nsec[VERB_FILTER] / (double)NSEC_PER_MSEC
                                    : (double)NAN;
}
