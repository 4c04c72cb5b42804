#include "cluster/names.h"

#include <pthread.h>
#include <stdio.h>

#include "base/test-assert.h"

#define N_MAX 4u

static NodeNames *names_of(const char *const *dictionary, size_t n, const NodeNames *before) {
    Str names[N_MAX];
    NodeNames *made = NULL;

    for (size_t i = 0; i < n; i++)
        names[i] = str_from_c(dictionary[i]);
    assert_int_equal(names_new(names, n, before, &made), 0);
    return made;
}

static uint32_t follower(const NodeNames *names, size_t row) {
    return atomic_load(&names->hints[row].follower);
}

/* Before a request has shown its order, the follower is the next row in use. */
static void test_first_follower_is_next_row(void **state) {
    static const char *const dictionary[] = {"a", "", "c", "d"};
    _cleanup_(names_unrefp) NodeNames *names = names_of(dictionary, 4, NULL);

    (void)state;
    assert_int_equal(follower(names, 0), 2);
    assert_int_equal(follower(names, 2), 3);
    assert_int_equal(follower(names, 3), 4); /* the unknown node: matches nothing */
    assert_int_equal(follower(names, 4), 4);
    assert_int_equal(names->n_nodes, 3);
}

/* A learnt pair is valid while both nodes are in their rows. */
static void test_learnt_follower_needs_both_rows(void **state) {
    static const char *const dictionary[] = {"a", "b", "c", "d"};
    static const struct {
        const char *dictionary[N_MAX];
        uint32_t of_first; /* the row after row 0; row 2 was learnt */
        uint64_t since;    /* of row 0 */
    } cases[] = {
        {{"a", "b", "c", "d"}, 2, 1}, {{"a", "x", "c", ""}, 2, 1},
        {{"a", "b", "x", "d"}, 1, 1}, /* another follower */
        {{"a", "b", "", "d"}, 1, 1},
        {{"x", "b", "c", "d"}, 1,
            2}, /* another node in the row: the learnt follower does not count */
    };
    _cleanup_(names_unrefp) NodeNames *before = names_of(dictionary, 4, NULL);

    (void)state;
    atomic_store(&before->hints[0].follower, 2);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(names_unrefp) NodeNames *names = names_of(cases[i].dictionary, 4, before);

        assert_int_equal(follower(names, 0), cases[i].of_first);
        assert_int_equal(names->since[0], cases[i].since);
        assert_int_equal(names->version, 2);
    }
}

/* --- sequences ------------------------------------------------------------------ */

#define MANY 800u

/* @n nodes with easily distinguished names. */
static NodeNames *many_names(size_t n) {
    static char texts[MANY][16];
    Str names[MANY];
    NodeNames *made = NULL;

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "n%zu", i * 7);
        names[i] = str_from_c(texts[i]);
    }
    assert_int_equal(names_new(names, n, /* before= */ NULL, &made), 0);
    return made;
}

/* Every @step-th row from @first on, backwards when @step is negative. */
static size_t rows_of(size_t first, int step, uint32_t *ret) {
    size_t n = 0;

    for (int64_t row = (int64_t)first; row >= 0 && row < MANY; row += step)
        ret[n++] = (uint32_t)row;
    return n;
}

/* Each position has its row's name, and each row its position. */
static void check_sequence(const NodeNames *names, const NameSequence *sequence) {
    size_t n_placed = 0;

    for (size_t place = 0; place < sequence->n; place++) {
        const NameHint *hint = &names->hints[sequence->rows[place]];

        assert_int_equal(sequence->at[place + 1] - sequence->at[place], hint->len);
        assert_memory_equal(sequence->text + sequence->at[place], hint->literal, hint->len);
        assert_int_equal(sequence->places[sequence->rows[place]], place);
    }
    for (size_t row = 0; row <= names->n_rows; row++)
        n_placed += sequence->places[row] != SEQUENCE_NOWHERE;
    assert_int_equal(n_placed, sequence->n);
}

static bool is_in_order(const NameSequence *sequence, const uint32_t *rows, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (sequence->places[rows[i - 1]] >= sequence->places[rows[i]])
            return false;
    return true;
}

static void test_learns_order_of_requests(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    const NameSequence *first, *second;
    uint32_t some[MANY], others[MANY];
    size_t n_some = rows_of(MANY - 1, -1, some) - 100, n_others;

    (void)state;
    names_learn(names, some, 60); /* too few */
    assert_null(names_sequence(names));
    names_learn(names, some, n_some);
    first = names_sequence(names);
    assert_non_null(first);
    assert_int_equal(first->n, n_some);
    check_sequence(names, first);
    assert_true(is_in_order(first, some, n_some));

    names_learn(names, some, n_some + 80); /* too few new ones */
    assert_ptr_equal(names_sequence(names), first);
    n_others = rows_of(MANY - 1, -1, others);
    names_learn(names, others, n_others); /* the known ones keep their order */
    second = names_sequence(names);
    assert_ptr_not_equal(second, first);
    assert_int_equal(second->n, MANY);
    check_sequence(names, second);
    assert_true(is_in_order(second, some, n_some));
    assert_true(is_in_order(second, others, n_others));
}

/* Two requests that leave out different nodes: afterwards both are in order. */
static void test_learns_from_requests_with_different_nodes(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    uint32_t all[MANY], one[MANY], other[MANY];
    size_t n_one = 0, n_other = 0;

    (void)state;
    (void)rows_of(0, 1, all);
    for (uint32_t i = 0; i < MANY; i++) {
        if (i % 5 != 1)
            one[n_one++] = i;
        if (i % 5 != 3)
            other[n_other++] = i;
    }
    names_learn(names, one, n_one);
    names_learn(names, other, n_other);
    assert_int_equal(names_sequence(names)->n, MANY);
    check_sequence(names, names_sequence(names));
    assert_true(is_in_order(names_sequence(names), all, MANY));
}

/* Names without a literal, and names that are repeated. */
static void test_learn_names_without_literal(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    uint32_t rows[MANY + 2];
    size_t n = rows_of(0, 1, rows);

    (void)state;
    names->hints[5].len = 0; /* an invalid name */
    rows[n++] = 17;
    rows[n++] = MANY; /* the unknown node */
    names_learn(names, rows, n);
    assert_int_equal(names_sequence(names)->n, MANY - 1);
    check_sequence(names, names_sequence(names));
    assert_int_equal(names_sequence(names)->places[5], SEQUENCE_NOWHERE);
}

static size_t count_sequences(const NodeNames *names) {
    size_t n = 0;

    for (const NameSequence *at = names_sequence(names); at; at = at->earlier)
        n++;
    return n;
}

/* Requests with nothing or very little to learn change nothing. */
static void test_stops_learning(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    uint32_t rows[MANY];

    (void)state;
    names->hints[5].len = 0;
    for (uint32_t i = 0; i < MANY; i++)
        rows[i] = i % 2 ? i : MANY; /* half of them unknown */
    for (size_t i = 0; i < 50; i++)
        names_learn(names, rows, MANY);
    assert_int_equal(count_sequences(names), 1);
    for (uint32_t i = 0; i < MANY; i++)
        rows[i] = 5; /* has no literal */
    for (size_t i = 0; i < 50; i++)
        names_learn(names, rows, MANY);
    assert_int_equal(count_sequences(names), 1);
    for (uint32_t one = 0; one < MANY; one += 2) { /* one new node, many times */
        for (uint32_t i = 0; i < MANY; i++)
            rows[i] = one;
        names_learn(names, rows, MANY);
    }
    assert_int_equal(count_sequences(names), 1);
    assert_int_equal(names_sequence(names)->n, MANY / 2 - 1);
}

/* A request of names without literals adds no sequence. */
static void test_learn_unknown_nodes(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    uint32_t rows[MANY];

    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        rows[i] = MANY;
    names_learn(names, rows, MANY);
    assert_int_equal(count_sequences(names), 0);
}

/* --- threads ------------------------------------------------------------------------ */

typedef struct Learner {
    const NodeNames *names;
    uint32_t first;
} Learner;

static void *learn_and_read(void *context) {
    const Learner *learner = context;
    uint32_t rows[MANY];

    for (uint32_t step = 5; step > 0; step--) {
        const NameSequence *sequence = names_sequence(learner->names);

        for (uint32_t i = 0; i < MANY; i++)
            rows[i] = (learner->first + i * step) % MANY;
        names_learn(learner->names, rows, MANY);
        if (sequence) /* it stays valid after it was replaced */
            check_sequence(learner->names, sequence);
        check_sequence(learner->names, names_sequence(learner->names));
    }
    return NULL;
}

static void test_threads_learn_at_once(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = many_names(MANY);
    Learner learners[4];
    pthread_t threads[4];

    (void)state;
    for (uint32_t i = 0; i < ELEMENTS_OF(threads); i++) {
        learners[i] = (Learner){.names = names, .first = i * 100};
        assert_int_equal(pthread_create(&threads[i], NULL, learn_and_read, &learners[i]), 0);
    }
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(names_sequence(names)->n, MANY);
    assert_true(count_sequences(names) <= 8);
}

static void test_request_table_learns_nothing(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    static const uint32_t rows[MANY] = {0};
    static const Str one = STR("a");
    NodeNames names;

    (void)state;
    assert_int_equal(names_init_in(arena, &one, 1, &names), 0);
    names_learn(&names, rows, MANY);
    assert_null(names_sequence(&names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_follower_is_next_row),
        cmocka_unit_test(test_learnt_follower_needs_both_rows),
        cmocka_unit_test(test_learns_order_of_requests),
        cmocka_unit_test(test_learns_from_requests_with_different_nodes),
        cmocka_unit_test(test_learn_names_without_literal),
        cmocka_unit_test(test_stops_learning),
        cmocka_unit_test(test_learn_unknown_nodes),
        cmocka_unit_test(test_threads_learn_at_once),
        cmocka_unit_test(test_request_table_learns_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
