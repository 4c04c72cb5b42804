/* Two queues of pods: a sorted array and a heap. */

#include "simulate/queues.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

/* --- pending pods ------------------------------------------------------- */

void pending_queue_done(PendingQueue *pending) {
    free(pending->items);
    *pending = (PendingQueue){0};
}

/* Arrivals are numbered by age. */
static bool goes_before(const SimulationInput *input, uint32_t a, uint32_t b) {
    int64_t x = input->arrivals[a].request->pod.priority;
    int64_t y = input->arrivals[b].request->pod.priority;

    return x != y ? x > y : a < b;
}

int pending_queue_add(PendingQueue *pending, const SimulationInput *input, uint32_t arrival) {
    size_t low = 0, high = pending->n;

    if (pending->n == pending->room) {
        size_t room = pending->room ? 2 * pending->room : ROOM_FIRST;
        uint32_t *items = realloc(pending->items, room * sizeof(*items));

        if (!items)
            return -ENOMEM;
        pending->items = items;
        pending->room = room;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (goes_before(input, pending->items[middle], arrival))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(pending->items + low + 1, pending->items + low,
        (pending->n - low) * sizeof(*pending->items));
    pending->items[low] = arrival;
    pending->n++;
    return 0;
}

/* --- ends of pods ------------------------------------------------------- */

void pod_end_queue_done(PodEndQueue *ends) {
    free(ends->items);
    *ends = (PodEndQueue){0};
}

static bool ends_before(const PodEnd *a, const PodEnd *b) {
    return a->at != b->at ? a->at < b->at : a->arrival < b->arrival;
}

int pod_end_queue_add(PodEndQueue *ends, PodEnd end) {
    size_t at = ends->n;

    if (ends->n == ends->room) {
        size_t room = ends->room ? 2 * ends->room : ROOM_FIRST;
        PodEnd *items = realloc(ends->items, room * sizeof(*items));

        if (!items)
            return -ENOMEM;
        ends->items = items;
        ends->room = room;
    }
    ends->n++;
    for (; at > 0 && ends_before(&end, &ends->items[(at - 1) / 2]); at = (at - 1) / 2)
        ends->items[at] = ends->items[(at - 1) / 2];
    ends->items[at] = end;
    return 0;
}

PodEnd pod_end_queue_take(PodEndQueue *ends) {
    PodEnd first = ends->items[0], last = ends->items[--ends->n];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < ends->n && ends_before(&ends->items[child + 1], &ends->items[child]))
            child++;
        if (child >= ends->n || !ends_before(&ends->items[child], &last))
            break;
        ends->items[at] = ends->items[child];
        at = child;
    }
    if (ends->n > 0)
        ends->items[at] = last;
    return first;
}
