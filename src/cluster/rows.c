#include "cluster/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cluster/record.h"

#define POD_ROOMS_FIRST 4u

static Site *site_free(Site *site) {
    node_record_unref(site->node);
    free(site->pods);
    free(site);
    return NULL;
}

void rows_done(Rows *rows) {
    Site *site;

    for (size_t i = 0; (site = set_next(&rows->sites, &i)); i++) {
        assert(site->n_promised == 0);          /* each was used or withdrawn */
        assert(site->node || site->n_pods > 0); /* else it would have gone */
        site_free(site);
    }
    set_done(&rows->sites);
    free(rows->by_row);
    free(rows->changed);
    *rows = (Rows){0};
}

static bool is_site(const void *item, const void *key) {
    return str_eq(((const Site *)item)->name, *(const Str *)key);
}

Site *rows_find(const Rows *rows, Str name) {
    return set_find(&rows->sites, hash_str(name), is_site, &name);
}

static Site *site_new(Str name) {
    Site *site = calloc(1, sizeof(*site) + name.len);

    if (!site)
        return NULL;
    memcpy(site->text, name.ptr, name.len);
    site->name = str_of(site->text, name.len);
    return site;
}

static Site *find_or_make(Rows *rows, Str name) {
    Site *site = rows_find(rows, name);

    if (site)
        return site;
    site = site_new(name);
    if (site && set_add(&rows->sites, hash_str(name), site) < 0)
        site = site_free(site);
    return site;
}

static void drop_if_idle(Rows *rows, Site *site) {
    if (site->node || site->n_pods > 0 || site->n_promised > 0)
        return;
    (void)set_remove(&rows->sites, hash_str(site->name), site);
    site_free(site);
}

static int site_reserve(Site *site) {
    size_t needed = (size_t)site->n_pods + site->n_promised + 1;
    size_t n_rooms = site->n_rooms ? site->n_rooms : POD_ROOMS_FIRST;
    const Pod **pods;

    if (needed <= site->n_rooms)
        return 0;
    while (n_rooms < needed)
        n_rooms += n_rooms / 2;
    pods = realloc(site->pods, n_rooms * sizeof(*pods));
    if (!pods)
        return -ENOMEM;
    site->pods = pods;
    site->n_rooms = (uint32_t)n_rooms;
    return 0;
}

int rows_promise_pod(Rows *rows, Str name) {
    Site *site = find_or_make(rows, name);
    int r;

    if (!site)
        return -ENOMEM;
    r = site_reserve(site);
    if (r < 0) {
        drop_if_idle(rows, site);
        return r;
    }
    site->n_promised++;
    return 0;
}

int rows_promise_node(Rows *rows, Str name) {
    Site *site = find_or_make(rows, name);

    if (!site)
        return -ENOMEM;
    site->n_promised++;
    return 0;
}

void rows_withdraw(Rows *rows, Str name) {
    Site *site = rows_find(rows, name);

    assert(site && site->n_promised > 0);
    site->n_promised--;
    drop_if_idle(rows, site);
}

static int grow(Rows *rows, size_t n_rooms) {
    Site **by_row = realloc(rows->by_row, n_rooms * sizeof(Site *));
    uint64_t *changed;

    if (!by_row)
        return -ENOMEM;
    rows->by_row = by_row;
    changed = realloc(rows->changed, n_rooms / CHUNK_ROWS * sizeof(*changed));
    if (!changed)
        return -ENOMEM;
    rows->changed = changed;
    memset(by_row + rows->n_rooms, 0, (n_rooms - rows->n_rooms) * sizeof(Site *));
    memset(changed + rows->n_rooms / CHUNK_ROWS, 0, (n_rooms - rows->n_rooms) / CHUNK_ROWS * 8);
    rows->n_rooms = n_rooms;
    return 0;
}

int rows_reserve(Rows *rows, size_t n_more) {
    size_t n_rooms = rows->n_rooms ? rows->n_rooms : CHUNK_ROWS;

    while (n_rooms < rows->n_rows + n_more)
        n_rooms *= 2;
    return n_rooms == rows->n_rooms ? 0 : grow(rows, n_rooms);
}

/* --- changes --------------------------------------------------------------------- */

static void mark(Rows *rows, uint32_t row) {
    uint64_t bit = UINT64_C(1) << (row % CHUNK_ROWS);

    if (!(rows->changed[row / CHUNK_ROWS] & bit))
        rows->n_changed++;
    rows->changed[row / CHUNK_ROWS] |= bit;
}

static void mark_pods(Rows *rows, Site *site) {
    site->has_pods_changed = true;
    if (site->node)
        mark(rows, site->row);
}

void rows_add_pod(Rows *rows, const Pod *pod) {
    Site *site = rows_find(rows, pod->node_name);

    assert(site && site->n_promised > 0 && site->n_pods < site->n_rooms);
    site->n_promised--;
    site->pods[site->n_pods++] = pod;
    mark_pods(rows, site);
}

static uint32_t position_of(const Site *site, const Pod *pod) {
    uint32_t i = 0;

    while (i < site->n_pods && site->pods[i] != pod)
        i++;
    assert(i < site->n_pods);
    return i;
}

void rows_remove_pod(Rows *rows, const Pod *pod) {
    Site *site = rows_find(rows, pod->node_name);
    uint32_t i;

    assert(site);
    i = position_of(site, pod);
    site->n_pods--;
    memmove(site->pods + i, site->pods + i + 1, (site->n_pods - i) * sizeof(*site->pods));
    mark_pods(rows, site);
    drop_if_idle(rows, site);
}

void rows_replace_pod(Rows *rows, const Pod *old, const Pod *pod) {
    Site *site = rows_find(rows, old->node_name);

    assert(site);
    site->pods[position_of(site, old)] = pod;
    mark_pods(rows, site);
}

static void give_row(Rows *rows, Site *site) {
    size_t row = rows->first_free;

    while (row < rows->n_rows && rows->by_row[row])
        row++;
    assert(row < rows->n_rooms);
    rows->by_row[row] = site;
    rows->first_free = row + 1;
    if (row == rows->n_rows)
        rows->n_rows++;
    rows->n_nodes++;
    rows->has_set_changed = true;
    site->row = (uint32_t)row;
    site->has_pods_changed = true; /* whatever stood in this row before, it was not these */
}

void rows_set_node(Rows *rows, const Node *node) {
    Site *site = rows_find(rows, node->name);

    assert(site && site->n_promised > 0);
    site->n_promised--;
    if (site->node)
        node_record_unref(site->node);
    else
        give_row(rows, site);
    site->node = node;
    mark(rows, site->row);
}

void rows_remove_node(Rows *rows, Site *site) {
    rows->by_row[site->row] = NULL;
    if (site->row < rows->first_free)
        rows->first_free = site->row;
    while (rows->n_rows > 0 && !rows->by_row[rows->n_rows - 1])
        rows->n_rows--;
    rows->n_nodes--;
    rows->has_set_changed = true;
    mark(rows, site->row);
    site->node = node_record_unref(site->node);
    drop_if_idle(rows, site);
}

void rows_settle(Rows *rows) {
    for (size_t chunk = 0; chunk < rows->n_rooms / CHUNK_ROWS; chunk++) {
        for (uint64_t left = rows->changed[chunk]; left; left &= left - 1) {
            Site *site = rows->by_row[chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left)];

            if (site)
                site->has_pods_changed = false;
        }
        rows->changed[chunk] = 0;
    }
    rows->n_changed = 0;
    rows->has_set_changed = false;
}
