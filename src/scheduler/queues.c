/* Two queues of pods: a sorted array and a heap. */

#include "scheduler/queues.h"

#include <errno.h>

/* The index of the first pod that is not before one with this @priority and @number. */
static size_t find_index(const PendingQueue *pending, uint32_t number, int64_t priority) {
    size_t low = 0, high = pending->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const PendingPod *pod = &pending->items[middle];

        if (pod->priority != priority ? pod->priority > priority : pod->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int pending_queue_add(PendingQueue *pending, Arena *arena, uint32_t number, int64_t priority) {
    size_t at = find_index(pending, number, priority), n_behind = pending->n - at;

    if (!VEC_PUSH(pending, arena))
        return -ENOMEM;
    memmove(pending->items + at + 1, pending->items + at, n_behind * sizeof(*pending->items));
    pending->items[at] = (PendingPod){.number = number, .priority = priority};
    return 0;
}

void pending_queue_remove(PendingQueue *pending, uint32_t number) {
    size_t n_left = 0;

    for (size_t i = 0; i < pending->n; i++)
        if (pending->items[i].number != number)
            pending->items[n_left++] = pending->items[i];
    pending->n = n_left;
}

static int64_t backoff_of(const PendingPod *pod) {
    int64_t nsec = PENDING_BACKOFF_NSEC;

    for (unsigned i = 1; i < pod->n_attempts && nsec < PENDING_BACKOFF_MAX_NSEC; i++)
        nsec *= 2;
    return nsec < PENDING_BACKOFF_MAX_NSEC ? nsec : PENDING_BACKOFF_MAX_NSEC;
}

static bool is_due(const PendingPod *pod, int64_t now_nsec) {
    int64_t passed = now_nsec - pod->tried_nsec;

    if (pod->n_attempts == 0)
        return true;
    return passed >= (pod->is_parked ? PENDING_FLUSH_NSEC : backoff_of(pod));
}

PendingPod *pending_queue_due(const PendingQueue *pending, int64_t now_nsec) {
    for (size_t i = 0; i < pending->n; i++)
        if (is_due(&pending->items[i], now_nsec))
            return &pending->items[i];
    return NULL;
}

void pending_pod_park(PendingPod *pod, int64_t now_nsec) {
    pod->n_attempts++;
    pod->is_parked = true;
    pod->tried_nsec = now_nsec;
}

void pending_queue_wake(PendingQueue *pending) {
    for (size_t i = 0; i < pending->n; i++)
        pending->items[i].is_parked = false;
}

static bool ends_before(const PodEnd *a, const PodEnd *b) {
    return a->at != b->at ? a->at < b->at : a->arrival < b->arrival;
}

int pod_end_queue_add(PodEndQueue *ends, Arena *arena, PodEnd end) {
    size_t at = ends->n;

    if (!VEC_PUSH(ends, arena))
        return -ENOMEM;
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
