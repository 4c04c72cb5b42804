#include "cluster/staging.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define STAGING_FIRST 64u

void staging_reset(Staging *staging, bool is_open) {
    set_done(&staging->current);
    free(staging->items);
    *staging = (Staging){.is_open = is_open};
}

static int make_room(Staging *staging) {
    size_t n_rooms = staging->n_rooms ? staging->n_rooms * 2 : STAGING_FIRST;
    const void **items;

    if (staging->n < staging->n_rooms)
        return 0;
    items = realloc(staging->items, n_rooms * sizeof(*items));
    if (!items)
        return -ENOMEM;
    staging->items = items;
    staging->n_rooms = n_rooms;
    return 0;
}

int staging_add(
    Staging *staging, uint64_t hash, SetMatch match, const void *key, const void *item) {
    const void *earlier = set_find(&staging->current, hash, match, key);
    int r = make_room(staging);

    if (r == 0 && earlier)
        set_replace(&staging->current, hash, earlier, item);
    else if (r == 0)
        r = set_add(&staging->current, hash, item);
    if (r < 0)
        return r;
    staging->items[staging->n++] = item;
    staging->n_added++;
    return 0;
}

/* The same item may have been added twice, so from the end: who is found has its last place
 * there, and is taken out until all have been looked at. */
void staging_compact(
    Staging *staging, uint64_t (*hash)(const void *item), void (*drop)(const void *item)) {
    size_t n = 0;

    for (size_t i = staging->n; i-- > 0;) {
        if (set_remove(&staging->current, hash(staging->items[i]), staging->items[i]))
            continue;
        drop(staging->items[i]);
        staging->items[i] = NULL;
    }
    for (size_t i = 0; i < staging->n; i++) {
        int r = 0;

        if (!staging->items[i])
            continue;
        r = set_add(&staging->current, hash(staging->items[i]), staging->items[i]);
        assert(r == 0); /* they all were in it before */
        (void)r;
        staging->items[n++] = staging->items[i];
    }
    staging->n = n;
}
