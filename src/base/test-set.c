#include "base/rng.h"
#include "base/set.h"

#include <errno.h>

#include "base/test-assert.h"

/* An object with a hash that the test chooses. */
typedef struct Thing {
    uint64_t hash;
    size_t id;
    bool is_in;
    unsigned n_seen;
} Thing;

static bool is_thing(const void *item, const void *key) {
    return ((const Thing *)item)->id == *(const size_t *)key;
}

static Thing *find(const Set *set, const Thing *thing) {
    return set_find(set, thing->hash, is_thing, &thing->id);
}

static void add(Set *set, Thing *thing) {
    assert_int_equal(set_add(set, thing->hash, thing), 0);
    thing->is_in = true;
}

static void test_empty(void **state) {
    Set set = SET_INIT;
    Thing thing = {.hash = 1};
    size_t i = 0;

    (void)state;
    assert_null(find(&set, &thing));
    assert_false(set_remove(&set, thing.hash, &thing));
    assert_null(set_next(&set, &i));
    set_done(&set);
    add(&set, &thing);
    set_done(&set);
    assert_null(find(&set, &thing));
}

static void test_replace(void **state) {
    _cleanup_(set_done) Set set = SET_INIT;
    Thing old = {.hash = 7, .id = 1}, new = {.hash = 7, .id = 1}, other = {.hash = 7, .id = 2};

    (void)state;
    add(&set, &other);
    add(&set, &old);
    set_replace(&set, 7, &old, &new);
    assert_ptr_equal(find(&set, &old), &new);
    assert_ptr_equal(find(&set, &other), &other);
    assert_false(set_remove(&set, 7, &old));
    assert_true(set_remove(&set, 7, &new));
    assert_int_equal(set.n_used, 1);
}

static void test_reserve(void **state) {
    _cleanup_(set_done) Set set = SET_INIT;
    Thing things[1000] = {0};
    void **items;

    (void)state;
    assert_int_equal(set_reserve(&set, ELEMENTS_OF(things)), 0);
    items = set.items;
    for (size_t i = 0; i < ELEMENTS_OF(things); i++) {
        things[i] = (Thing){.hash = i * 77, .id = i};
        add(&set, &things[i]);
    }
    assert_ptr_equal(set.items, items);
    assert_true(set.n_used <= set.n_slots / 4 * 3);
    for (size_t i = 0; i < ELEMENTS_OF(things); i++)
        assert_ptr_equal(find(&set, &things[i]), &things[i]);
}

/* Compared with flags in the objects. @spread is the number of different hashes: few make long
 * runs, which wrap around the end of the table. */
static void check_random(uint64_t spread, uint64_t seed) {
    Rng rng = {.state = seed};
    _cleanup_(set_done) Set set = SET_INIT;
    Thing things[300] = {0};
    size_t n_in = 0;

    for (size_t i = 0; i < ELEMENTS_OF(things); i++)
        things[i] = (Thing){.hash = rng_pick(&rng, spread) * UINT64_C(0x100000001), .id = i};
    for (size_t step = 0; step < 20000; step++) {
        Thing *thing = &things[rng_pick(&rng, ELEMENTS_OF(things))];

        if (thing->is_in) {
            assert_true(set_remove(&set, thing->hash, thing));
            thing->is_in = false;
            n_in--;
        } else if (rng_pick(&rng, 300) > n_in) {
            add(&set, thing);
            n_in++;
        }
        assert_int_equal(set.n_used, n_in);
        thing = &things[rng_pick(&rng, ELEMENTS_OF(things))];
        assert_ptr_equal(find(&set, thing), thing->is_in ? thing : NULL);
    }
    for (size_t i = 0; i < ELEMENTS_OF(things); i++)
        assert_ptr_equal(find(&set, &things[i]), things[i].is_in ? &things[i] : NULL);
}

static void test_random(void **state) {
    (void)state;
    check_random(UINT32_MAX, 1);
    check_random(64, 2);
    check_random(8, 3);
    check_random(1, 4);
}

/* Removing every second entry during a walk: all are visited, and the others stay. */
static void check_removal_while_walking(uint64_t spread, uint64_t offset) {
    _cleanup_(set_done) Set set = SET_INIT;
    Thing things[180] = {0};
    Thing *thing;

    for (size_t i = 0; i < ELEMENTS_OF(things); i++) {
        things[i] = (Thing){.hash = i % spread + offset, .id = i};
        add(&set, &things[i]);
    }
    for (size_t i = 0; (thing = set_next(&set, &i)); i++) {
        thing->n_seen++;
        if (thing->id % 2 == 0) {
            thing->is_in = false;
            set_remove_at(&set, i--);
        }
    }
    for (size_t i = 0; i < ELEMENTS_OF(things); i++) {
        assert_true(things[i].n_seen > 0);
        assert_true(things[i].is_in || things[i].n_seen == 1);
        assert_ptr_equal(find(&set, &things[i]), things[i].is_in ? &things[i] : NULL);
    }
    assert_int_equal(set.n_used, ELEMENTS_OF(things) / 2);
}

static void test_removal_while_walking(void **state) {
    (void)state;
    check_removal_while_walking(180, 0);
    check_removal_while_walking(7, 250); /* runs wrap around the end of 256 slots */
    check_removal_while_walking(1, 255);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_removal_while_walking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
