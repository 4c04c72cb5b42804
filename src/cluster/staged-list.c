#include "cluster/staged-list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define STAGED_FIRST 64u

void staged_list_reset(StagedList *staged, bool is_open) {
    set_done(&staged->current);
    free(staged->items);
    *staged = (StagedList){.is_open = is_open};
}

static int make_room(StagedList *staged) {
    size_t n_rooms = staged->n_rooms ? staged->n_rooms * 2 : STAGED_FIRST;
    const void **items;

    if (staged->n < staged->n_rooms)
        return 0;
    items = realloc(staged->items, n_rooms * sizeof(*items));
    if (!items)
        return -ENOMEM;
    staged->items = items;
    staged->n_rooms = n_rooms;
    return 0;
}

int staged_list_add(
    StagedList *staged, uint64_t hash, SetMatch match, const void *key, const void *item) {
    const void *earlier = set_find(&staged->current, hash, match, key);
    int r = make_room(staged);

    if (r == 0 && earlier)
        set_replace(&staged->current, hash, earlier, item);
    else if (r == 0)
        r = set_add(&staged->current, hash, item);
    if (r < 0)
        return r;
    staged->items[staged->n++] = item;
    staged->n_added++;
    return 0;
}

/* The same item may have been added twice, so from the end: who is found has its last place
 * there, and is taken out until all have been looked at. */
void staged_list_compact(
    StagedList *staged, uint64_t (*hash)(const void *item), void (*drop)(const void *item)) {
    size_t n = 0;

    for (size_t i = staged->n; i-- > 0;) {
        if (set_remove(&staged->current, hash(staged->items[i]), staged->items[i]))
            continue;
        drop(staged->items[i]);
        staged->items[i] = NULL;
    }
    for (size_t i = 0; i < staged->n; i++) {
        int r = 0;

        if (!staged->items[i])
            continue;
        r = set_add(&staged->current, hash(staged->items[i]), staged->items[i]);
        assert(r == 0); /* they all were in it before */
        (void)r;
        staged->items[n++] = staged->items[i];
    }
    staged->n = n;
}
