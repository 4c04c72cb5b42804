#include "scheduler/images.h"

#include "base/test-assert.h"

#define N_IMAGES (2 * IMAGES_SCANS)

/* Node 0 has every image, twice; node 1 every third one, with another size. */
static void test_scan_and_index_find_the_same(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    Image first[N_IMAGES] = {0}, second[N_IMAGES] = {0};
    Node nodes[2] = {{.name = STR("a"), .images = first, .n_images = N_IMAGES},
        {.name = STR("b"), .images = second}};
    NodeTable table;
    Images images;

    for (size_t i = 0; i < N_IMAGES; i++) {
        Str *names = ARENA_ARRAY(arena, Str, 2);

        assert_non_null(names);
        names[0] = names[1] = arena_printf(arena, "image-%zu:latest", i);
        first[i] = (Image){.names = names, .n_names = 2, .size = 1000};
        if (i % 3 == 0)
            second[nodes[1].n_images++] = (Image){.names = names, .n_names = 1, .size = 5};
    }
    assert_int_equal(table_build(nodes, 2, arena, &table), 0);
    images = IMAGES_IN(arena, &table);
    for (size_t i = 0; i < N_IMAGES; i++) {
        int64_t sums[2] = {0};

        assert_int_equal(images_add(&images, first[i].names[0], sums), 0);
        assert_int_equal(sums[0], i % 3 == 0 ? 1000 : 500);
        assert_int_equal(sums[1], i % 3 == 0 ? 1000 : 0);
        assert_int_equal(images_add(&images, STR("unknown"), sums), 0);
        assert_int_equal(sums[0], i % 3 == 0 ? 1000 : 500);
        assert_int_equal(images.has_index, i >= IMAGES_SCANS / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_and_index_find_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
