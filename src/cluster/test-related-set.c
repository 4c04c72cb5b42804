#include "cluster/related-set.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test-assert.h"

static int put(RelatedSet **set, const char *namespace, const char *name, const char *text) {
    return related_set_put(set,
        &(RelatedObject){str_from_c(namespace), str_from_c(name), str_from_c(text)},
        /* like= */ NULL);
}

/* The text of an object; "" if there is none. */
static Str text_of(const RelatedSet *set, const char *namespace, const char *name) {
    const RelatedObject *object = related_set_find(set, str_from_c(namespace), str_from_c(name));

    return object ? object->text : STR("");
}

static void test_put_find_remove(void **state) {
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();

    (void)state;
    assert_int_equal(put(&set, "a", "x", "1"), 1);
    assert_int_equal(put(&set, "b", "x", "2"), 1);
    assert_int_equal(put(&set, "a", "x", "1"), 0);
    assert_int_equal(related_set_size(set), 2);
    assert_int_equal(put(&set, "a", "x", "3"), 1);
    assert_int_equal(related_set_size(set), 2);
    assert_text("a/x", text_of(set, "a", "x"), "3");
    assert_text("b/x", text_of(set, "b", "x"), "2");
    assert_int_equal(related_set_remove(&set, STR("a"), STR("x")), 1);
    assert_int_equal(related_set_remove(&set, STR("a"), STR("x")), 0);
    assert_text("a/x", text_of(set, "a", "x"), "");
    assert_int_equal(related_set_size(set), 1);
}

/* A set that a snapshot refers to does not change. */
static void test_copies_are_independent(void **state) {
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();
    _cleanup_(related_set_unrefp) RelatedSet *before = NULL;

    (void)state;
    assert_int_equal(put(&set, "", "x", "1"), 1);
    assert_int_equal(put(&set, "", "y", "1"), 1);
    before = related_set_ref(set);
    assert_int_equal(put(&set, "", "x", "2"), 1);
    assert_int_equal(related_set_remove(&set, STR_NULL, STR("y")), 1);
    assert_text("x before", text_of(before, "", "x"), "1");
    assert_text("y before", text_of(before, "", "y"), "1");
    assert_text("x", text_of(set, "", "x"), "2");
    assert_text("y", text_of(set, "", "y"), "");
}

static void test_shares_equal_objects(void **state) {
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();
    _cleanup_(related_set_unrefp) RelatedSet *next = related_set_new();
    RelatedObject same = {.name = STR("x"), .text = STR("1")};

    (void)state;
    assert_int_equal(related_set_put(&set, &same, NULL), 1);
    assert_int_equal(related_set_put(&next, &same, set), 1);
    assert_ptr_equal(
        related_set_find(set, STR_NULL, same.name), related_set_find(next, STR_NULL, same.name));
}

#define NAMES 700u

/* Against an array of numbers; 0: not there. */
static void test_random(void **state) {
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();
    unsigned model[NAMES] = {0};
    Rng seed = {7};

    (void)state;
    for (unsigned step = 1; step <= 20000; step++) {
        unsigned i = (unsigned)(rng_next(&seed) % NAMES);
        char name[16], text[16];

        (void)snprintf(name, sizeof(name), "n%u", i);
        (void)snprintf(text, sizeof(text), "%u", step);
        if (rng_next(&seed) % 3 == 0) {
            assert_int_equal(related_set_remove(&set, STR("ns"), str_from_c(name)), model[i] != 0);
            model[i] = 0;
        } else {
            assert_int_equal(put(&set, "ns", name, text), 1);
            model[i] = step;
        }
        if (step % 100 == 0) { /* shared from time to time, as snapshots do */
            RelatedSet *held = related_set_ref(set);

            assert_int_equal(put(&set, "ns", "held", text), 1);
            assert_int_equal(related_set_remove(&set, STR("ns"), STR("held")), 1);
            related_set_unref(held);
        }
    }
    for (unsigned i = 0; i < NAMES; i++) {
        char name[16], text[16] = "";

        (void)snprintf(name, sizeof(name), "n%u", i);
        if (model[i])
            (void)snprintf(text, sizeof(text), "%u", model[i]);
        assert_text(name, text_of(set, "ns", name), text);
    }
}

static void test_list_is_sorted(void **state) {
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();
    const RelatedObject **list;

    (void)state;
    assert_int_equal(put(&set, "b", "x", "3"), 1);
    assert_int_equal(put(&set, "a", "y", "2"), 1);
    assert_int_equal(put(&set, "a", "x", "1"), 1);
    list = related_set_list(set);
    assert_non_null(list);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(list[i]->text.ptr[0], '1' + (int)i);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_find_remove),
        cmocka_unit_test(test_copies_are_independent),
        cmocka_unit_test(test_shares_equal_objects),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_list_is_sorted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
