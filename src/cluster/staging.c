#include "cluster/staging.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

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
        return error_origin(-ENOMEM);
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
        return error_trace(r);
    staging->items[staging->n++] = item;
    return 0;
}
