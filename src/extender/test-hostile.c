/*
 * Hostile request bodies: each gets an error or a complete reply, in bounded memory.
 *
 * Bodies are copied to the heap at their exact size, so that AddressSanitizer sees any read beyond
 * the end.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

#define DEEP 100000u

static const char scene_text[] =
    "policy:\n"
    "  filters:\n"
    "    - {name: pool, nodeLabels: {pool: a}, reason: not in the pool, unresolvable: true}\n"
    "    - {name: room, headroom: {cpu: 1}, reason: too full}\n"
    "  scores: [{name: spread, spread: {cpu: 1}}]\n"
    "nodes:\n"
    "  n1: {labels: {pool: a}, allocatable: {cpu: 4}}\n"
    "  n2: {labels: {pool: b}, allocatable: {cpu: 4}}\n"
    "  n3: {labels: {pool: a}, allocatable: {cpu: 1}}\n"
    "pods: [{on: n3, uid: u3, requests: {cpu: 1}}]\n";

typedef struct Fixture {
    TestScene scene;
    View *view;
    Arena *arena; /* of the request */
    Arena *reading;
} Fixture;

static int setup(void **state) {
    Fixture *fixture = calloc(1, sizeof(*fixture));

    scene_init_text(&fixture->scene, scene_text);
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->scene.snapshot,
                                  .program = fixture->scene.program},
                         /* before= */ NULL, &fixture->view),
        0);
    fixture->arena = arena_new((size_t)64 << 20);
    fixture->reading = arena_new((size_t)64 << 20);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    fixture->view = view_unref(fixture->view);
    fixture->arena = arena_free(fixture->arena);
    fixture->reading = arena_free(fixture->reading);
    scene_done(&fixture->scene);
    free(fixture);
    return 0;
}

static void ask_in(const Fixture *fixture, Verb verb, Str body, Arena *arena, Answer *ret) {
    reply_ask(fixture->view, verb, body, /* bind_error= */ STR_NULL, arena, ret);
}

/* Whether @text is a complete reply of the verb. */
static bool is_reply(Verb verb, Str text, Arena *arena) {
    FilterReply filter;
    ReplyScores scores;
    ReplyCandidates candidates;
    Str error;

    switch (verb) {
    case VERB_FILTER:
        return reply_filter(text, arena, &filter) || reply_error(text, arena, &error);
    case VERB_PRIORITIZE:
        return reply_scores(text, arena, &scores);
    case VERB_PREEMPT:
        return reply_candidates(text, arena, &candidates);
    default:
        return reply_error(text, arena, &error);
    }
}

/* Sends @body and checks that the reply is complete. Returns the status; @ret_text is valid until
 * the next call. */
static unsigned ask(Fixture *fixture, Verb verb, Str body, Str *ret_text) {
    char *exact = malloc(body.len ? body.len : 1);
    Answer answer;
    Str text, error;

    assert_non_null(exact);
    if (body.len > 0)
        memcpy(exact, body.ptr, body.len);
    arena_reset(fixture->arena);
    arena_reset(fixture->reading);
    ask_in(fixture, verb, str_of(exact, body.len), fixture->arena, &answer);
    text = reply_text(&answer.body, fixture->reading);
    if (answer.status == 200)
        assert_true(is_reply(verb, text, fixture->reading));
    else
        assert_true(reply_error(text, fixture->reading, &error) && error.len > 0);
    free(exact);
    if (ret_text)
        *ret_text = text;
    return answer.status;
}

/* --- depth ------------------------------------------------------------------------- */

/* @before, then @open @depth times, the same number of @close, and @after. */
static Str nest(const char *before, const char *open, const char *close, const char *after,
    size_t depth, Buf *out) {
    buf_reset(out);
    buf_append(out, str_from_c(before));
    for (size_t i = 0; i < depth; i++)
        buf_append(out, str_from_c(open));
    buf_append(out, STR("1"));
    for (size_t i = 0; i < depth; i++)
        buf_append(out, str_from_c(close));
    buf_append(out, str_from_c(after));
    return buf_str(out);
}

static void test_deep_nesting_is_an_error(void **state) {
    static const struct {
        const char *before, *after;
    } places[] = {
        {"", ""},
        {"{\"Unknown\":", ",\"Pod\":{}}"},
        {"{\"Pod\":", "}"},
        {"{\"Pod\":{\"spec\":{\"x\":", "}}}"},
        {"{\"Pod\":{},\"NodeNames\":", "}"},
        {"{\"Pod\":{},\"Nodes\":", "}"},
        {"{\"Pod\":{},\"NodeNameToMetaVictims\":{\"n1\":", "}}"},
        {"{\"PodName\":", "}"},
        {"{\"Node\":\"n\",\"x\":", "}"},
    };
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)4 << 20);

    for (size_t i = 0; i < ELEMENTS_OF(places); i++) {
        for (Verb verb = 0; verb < _VERB_MAX; verb++) {
            (void)nest(places[i].before, "[", "]", places[i].after, DEEP, &body);
            assert_int_equal(ask(*state, verb, buf_str(&body), NULL), 400);
            (void)nest(places[i].before, "{\"a\":", "}", places[i].after, DEEP, &body);
            assert_int_equal(ask(*state, verb, buf_str(&body), NULL), 400);
            (void)nest(places[i].before, "[", "", "", DEEP, &body);
            assert_int_equal(ask(*state, verb, buf_str(&body), NULL), 400);
        }
    }
}

/* Unread fields of Node objects are skipped by counting brackets, at any depth. */
static void test_deep_nesting_in_unread_node_fields_is_skipped(void **state) {
    static const char before[] = "{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\","
                                 "\"labels\":{\"pool\":\"a\"}},\"status\":{\"allocatable\":{"
                                 "\"cpu\":2}},\"x\":";
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)4 << 20);
    Str text;

    (void)nest(before, "[", "]", "}]}}", DEEP, &body);
    assert_int_equal(ask(*state, VERB_FILTER, buf_str(&body), &text), 200);
    assert_true(text.len > 2 * (size_t)DEEP); /* the node passes, and is returned unchanged */
    assert_int_equal(ask(*state, VERB_PRIORITIZE, buf_str(&body), &text), 200);
    assert_text("scores", text, "[{\"Host\":\"n1\",\"Score\":10}]");
    (void)nest(before, "[", "", "}]}}", DEEP, &body);
    assert_int_equal(ask(*state, VERB_FILTER, buf_str(&body), NULL), 400);
}

/* --- bytes ------------------------------------------------------------------------- */

static const struct {
    Verb verb;
    const char *body;
} requests[] = {
    {VERB_FILTER,
        "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"uid\":\"\\u0041\"},\"spec\":{\"containers\":[{"
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}},\"Nodes\":null,\"NodeNames\":[\"n1\","
        "\"n2\",\"n\\u0033\",\"new\"]}"},
    {VERB_FILTER,
        "{\"Pod\":{},\"Nodes\":{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n1\","
        "\"labels\":{\"pool\":\"a\"}},\"x\":[\"\\\"\",1]},{\"metadata\":{\"name\":\"n2\"}}]},"
        "\"NodeNames\":null}"},
    {VERB_PRIORITIZE, "{\"Pod\":{\"metadata\":{}},\"NodeNames\":[\"n1\",\"n2\",\"n3\"]}"},
    {VERB_PRIORITIZE,
        "{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"},\"status\":{"
        "\"allocatable\":{\"cpu\":\"2\"}}}]}}"},
    {VERB_PREEMPT,
        "{\"Pod\":{},\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{"
        "\"UID\":\"a\"}],\"NumPDBViolations\":1},\"n\\u0032\":{\"Pods\":[{\"UID\":\"b\"}]}}}"},
    {VERB_PREEMPT,
        "{\"Pod\":{},\"NodeNameToVictims\":{\"n1\":{\"Pods\":[{\"metadata\":{\"uid\":\"a\"}}]}}}"},
    {VERB_BIND,
        "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n\\u0031\"}"},
};

static void test_truncated_bodies_are_errors(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(requests); i++) {
        Str whole = str_from_c(requests[i].body);

        assert_int_equal(ask(*state, requests[i].verb, whole, NULL), 200);
        for (size_t len = 0; len < whole.len; len++)
            assert_int_equal(ask(*state, requests[i].verb, str_take(whole, len), NULL), 400);
    }
}

/* Replaces each byte by bytes that have a meaning in JSON or UTF-8. */
static void test_any_changed_byte_gets_a_complete_reply(void **state) {
    static const char bytes[] = "\0\x01\n\"\\{}[],:0-.enu \x7f\x80\xc3\xf0\xff";

    for (size_t i = 0; i < ELEMENTS_OF(requests); i++) {
        char text[512];
        size_t len = strlen(requests[i].body);

        assert_true(len < sizeof(text));
        for (size_t at = 0; at < len; at++) {
            memcpy(text, requests[i].body, len);
            for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
                unsigned status;

                text[at] = bytes[k];
                status = ask(*state, requests[i].verb, str_of(text, len), NULL);
                assert_true(status == 200 || status == 400);
            }
        }
    }
}

static void test_invalid_text_is_an_error_with_its_place(void **state) {
    static const struct {
        const char *name;
        Str body;
    } cases[] = {
        {"NUL in a name", STR("{\"Pod\":{},\"NodeNames\":[\"n\0\"]}")},
        {"NUL in the pod", STR("{\"Pod\":{\"metadata\":{\"name\":\"p\0\"}},\"NodeNames\":[]}")},
        {"NUL behind", STR("{\"Pod\":{},\"NodeNames\":[]}\0")},
        {"NUL in white space", STR("{\"Pod\":{},\0\"NodeNames\":[]}")},
        {"NUL in a node's name",
            STR("{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n\0\"}}]}}")},
        {"a lone byte", STR("{\"Pod\":{},\"NodeNames\":[\"n\x80\"]}")},
        {"overlong", STR("{\"Pod\":{},\"NodeNames\":[\"n\xc0\xaf\"]}")},
        {"a surrogate", STR("{\"Pod\":{},\"NodeNames\":[\"\xed\xa0\x80\"]}")},
        {"cut short", STR("{\"Pod\":{},\"NodeNames\":[\"\xe2\x82\"]}")},
        {"half an escaped pair", STR("{\"Pod\":{},\"NodeNames\":[\"\\ud800\"]}")},
        {"in a label", STR("{\"Pod\":{\"metadata\":{\"labels\":{\"a\":\"\xff\"}}}}")},
        {"in an unread field of the pod", STR("{\"Pod\":{\"x\":\"\xff\"}}")},
        {"in an unknown key", STR("{\"\xff\":1,\"Pod\":{}}")},
        {"in a node's name",
            STR("{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"\xff\"}}]}}")},
        {"in an amount that the rules read",
            STR("{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n\"},"
                "\"status\":{\"allocatable\":{\"cpu\":\"\xff\"}}}]}}")},
        {"a byte order mark", STR("\xef\xbb\xbf{\"Pod\":{},\"NodeNames\":[]}")},
    };
    Str text;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_case(cases[i].name, ask(*state, VERB_FILTER, cases[i].body, &text) == 400);
        assert_case(cases[i].name, str_has_prefix(text, STR("{\"Error\":\"byte ")));
        assert_case(cases[i].name, ask(*state, VERB_PRIORITIZE, cases[i].body, NULL) == 400);
    }
}

/* --- size -------------------------------------------------------------------------- */

static void append_whole_node(Buf *body, char letter, size_t name_len) {
    buf_append(body, STR("{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\""));
    buf_append_repeat(body, letter, name_len);
    buf_append(body, STR("\"},\"status\":{\"allocatable\":{\"cpu\":\"2\"}}}]}}"));
}

/* Names far longer than Kubernetes allows, in both node modes. */
static void test_names_of_any_length_are_copied(void **state) {
    static const size_t lengths[] = {253, 254, 65535, 65536, 200000};
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)4 << 20);
    Str text;

    for (size_t i = 0; i < ELEMENTS_OF(lengths); i++) {
        buf_reset(&body);
        append_whole_node(&body, 'n', lengths[i]);
        assert_int_equal(ask(*state, VERB_FILTER, buf_str(&body), &text), 200);
        assert_true(text.len > 2 * lengths[i]); /* as failed, and as unresolvable */
        assert_int_equal(ask(*state, VERB_PRIORITIZE, buf_str(&body), &text), 200);
        assert_true(text.len > lengths[i]);

        buf_reset(&body);
        buf_append(&body, STR("{\"Pod\":{},\"NodeNames\":[\"n1\",\""));
        buf_append_repeat(&body, 'n', lengths[i]);
        buf_append(&body, STR("\"]}"));
        assert_int_equal(ask(*state, VERB_FILTER, buf_str(&body), &text), 200);
        assert_true(text.len > lengths[i]);
        assert_int_equal(ask(*state, VERB_PRIORITIZE, buf_str(&body), NULL), 200);
    }
}

/* Offsets in a request have 32 bits: a longer body is rejected unread. */
static void test_bodies_over_4_gib_are_rejected(void **state) {
    Fixture *fixture = *state;
    Str body = {.ptr = "", .len = WIRE_BODY_MAX + 1};

    for (Verb verb = VERB_FILTER; verb <= VERB_PRIORITIZE; verb++) {
        Answer answer;

        ask_in(fixture, verb, body, fixture->arena, &answer);
        assert_int_equal(answer.status, 400);
        assert_text("error", answer.decision.error, "the request is larger than 4 GiB");
    }
}

static void test_many_unknown_names(void **state) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)4 << 20);
    FilterReply reply;
    Fixture *fixture = *state;
    Str text;

    buf_append(&body, STR("{\"Pod\":{},\"NodeNames\":["));
    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&body, "%s\"%s%u\"", i ? "," : "", i % 2 ? "n" : "unknown-", i);
    buf_append(&body, STR("]}"));
    assert_int_equal(ask(fixture, VERB_FILTER, buf_str(&body), &text), 200);
    assert_true(reply_filter(text, fixture->reading, &reply));
    assert_int_equal(reply.passed.n, 1); /* n1 */
    assert_int_equal(reply.failed.n, 19999);
}

/* --- memory ------------------------------------------------------------------------ */

/* After an error there is no decision, even if a part was computed before. A bind that happened is
 * still recorded. */
static void assert_undecided(Verb verb, const Decision *decision) {
    assert_true(decision->error.len > 0);
    assert_true(decision->summary.n_out == 0 || verb == VERB_BIND);
    assert_int_equal(decision->summary.n_unknown, 0);
    assert_null(decision->args);
    assert_null(decision->verdicts);
    assert_null(decision->scores);
    assert_null(decision->narrowed);
    assert_null(decision->rejected);
    assert_null(decision->observed);
    assert_null(decision->notes.filter_errors);
}

/* The reply is complete, an error, or an empty body with status 500. */
static void test_reply_is_complete_with_any_memory_budget(void **state) {
    Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(requests); i++) {
        Verb verb = requests[i].verb;
        Str whole, error;
        size_t enough = 0;

        assert_int_equal(ask(fixture, verb, str_from_c(requests[i].body), &whole), 200);
        for (size_t budget = 0; budget < 65536; budget += budget < 2048 ? 16 : 256) {
            _cleanup_(arena_freep) Arena *arena = arena_new(budget);
            Answer answer;
            Str text;

            ask_in(fixture, verb, str_from_c(requests[i].body), arena, &answer);
            text = reply_text(&answer.body, fixture->reading);
            if (str_eq(text, whole)) {
                enough = enough ? enough : budget;
                assert_int_equal(answer.status, 200);
            } else if (text.len == 0) {
                assert_int_equal(answer.status, 500);
                assert_undecided(verb, &answer.decision);
            } else {
                assert_true(answer.status == 200 || answer.status == 500);
                assert_true(reply_error(text, fixture->reading, &error));
                assert_true(error.len > 0);
                assert_undecided(verb, &answer.decision);
            }
        }
        assert_true(enough > 0);
    }
}

/* Memory may run out while a long name is written. */
static void test_reply_with_long_name_is_complete_with_any_memory_budget(void **state) {
    Fixture *fixture = *state;
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1 << 20);

    append_whole_node(&body, 'N', 3000); /* uppercase: not a valid name in Kubernetes */
    for (Verb verb = VERB_FILTER; verb <= VERB_PRIORITIZE; verb++) {
        for (size_t budget = 2048; budget < 40000; budget += 64) {
            _cleanup_(arena_freep) Arena *arena = arena_new(budget);
            Answer answer;
            Str text, error;

            arena_reset(fixture->reading);
            ask_in(fixture, verb, buf_str(&body), arena, &answer);
            text = reply_text(&answer.body, fixture->reading);
            if (text.len > 0)
                assert_true((answer.status == 200 && is_reply(verb, text, fixture->reading)) ||
                            reply_error(text, fixture->reading, &error));
            else
                assert_int_equal(answer.status, 500);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_deep_nesting_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_deep_nesting_in_unread_node_fields_is_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncated_bodies_are_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_any_changed_byte_gets_a_complete_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_invalid_text_is_an_error_with_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_of_any_length_are_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bodies_over_4_gib_are_rejected, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_unknown_names, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_reply_is_complete_with_any_memory_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_reply_with_long_name_is_complete_with_any_memory_budget, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
