/* The result of a Binding for each possible answer. */

#include "kube/binding.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

static int64_t now;

int64_t clock_monotonic_nsec(void) {
    return now;
}

typedef struct Result {
    int n_done;
    BindingOutcome outcome;
    char error[BINDING_ERROR_MAX];
} Result;

static void on_done(void *context, BindingOutcome outcome, const char *error) {
    Result *result = context;

    result->n_done++;
    result->outcome = outcome;
    assert_true((outcome == BINDING_BOUND) == (error == NULL));
    (void)snprintf(result->error, sizeof(result->error), "%s", error ? error : "");
}

static BindingOptions options_for(Client *client, Result *result) {
    return (BindingOptions){
        .client = client,
        .deadline_nsec = now + 10 * NSEC_PER_SEC,
        .namespace = STR("shop"),
        .name = STR("web-1"),
        .uid = STR("u-1"),
        .node = STR("n1"),
        .context = result,
        .done = on_done,
    };
}

#define POD(uid, node)                                                                             \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\",\"uid\":\"" uid                            \
    "\"},\"spec\":{\"nodeName\":\"" node "\",\"containers\":[]},\"status\":{}}"
#define STATUS(message) "{\"kind\":\"Status\",\"message\":\"" message "\"}"

/* The end of a call: an outcome, and for CALL_DONE status and body. Status 0 ends the list. */
typedef struct Reply {
    CallOutcome outcome;
    unsigned status;
    const char *body;
} Reply;

#define ANSWERED(status, body)                                                                     \
    { CALL_DONE, status, body }
#define ENDED(outcome)                                                                             \
    { outcome, 1, NULL }

typedef struct Case {
    const char *name;
    Reply replies[6]; /* of the POST, then of GETs; after the list there is no answer */
    BindingOutcome want;
    const char *error; /* part of the error */
} Case;

static const Case cases[] = {
    {"bound", {ANSWERED(201, "{}")}, BINDING_BOUND, ""},

    {"gone", {ANSWERED(404, STATUS("pods \\\"web-1\\\" not found"))}, BINDING_FAILED,
        "the pod is gone: HTTP 404: pods \"web-1\" not found"},
    {"no rights", {ANSWERED(403, STATUS("no"))}, BINDING_FAILED,
        "HTTP 403: no (needs the right create on pods/binding)"},
    {"wrong", {ANSWERED(422, STATUS("name must be web"))}, BINDING_FAILED,
        "HTTP 422: name must be web"},
    {"too many requests", {ANSWERED(429, "")}, BINDING_FAILED, "HTTP 429"},
    {"no connection", {ENDED(CALL_REFUSED)}, BINDING_FAILED, "as the test wants it"},
    {"no credentials", {ENDED(CALL_UNAUTHORIZED)}, BINDING_FAILED, "as the test wants it"},

    {"conflict: bound there before", {ANSWERED(409, STATUS("x")), ANSWERED(200, POD("u-1", "n1"))},
        BINDING_BOUND, ""},
    {"conflict: bound elsewhere", {ANSWERED(409, STATUS("x")), ANSWERED(200, POD("u-1", "n2"))},
        BINDING_FAILED, "the pod is on node n2 already"},
    {"conflict: another pod", {ANSWERED(409, STATUS("x")), ANSWERED(200, POD("u-2", "n1"))},
        BINDING_FAILED, "the pod was recreated"},
    {"conflict: not bound",
        {ANSWERED(409, STATUS("is being deleted")), ANSWERED(200, POD("u-1", ""))}, BINDING_FAILED,
        "the pod was not bound: HTTP 409: is being deleted"},
    {"conflict: gone since", {ANSWERED(409, STATUS("x")), ANSWERED(404, "")}, BINDING_FAILED,
        "the pod is gone"},
    {"conflict: an API server that has just started",
        {ANSWERED(409, STATUS("x")), ANSWERED(403, ""), ANSWERED(200, POD("u-1", "n1"))},
        BINDING_BOUND, ""},
    {"conflict: what is read is no pod", {ANSWERED(409, STATUS("x")), ANSWERED(200, "<html>")},
        BINDING_UNKNOWN, "no pod"},
    {"conflict: a pod without a UID", {ANSWERED(409, STATUS("x")), ANSWERED(200, "{}")},
        BINDING_UNKNOWN, "no pod"},

    {"never sent", {ENDED(CALL_REFUSED)}, BINDING_FAILED, "the pod was not bound"},
    {"broken: bound", {ENDED(CALL_BROKEN), ANSWERED(200, POD("u-1", "n1"))}, BINDING_BOUND, ""},
    {"broken: not bound", {ENDED(CALL_BROKEN), ANSWERED(200, POD("u-1", ""))}, BINDING_UNKNOWN,
        "the pod has no node"},
    {"no answer: bound", {ENDED(CALL_TIMEOUT), ANSWERED(200, POD("u-1", "n1"))}, BINDING_BOUND, ""},
    {"too large an answer: bound", {ENDED(CALL_TOO_LARGE), ANSWERED(200, POD("u-1", "n1"))},
        BINDING_BOUND, ""},
    {"500: bound nevertheless", {ANSWERED(500, ""), ANSWERED(200, POD("u-1", "n1"))}, BINDING_BOUND,
        ""},
    {"504: not bound", {ANSWERED(504, STATUS("slow")), ANSWERED(200, POD("u-1", ""))},
        BINDING_UNKNOWN, "HTTP 504: slow"},
    {"200 without a Pod: not bound", {ANSWERED(200, "<html>"), ANSWERED(200, POD("u-1", ""))},
        BINDING_UNKNOWN, "HTTP 200"},

    {"the server comes back: bound",
        {ENDED(CALL_BROKEN), ENDED(CALL_REFUSED), ENDED(CALL_REFUSED), ANSWERED(503, ""),
            ANSWERED(200, POD("u-1", "n1"))},
        BINDING_BOUND, ""},
    {"the server does not come back", {ENDED(CALL_BROKEN), ENDED(CALL_REFUSED)}, BINDING_UNKNOWN,
        "it is not known whether the pod was bound: as the test wants it"},
    {"the API server never answers", {{CALL_DONE, 0, NULL}}, BINDING_UNKNOWN, "no answer"},
};

/* Answers call @n with @reply; after the end of the list refuses the connection, or for the POST
 * does not answer. */
static void answer(Client *client, size_t n, const Reply *reply) {
    if (reply->status != 0 && reply->outcome == CALL_DONE)
        fake_answer(client, n, reply->status, reply->body);
    else if (reply->status != 0)
        fake_done(client, n, reply->outcome);
    else if (n > 0)
        fake_done(client, n, CALL_REFUSED);
    (void)client_wait(client, 0);
}

/* Runs the binding until done(); returns the number of used replies. */
static size_t run(const Case *c, Client *client, Binding *binding, const Result *result) {
    size_t n = 0, n_used = 0;

    while (result->n_done == 0) {
        int64_t at;

        if (n < fake_n_calls(client)) {
            assert_case(c->name, strcmp(fake_call(client, n).method, n ? "GET" : "POST") == 0);
            answer(client, n++, &c->replies[n_used]);
            n_used += c->replies[n_used].status != 0;
            continue;
        }
        at = binding_tick(binding, now);
        if (n == fake_n_calls(client) && result->n_done == 0) {
            assert_case(c->name, at > now);
            now = at;
        }
    }
    return n_used;
}

static void test_each_answer_has_its_outcome(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Case *c = &cases[i];
        Client *client = client_new(NULL);
        Result result = {0};
        BindingOptions options = options_for(client, &result);
        Binding *binding = binding_new(&options);
        int64_t began = now;
        size_t n_used;

        assert_non_null(binding);
        n_used = run(c, client, binding, &result);
        assert_case(c->name, c->replies[n_used].status == 0);
        assert_case(c->name, now - began <= 10 * NSEC_PER_SEC);
        assert_case(c->name, result.n_done == 1 && result.outcome == c->want);
        if (!strstr(result.error, c->error))
            print_error("%s: %s\n", c->name, result.error);
        assert_case(c->name, strstr(result.error, c->error));
        binding_free(binding);
        client_free(client);
    }
}

/* --- requests ----------------------------------------------------------------------------- */

static void test_request_of_a_binding(void **state) {
    static const Label labels[] = {{STR("berth.dev/a"), STR("x\"y")}, {STR("b"), STR("")}};
    Client *client = client_new(NULL);
    Result result = {0};
    BindingOptions options = options_for(client, &result);
    Binding *binding;

    options.annotations = (Labels){.items = labels, .n = ELEMENTS_OF(labels)};
    binding = binding_new(&options);
    assert_non_null(binding);
    assert_string_equal(fake_call(client, 0).path, "/api/v1/namespaces/shop/pods/web-1/binding");
    assert_string_equal(fake_call(client, 0).content_type, "application/json");
    assert_int_equal(fake_call(client, 0).total_sec, BINDING_POST_SEC);
    assert_int_equal(fake_call(client, 0).bytes_max, BINDING_ANSWER_MAX);
    assert_string_equal(fake_call(client, 0).body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"web-1\","
        "\"namespace\":\"shop\",\"uid\":\"u-1\",\"annotations\":{\"berth.dev/a\":\"x\\\"y\","
        "\"b\":\"\"}},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}");
    fake_answer(client, 0, 409, "");
    (void)client_wait(client, 0);
    assert_string_equal(fake_call(client, 1).path, "/api/v1/namespaces/shop/pods/web-1");
    assert_string_equal(fake_call(client, 1).body, "");
    binding_free(binding);
    assert_true(fake_call(client, 1).is_cancelled);
    assert_int_equal(result.n_done, 0);
    client_free(client);
}

/* Names are escaped in the path and in the body. */
static void test_names_are_escaped(void **state) {
    Client *client = client_new(NULL);
    Result result = {0};
    BindingOptions options = options_for(client, &result);
    Binding *binding;

    options.namespace = STR("a/../b");
    options.name = STR("c?d\"");
    binding = binding_new(&options);
    assert_non_null(binding);
    assert_string_equal(
        fake_call(client, 0).path, "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd%22/binding");
    assert_non_null(strstr(fake_call(client, 0).body, "\"name\":\"c?d\\\"\""));
    binding_free(binding);
    client_free(client);
}

static void test_reading_is_retried_without_memory(void **state) {
    Client *client = client_new(NULL);
    Result result = {0};
    BindingOptions options = options_for(client, &result);
    Binding *binding;

    fake_refuse_next(client);
    assert_null(binding_new(&options));

    /* No memory for reading the pod, at first. */
    binding = binding_new(&options);
    assert_non_null(binding);
    fake_refuse_next(client);
    fake_done(client, 0, CALL_BROKEN);
    (void)client_wait(client, 0);
    assert_int_equal(fake_n_calls(client), 1);
    now = binding_tick(binding, now);
    (void)binding_tick(binding, now);
    assert_int_equal(fake_n_calls(client), 2);
    fake_answer(client, 1, 200, POD("u-1", "n1"));
    (void)client_wait(client, 0);
    assert_int_equal(result.n_done, 1);
    assert_int_equal(result.outcome, BINDING_BOUND);
    binding_free(binding);
    client_free(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_answer_has_its_outcome),
        cmocka_unit_test(test_request_of_a_binding),
        cmocka_unit_test(test_names_are_escaped),
        cmocka_unit_test(test_reading_is_retried_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
