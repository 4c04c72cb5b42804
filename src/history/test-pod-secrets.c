/*
 * Secrets of pods do not stay; everything that policies can read does, so that decisions are made
 * again as before.
 */

#include "history/decisions.h"

#include <pthread.h>
#include <stdatomic.h>

#include "history/test-random-decisions.h"

#define ROOM ((size_t)64 << 20)
#define SECRET "hunter2-hunter2"

/* The request of a world, with secrets in every place that has nothing to do with policies. */
static Str secret_request(World *world, unsigned pod, Arena *arena) {
    static const char container[] = "{\"name\":\"c\",";
    Str plain = world_request(world, pod, arena);
    const char *at = memmem(plain.ptr, plain.len, container, sizeof(container) - 1);
    size_t head;

    assert_non_null(at);
    head = (size_t)(at - plain.ptr);
    return arena_printf(arena,
        "%.*s{\"name\":\"c\",\"env\":[{\"name\":\"A\",\"value\":\"" SECRET "\"}],"
        "\"command\":[\"sh\",\"-c\",\"login " SECRET "\"],\"args\":[\"--password=" SECRET "\"],"
        "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/" SECRET "\"}],"
        "\"livenessProbe\":{\"httpGet\":{\"httpHeaders\":[{\"name\":\"Authorization\","
        "\"value\":\"" SECRET "\"}]}},%.*s",
        (int)head, plain.ptr, STR_FMT(str_skip(plain, head + sizeof(container) - 1)));
}

static void note(Decisions *decisions, World *world, Verb verb, Str body) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    Answer answer;

    play_note(decisions, world, verb, body, arena, &answer);
}

/* Filter and prioritize about a pod, @n times, each a moment later. */
static size_t play(Decisions *decisions, World *world, unsigned first, unsigned n) {
    for (unsigned pod = first; pod < first + n; pod++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        Str body = secret_request(world, pod, arena);

        note(decisions, world, VERB_FILTER, body);
        note(decisions, world, VERB_PRIORITIZE, body);
        world_step(world);
    }
    return 2 * (size_t)n;
}

static void tidy(Decisions *decisions) {
    size_t n = 0;

    while (!decisions_remove_secrets(decisions))
        assert_true(n++ < 1000);
}

static bool has_secret(Str text) {
    return text.ptr && memmem(text.ptr, text.len, SECRET, sizeof(SECRET) - 1);
}

static size_t count_secrets(Decisions *decisions) {
    FoundDecision found;
    size_t n = 0;

    for (uint64_t below = 0; below != 1 && decisions_read(decisions, below, &found, 1) == 1;) {
        below = found.past->id;
        n += has_secret(pod_text_str(found.pod_text));
        found_done(&found);
    }
    return n;
}

static void assert_equal_again(Decisions *decisions, Program *program, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    Recording recording;
    WhatIfReport report;

    assert_int_equal(decisions_record(decisions, 1000, arena, &recording), 0);
    for (size_t i = 0; i < recording.n; i++)
        assert_false(has_secret(recording.decisions[i].pod_text));
    assert_int_equal(what_if_run(&recording, program, NULL, arena, &report), 0);
    assert_int_equal(report.n, n);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], n);
    recording_done(&recording);
}

static void test_secrets_go(void **state) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
        DecisionsFigures before, after;
        World world;
        size_t n;

        world_open(&world, seed, 80);
        n = play(decisions, &world, 0, 10);
        assert_int_equal(count_secrets(decisions), n);
        decisions_figures(decisions, &before);
        tidy(decisions);
        assert_int_equal(count_secrets(decisions), 0);
        decisions_figures(decisions, &after);
        assert_int_equal(after.n_replayable, n);
        assert_true(after.inputs_bytes < before.inputs_bytes);
        assert_true(decisions_remove_secrets(decisions)); /* nothing is left to do */
        assert_equal_again(decisions, world.program, n);
        world_close(&world);
    }
}

/* Whoever copies texts has them without. */
static void test_recording_has_none(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    World world;
    size_t n;

    world_open(&world, 11, 80);
    n = play(decisions, &world, 0, 5);
    assert_equal_again(decisions, world.program, n);
    assert_int_equal(count_secrets(decisions), 0);
    world_close(&world);
}

static PodText *text_of(Decisions *decisions, uint64_t id) {
    FoundDecision found;
    PodText *text;

    assert_true(decisions_find(decisions, id, &found));
    text = pod_text_ref(found.pod_text);
    found_done(&found);
    return text;
}

/* One text for filter, prioritize and the next attempt, however far apart. */
static void test_shared(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    World world;

    world_open(&world, 12, 80);
    (void)play(decisions, &world, 3, 1);
    tidy(decisions);
    (void)play(decisions, &world, 3, 1);
    tidy(decisions);
    text = text_of(decisions, 1);
    assert_false(text->is_raw);
    assert_int_equal(text->n_users, 4);
    for (uint64_t id = 2; id <= 4; id++) {
        _cleanup_(pod_text_unrefp) PodText *other = text_of(decisions, id);

        assert_ptr_equal(other, text);
    }
    world_close(&world);
}

/* Who reads one meanwhile goes on reading it. */
static void test_readers(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    World world;

    world_open(&world, 13, 80);
    (void)play(decisions, &world, 0, 1);
    text = text_of(decisions, 1);
    tidy(decisions);
    assert_true(has_secret(pod_text_str(text)));
    assert_int_equal(text->n_users, 0);
    assert_int_equal(count_secrets(decisions), 0);
    world_close(&world);
}

/* A text that says no more than is kept is kept as it is, and is found again. */
static void test_nothing_to_take_away(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    _cleanup_(pod_text_unrefp) PodText *first = NULL, *second = NULL, *third = NULL;
    World world;
    Str body;

    world_open(&world, 14, 80);
    (void)play(decisions, &world, 0, 1);
    tidy(decisions);
    first = text_of(decisions, 1);
    body =
        arena_printf(arena, "{\"Pod\":%.*s,\"NodeNames\":[\"n1\"]}", STR_FMT(pod_text_str(first)));
    note(decisions, &world, VERB_FILTER, body);
    second = text_of(decisions, 3);
    assert_ptr_equal(second, first);
    tidy(decisions);
    third = text_of(decisions, 3);
    assert_ptr_equal(third, first);
    world_close(&world);
}

/* What is no pod goes, and it is said why that decision cannot be made again. */
static void test_no_pod(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    DecisionsFigures figures;
    Recording recording;
    Answer answer;
    World world;

    world_open(&world, 15, 80);
    world_ask(world.view, VERB_FILTER, world_now(&world), secret_request(&world, 0, arena), arena,
        &answer);
    answer.decision.pod_text = STR("{\"metadata\":7,\"a\":\"" SECRET "\"}");
    decisions_note(decisions, world.view, VERB_FILTER, &answer.decision, (PastTimes){0});
    assert_int_equal(count_secrets(decisions), 1);
    tidy(decisions);
    assert_int_equal(count_secrets(decisions), 0);
    decisions_figures(decisions, &figures);
    assert_int_equal(figures.n_replayable, 0);
    assert_int_equal(figures.n_saved_views, 0);
    assert_int_equal(decisions_record(decisions, 10, arena, &recording), 0);
    assert_string_equal(recorded_obstacle(&recording.decisions[0]), "its pod is not kept any more");
    recording_done(&recording);
    world_close(&world);
}

/* No more at a time than is good for those who wait for that thread; and it comes to an end. */
static void test_bounded(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(3 * REMOVE_SECRETS_MAX, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    unsigned n_calls = 1;
    Answer answer;
    World world;

    world_open(&world, 16, 4);
    world_ask(world.view, VERB_FILTER, world_now(&world), secret_request(&world, 0, arena), arena,
        &answer);
    for (unsigned i = 0; i < REMOVE_SECRETS_MAX + 100; i++)
        decisions_note(decisions, world.view, VERB_FILTER, &answer.decision, (PastTimes){0});
    for (; !decisions_remove_secrets(decisions); n_calls++)
        assert_true(n_calls < 10000);
    assert_true(n_calls > 1);
    assert_int_equal(count_secrets(decisions), 0);
    world_close(&world);
}

static void test_none(void **state) {
    assert_true(decisions_remove_secrets(NULL));
}

/* --- threads -----------------------------------------------------------------------------------
 */

typedef struct Tidying {
    Decisions *decisions;
    atomic_bool is_over;
} Tidying;

static void *tidy_on(void *context) {
    Tidying *tidying = context;

    while (!atomic_load(&tidying->is_over))
        (void)decisions_remove_secrets(tidying->decisions);
    return NULL;
}

/* In a ring so small that decisions go while their pods are being written anew. */
static void test_threads(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(16, ROOM);
    Tidying tidying = {.decisions = decisions};
    pthread_t threads[2];
    World world;

    world_open(&world, 17, 40);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, tidy_on, &tidying), 0);
    (void)play(decisions, &world, 0, 100);
    atomic_store(&tidying.is_over, true);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_equal_again(decisions, world.program, 16);
    assert_int_equal(count_secrets(decisions), 0);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_go),
        cmocka_unit_test(test_recording_has_none),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_nothing_to_take_away),
        cmocka_unit_test(test_no_pod),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
