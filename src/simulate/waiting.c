#include "simulate/waiting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

/* --- those that wait ---------------------------------------------------- */

void waiting_done(Waiting *waiting) {
    free(waiting->items);
    *waiting = (Waiting){0};
}

/* Arrivals are numbered by age. */
static bool goes_before(const Scenario *scenario, uint32_t a, uint32_t b) {
    int64_t x = scenario->arrivals[a].want->pod.priority;
    int64_t y = scenario->arrivals[b].want->pod.priority;

    return x != y ? x > y : a < b;
}

int waiting_add(Waiting *waiting, const Scenario *scenario, uint32_t arrival) {
    size_t low = 0, high = waiting->n;

    if (waiting->n == waiting->room) {
        size_t room = waiting->room ? 2 * waiting->room : ROOM_FIRST;
        uint32_t *items = realloc(waiting->items, room * sizeof(*items));

        if (!items)
            return -ENOMEM;
        waiting->items = items;
        waiting->room = room;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (goes_before(scenario, waiting->items[middle], arrival))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(waiting->items + low + 1,
        waiting->items + low,
        (waiting->n - low) * sizeof(*waiting->items));
    waiting->items[low] = arrival;
    waiting->n++;
    return 0;
}

/* --- those that end ----------------------------------------------------- */

void endings_done(Endings *endings) {
    free(endings->items);
    *endings = (Endings){0};
}

static bool ends_before(const Ending *a, const Ending *b) {
    return a->at != b->at ? a->at < b->at : a->arrival < b->arrival;
}

int endings_add(Endings *endings, Ending ending) {
    size_t at = endings->n;

    if (endings->n == endings->room) {
        size_t room = endings->room ? 2 * endings->room : ROOM_FIRST;
        Ending *items = realloc(endings->items, room * sizeof(*items));

        if (!items)
            return -ENOMEM;
        endings->items = items;
        endings->room = room;
    }
    endings->n++;
    for (; at > 0 && ends_before(&ending, &endings->items[(at - 1) / 2]); at = (at - 1) / 2)
        endings->items[at] = endings->items[(at - 1) / 2];
    endings->items[at] = ending;
    return 0;
}

Ending endings_take(Endings *endings) {
    Ending first = endings->items[0], last = endings->items[--endings->n];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < endings->n &&
            ends_before(&endings->items[child + 1], &endings->items[child]))
            child++;
        if (child >= endings->n || !ends_before(&endings->items[child], &last))
            break;
        endings->items[at] = endings->items[child];
        at = child;
    }
    if (endings->n > 0)
        endings->items[at] = last;
    return first;
}
