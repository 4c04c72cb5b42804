#include "cluster/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "cluster/record.h"

#define POD_ROOMS_FIRST 4u

static Place *place_free(Place *place) {
    node_record_unref(place->node);
    free(place->pods);
    free(place);
    return NULL;
}

void rows_done(Rows *rows) {
    Place *place;

    for (size_t i = 0; (place = set_next(&rows->places, &i)); i++) {
        assert(place->n_promised == 0);           /* each was used or withdrawn */
        assert(place->node || place->n_pods > 0); /* else it would have gone */
        place_free(place);
    }
    set_done(&rows->places);
    free(rows->by_row);
    free(rows->changed);
    *rows = (Rows){0};
}

static bool is_place(const void *item, const void *key) {
    return str_eq(((const Place *)item)->name, *(const Str *)key);
}

Place *rows_find(const Rows *rows, Str name) {
    return set_find(&rows->places, hash_str(name), is_place, &name);
}

static Place *place_new(Str name) {
    Place *place = calloc(1, sizeof(*place) + name.len);

    if (!place)
        return NULL;
    memcpy(place->text, name.ptr, name.len);
    place->name = str_of(place->text, name.len);
    return place;
}

static Place *find_or_make(Rows *rows, Str name) {
    Place *place = rows_find(rows, name);

    if (place)
        return place;
    place = place_new(name);
    if (place && set_add(&rows->places, hash_str(name), place) < 0)
        place = place_free(place);
    return place;
}

static void drop_if_idle(Rows *rows, Place *place) {
    if (place->node || place->n_pods > 0 || place->n_promised > 0)
        return;
    (void)set_remove(&rows->places, hash_str(place->name), place);
    place_free(place);
}

static int place_reserve(Place *place) {
    size_t needed = (size_t)place->n_pods + place->n_promised + 1;
    size_t n_rooms = place->n_rooms ? place->n_rooms : POD_ROOMS_FIRST;
    const Pod **pods;

    if (needed <= place->n_rooms)
        return 0;
    while (n_rooms < needed)
        n_rooms += n_rooms / 2;
    pods = realloc(place->pods, n_rooms * sizeof(*pods));
    if (!pods)
        return error_origin(-ENOMEM);
    place->pods = pods;
    place->n_rooms = (uint32_t)n_rooms;
    return 0;
}

int rows_promise_pod(Rows *rows, Str name) {
    Place *place = find_or_make(rows, name);
    int r;

    if (!place)
        return error_origin(-ENOMEM);
    r = place_reserve(place);
    if (r < 0) {
        drop_if_idle(rows, place);
        return error_trace(r);
    }
    place->n_promised++;
    return 0;
}

int rows_promise_node(Rows *rows, Str name) {
    Place *place = find_or_make(rows, name);

    if (!place)
        return error_origin(-ENOMEM);
    place->n_promised++;
    return 0;
}

void rows_withdraw(Rows *rows, Str name) {
    Place *place = rows_find(rows, name);

    assert(place && place->n_promised > 0);
    place->n_promised--;
    drop_if_idle(rows, place);
}

static int grow(Rows *rows, size_t n_rooms) {
    Place **by_row = realloc(rows->by_row, n_rooms * sizeof(Place *));
    uint64_t *changed;

    if (!by_row)
        return error_origin(-ENOMEM);
    rows->by_row = by_row;
    changed = realloc(rows->changed, n_rooms / CHUNK_ROWS * sizeof(*changed));
    if (!changed)
        return error_origin(-ENOMEM);
    rows->changed = changed;
    memset(by_row + rows->n_rooms, 0, (n_rooms - rows->n_rooms) * sizeof(Place *));
    memset(changed + rows->n_rooms / CHUNK_ROWS, 0, (n_rooms - rows->n_rooms) / CHUNK_ROWS * 8);
    rows->n_rooms = n_rooms;
    return 0;
}

int rows_reserve(Rows *rows, size_t n_more) {
    size_t n_rooms = rows->n_rooms ? rows->n_rooms : CHUNK_ROWS;

    while (n_rooms < rows->n_rows + n_more)
        n_rooms *= 2;
    return n_rooms == rows->n_rooms ? 0 : error_trace(grow(rows, n_rooms));
}

/* --- changes --------------------------------------------------------------------- */

static void mark(Rows *rows, uint32_t row) {
    uint64_t bit = UINT64_C(1) << (row % CHUNK_ROWS);

    if (!(rows->changed[row / CHUNK_ROWS] & bit))
        rows->n_changed++;
    rows->changed[row / CHUNK_ROWS] |= bit;
}

static void mark_pods(Rows *rows, Place *place) {
    place->has_pods_changed = true;
    if (place->node)
        mark(rows, place->row);
}

void rows_add_pod(Rows *rows, const Pod *pod) {
    Place *place = rows_find(rows, pod->node_name);

    assert(place && place->n_promised > 0 && place->n_pods < place->n_rooms);
    place->n_promised--;
    place->pods[place->n_pods++] = pod;
    mark_pods(rows, place);
}

static uint32_t position_of(const Place *place, const Pod *pod) {
    uint32_t i = 0;

    while (i < place->n_pods && place->pods[i] != pod)
        i++;
    assert(i < place->n_pods);
    return i;
}

void rows_remove_pod(Rows *rows, const Pod *pod) {
    Place *place = rows_find(rows, pod->node_name);
    uint32_t i;

    assert(place);
    i = position_of(place, pod);
    place->n_pods--;
    memmove(place->pods + i, place->pods + i + 1, (place->n_pods - i) * sizeof(*place->pods));
    mark_pods(rows, place);
    drop_if_idle(rows, place);
}

void rows_replace_pod(Rows *rows, const Pod *old, const Pod *pod) {
    Place *place = rows_find(rows, old->node_name);

    assert(place);
    place->pods[position_of(place, old)] = pod;
    mark_pods(rows, place);
}

static void give_row(Rows *rows, Place *place) {
    size_t row = rows->first_free;

    while (row < rows->n_rows && rows->by_row[row])
        row++;
    assert(row < rows->n_rooms);
    rows->by_row[row] = place;
    rows->first_free = row + 1;
    if (row == rows->n_rows)
        rows->n_rows++;
    rows->n_nodes++;
    rows->has_set_changed = true;
    place->row = (uint32_t)row;
    place->has_pods_changed = true; /* whatever stood in this row before, it was not these */
}

void rows_set_node(Rows *rows, const Node *node) {
    Place *place = rows_find(rows, node->name);

    assert(place && place->n_promised > 0);
    place->n_promised--;
    if (place->node)
        node_record_unref(place->node);
    else
        give_row(rows, place);
    place->node = node;
    mark(rows, place->row);
}

void rows_remove_node(Rows *rows, Place *place) {
    rows->by_row[place->row] = NULL;
    if (place->row < rows->first_free)
        rows->first_free = place->row;
    while (rows->n_rows > 0 && !rows->by_row[rows->n_rows - 1])
        rows->n_rows--;
    rows->n_nodes--;
    rows->has_set_changed = true;
    mark(rows, place->row);
    place->node = node_record_unref(place->node);
    drop_if_idle(rows, place);
}

void rows_settle(Rows *rows) {
    for (size_t chunk = 0; chunk < rows->n_rooms / CHUNK_ROWS; chunk++) {
        for (uint64_t left = rows->changed[chunk]; left; left &= left - 1) {
            Place *place = rows->by_row[chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left)];

            if (place)
                place->has_pods_changed = false;
        }
        rows->changed[chunk] = 0;
    }
    rows->n_changed = 0;
    rows->has_set_changed = false;
}
