#include "scheduler/images.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/store.h"

#define N_IMAGES (2 * IMAGES_SCANS)

/* Node 0 has every image, twice; node 1 every third one, with another size. */
static void test_scan_and_index_find_the_same(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    Image first[N_IMAGES] = {0}, second[N_IMAGES] = {0};
    Node nodes[2] = {{.name = STR("a"), .images = first, .n_images = N_IMAGES},
        {.name = STR("b"), .images = second}};
    _cleanup_(images_freep) Images *images = NULL;
    NodeTable table;

    for (size_t i = 0; i < N_IMAGES; i++) {
        Str *names = ARENA_ARRAY(arena, Str, 2);

        assert_non_null(names);
        names[0] = names[1] = arena_printf(arena, "image-%zu:latest", i);
        first[i] = (Image){.names = names, .n_names = 2, .size = 1000};
        if (i % 3 == 0)
            second[nodes[1].n_images++] = (Image){.names = names, .n_names = 1, .size = 5};
    }
    assert_int_equal(table_build(nodes, 2, arena, &table), 0);
    images = images_new(&table);
    assert_non_null(images);
    for (size_t i = 0; i < N_IMAGES; i++) {
        int64_t sums[2] = {0};

        assert_int_equal(images_add(images, first[i].names[0], 2, sums), 0);
        assert_int_equal(sums[0], i % 3 == 0 ? 1000 : 500);
        assert_int_equal(sums[1], i % 3 == 0 ? 1000 : 0);
        assert_int_equal(images_add(images, STR("unknown"), 2, sums), 0);
        assert_int_equal(sums[0], i % 3 == 0 ? 1000 : 500);
        assert_int_equal(images->has_all, i >= IMAGES_SCANS - 1);
    }
}

/* --- nodes change ----------------------------------------------------------------------------- */

#define N_NODES 40u

static void put_node(Store *store, unsigned number, const char *image, int64_t size) {
    Str names[] = {str_from_c(image)};
    Image images[] = {{.names = names, .n_names = 1, .size = size}};
    char name[16];

    (void)snprintf(name, sizeof(name), "n%02u", number);
    assert_true(store_apply_node(store, &(Node){.name = str_from_c(name),
                                            .images = images,
                                            .n_images = image[0] ? 1 : 0}) >= 0);
}

/* The sums of all rows for both images, compared with those of an Images that read all nodes. */
static void check_followed(Images *followed, Store *store) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(images_freep) Images *fresh = NULL;
    int64_t sums[2][N_NODES + 8] = {0};

    assert_int_equal(store_publish(store, &snapshot), 0);
    assert_true(snapshot_table(snapshot)->n_rows <= ELEMENTS_OF(sums[0]));
    fresh = images_new(snapshot_table(snapshot));
    images_follow(followed, snapshot);
    assert_int_equal(images_add(followed, STR("a"), N_NODES, sums[0]), 0);
    assert_int_equal(images_add(followed, STR("b"), N_NODES, sums[0]), 0);
    assert_int_equal(images_add(fresh, STR("a"), N_NODES, sums[1]), 0);
    assert_int_equal(images_add(fresh, STR("b"), N_NODES, sums[1]), 0);
    assert_memory_equal(sums[0], sums[1], sizeof(sums[0]));
}

static void test_follows_nodes_that_change(void **state) {
    _cleanup_(images_freep) Images *images = images_new(NULL);
    _cleanup_(store_freep) Store *store = store_new();

    for (unsigned i = 0; i < N_NODES; i++)
        put_node(store, i, i % 2 ? "a" : "b", 1000);
    check_followed(images, store);
    check_followed(images, store); /* nothing has changed */
    assert_int_equal(images->states.n, 2);
    put_node(store, 0, "a", 5); /* the first with "a" from now on: its size counts */
    put_node(store, 7, "b", 1000);
    put_node(store, 9, "", 0);
    check_followed(images, store);
    put_node(store, N_NODES, "a", 1000); /* a new row */
    store_remove_node(store, STR("n03"));
    check_followed(images, store);
    assert_int_equal(images->states.n, 2); /* both were kept, and changed */
    for (unsigned i = 0; i < N_NODES; i++)
        put_node(store, i, "a", 1000 + i);
    check_followed(images, store); /* too much: all nodes are read again */
    images_clear(images);
    assert_null(images->snapshot);
    check_followed(images, store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_and_index_find_the_same),
        cmocka_unit_test(test_follows_nodes_that_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
