#include "cluster/names.h"

#include "base/test-assert.h"

#define N_MAX 4u

static NodeNames *names_of(const char *const *words, size_t n, const NodeNames *before) {
    Str names[N_MAX];
    NodeNames *made = NULL;

    for (size_t i = 0; i < n; i++)
        names[i] = str_from_c(words[i]);
    assert_int_equal(names_new(names, n, before, &made), 0);
    return made;
}

static uint32_t follower(const NodeNames *names, size_t row) {
    return atomic_load(&names->guesses[row].follower);
}

/* Until a request has shown its order: the next row that is taken. */
static void test_first_guess(void **state) {
    static const char *const words[] = {"a", "", "c", "d"};
    _cleanup_(names_unrefp) NodeNames *names = names_of(words, 4, NULL);

    (void)state;
    assert_int_equal(follower(names, 0), 2);
    assert_int_equal(follower(names, 2), 3);
    assert_int_equal(follower(names, 3), 4); /* the unknown node: matches nothing */
    assert_int_equal(follower(names, 4), 4);
    assert_int_equal(names->n_nodes, 3);
}

/* What was learnt holds for two nodes that are both still where they were. */
static void test_learnt_guess(void **state) {
    static const char *const words[] = {"a", "b", "c", "d"};
    static const struct {
        const char *words[N_MAX];
        uint32_t of_first; /* what follows row 0; row 2 was learnt */
        uint64_t since;    /* of row 0 */
    } cases[] = {
        {{"a", "b", "c", "d"}, 2, 1},
        {{"a", "x", "c", ""}, 2, 1},
        {{"a", "b", "x", "d"}, 1, 1}, /* another follower */
        {{"a", "b", "", "d"}, 1, 1},
        {{"x", "b", "c", "d"}, 1, 2}, /* another node: what followed the old one says nothing */
    };
    _cleanup_(names_unrefp) NodeNames *before = names_of(words, 4, NULL);

    (void)state;
    atomic_store(&before->guesses[0].follower, 2);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(names_unrefp) NodeNames *names = names_of(cases[i].words, 4, before);

        assert_int_equal(follower(names, 0), cases[i].of_first);
        assert_int_equal(names->since[0], cases[i].since);
        assert_int_equal(names->version, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_guess),
        cmocka_unit_test(test_learnt_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
