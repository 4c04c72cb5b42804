/* AdmissionReviews: objects that are denied, with their messages, and objects always allowed. */

#include "live/admission-review.h"

#include "base/test-assert.h"
#include "input/policies.h"

#define GOOD "{\"filters\":[{\"name\":\"r\",\"nodeReady\":true}]}"
#define BAD "{\"filters\":[{\"name\":\"r\",\"nodeRedy\":true}]}"
#define MISTAKE                                                                                    \
    "spec.filters[0].nodeRedy: unknown field \\\"nodeRedy\\\" in a filter; did you mean "          \
    "\\\"nodeReady\\\"?"

#define RESOURCE                                                                                   \
    "\"resource\":{\"group\":\"berth.dev\",\"version\":\"v1alpha1\",\"resource\":"                 \
    "\"placementpolicies\"}"
#define OBJECT(spec) "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":" spec "}"
#define REVIEW(request)                                                                            \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"   \
    "\"7\"," request "}}"
#define CREATE(object)                                                                             \
    REVIEW(RESOURCE                                                                                \
        ",\"operation\":\"CREATE\",\"dryRun\":true,\"oldObject\":null,\"object\":" object)
#define UPDATE(old, object)                                                                        \
    REVIEW(RESOURCE ",\"operation\":\"UPDATE\",\"oldObject\":" old ",\"object\":" object)

#define ANSWER(rest)                                                                               \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":"  \
    "\"7\",\"allowed\":" rest "}}"
#define ALLOWED ANSWER("true")
#define DENIED(message)                                                                            \
    ANSWER("false,\"status\":{\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,"         \
           "\"message\":\"" message "\"}")

typedef struct Fixture {
    PolicyObjects *objects;
    ClusterPolicies *policies;
    Arena *arena;
} Fixture;

/* With a policy "of-file" from a file. */
static int open_fixture(void **state) {
    static Fixture fixture;
    const PolicySource file = {.file = STR("f.yaml"),
        .text = STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
                    "metadata: {name: of-file}\nspec: {filters: [{name: r, nodeReady: true}]}\n")};
    _cleanup_(program_unrefp) Program *of_files = NULL;
    const PolicySource *sources;
    DiagList diags;
    bool is_new;
    size_t n;

    fixture = (Fixture){.objects = policy_objects_new(), .arena = arena_new(1 << 26)};
    fixture.policies = cluster_policies_new(fixture.objects);
    diags = DIAG_LIST_IN(fixture.arena);
    *state = &fixture;
    policy_objects_begin(fixture.objects);
    assert_int_equal(policy_objects_end(fixture.objects), 0);
    assert_int_equal(policies_compile(&file, 1, &diags, &of_files), 0);
    return cluster_policies_choose(
        fixture.policies, of_files, &file, 1, fixture.arena, &sources, &n, &is_new);
}

static int close_fixture(void **state) {
    Fixture *fixture = *state;

    cluster_policies_free(fixture->policies);
    policy_objects_free(fixture->objects);
    arena_free(fixture->arena);
    return 0;
}

static void assert_answer(Fixture *fixture, Str review, const char *expected) {
    _cleanup_(buf_done) Buf out = BUF_INIT(ADMISSION_REPLY_MAX);
    char error[ADMISSION_ERROR_MAX] = "";
    bool is_allowed = false;

    assert_int_equal(admission_review_answer(
                         fixture->policies, review, fixture->arena, &out, &is_allowed, error),
        0);
    assert_text("answer", buf_str(&out), expected);
    assert_int_equal(is_allowed, strstr(expected, "\"allowed\":true") != NULL);
}

static void test_denies_what_check_calls_an_error(void **state) {
    assert_answer(*state, STR(CREATE(OBJECT(GOOD))), ALLOWED);
    assert_answer(*state, STR(CREATE(OBJECT(BAD))), DENIED(MISTAKE));
    assert_answer(*state, STR(UPDATE(OBJECT(GOOD), OBJECT(BAD))), DENIED(MISTAKE));
    assert_answer(*state, STR(UPDATE(OBJECT(BAD), OBJECT(GOOD))), ALLOWED);
}

static void test_passes_on_warnings(void **state) {
    assert_answer(*state,
        STR(CREATE(OBJECT("{\"params\":{\"p\":1,\"q\":2},\"filters\":[{\"name\":\"r\","
                          "\"nodeReady\":true}]}"))),
        ANSWER("true,\"warnings\":[\"spec.params.p: no expression uses the parameter "
               "\\\"p\\\"\",\"spec.params.q: no expression uses the parameter \\\"q\\\"\"]"));
}

static void test_name_of_a_policy_file_is_taken(void **state) {
    assert_answer(*state, STR(CREATE("{\"metadata\":{\"name\":\"of-file\"},\"spec\":" GOOD "}")),
        DENIED("a policy file has a policy of this name, f.yaml:3; rename one of them"));
}

/* A stored object can always be deleted, and its labels and finalizers edited. */
static void test_allows_what_does_not_change_the_spec(void **state) {
    static const Str reviews[] = {
        STR(UPDATE(OBJECT(BAD),
            "{\"metadata\":{\"name\":\"a\",\"labels\":{\"b\":\"c\"}},\"spec\":" BAD "}")),
        STR(UPDATE(OBJECT(GOOD),
            "{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
            "\"spec\":" BAD "}")),
        STR(REVIEW(
            RESOURCE ",\"operation\":\"DELETE\",\"object\":null,\"oldObject\":" OBJECT(BAD))),
        STR(REVIEW(
            RESOURCE ",\"operation\":\"UPDATE\",\"subResource\":\"status\",\"oldObject\":" OBJECT(
                GOOD) ",\"object\":" OBJECT(BAD))),
        STR(REVIEW("\"resource\":{\"group\":\"other.example.com\",\"resource\":"
                   "\"placementpolicies\"},\"operation\":\"CREATE\",\"object\":" OBJECT(BAD))),
    };

    for (size_t i = 0; i < ELEMENTS_OF(reviews); i++)
        assert_answer(*state, reviews[i], ALLOWED);
}

static void test_refuses_what_is_not_a_review(void **state) {
    static const Str bodies[] = {
        STR(""),
        STR("{}"),
        STR("[]"),
        STR("{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}"),
        STR("{\"apiVersion\":\"admission.k8s.io/"
            "v1beta1\",\"kind\":\"AdmissionReview\",\"request\":{"
            "\"uid\":\"7\"}}"),
        STR(CREATE("null")),
        STR(CREATE("{\"spec\":" GOOD "}")),
        STR(CREATE(OBJECT(GOOD)) "x"),
        STR(REVIEW(RESOURCE ",\"operation\":\"UPDATE\",\"object\":" OBJECT(GOOD))),
    };
    Fixture *fixture = *state;

    for (size_t i = 0; i < ELEMENTS_OF(bodies); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(ADMISSION_REPLY_MAX);
        char error[ADMISSION_ERROR_MAX] = "";
        bool is_allowed = false;

        assert_case(
            bodies[i].ptr, admission_review_answer(fixture->policies, bodies[i], fixture->arena,
                               &out, &is_allowed, error) == ADMISSION_E_MALFORMED);
        assert_false(is_allowed);
        assert_true(error[0] != '\0' && out.len == 0);
    }
}

static void test_text_has_a_limit(void **state) {
    _cleanup_(buf_done) Buf body = BUF_INIT(ADMISSION_BODY_MAX),
                            out = BUF_INIT(ADMISSION_REPLY_MAX);
    char error[ADMISSION_ERROR_MAX] = "";
    bool is_allowed = false;
    Fixture *fixture = *state;

    buf_append(&body, STR(REVIEW(RESOURCE ",\"operation\":\"CREATE\",\"object\":{\"metadata\":{"
                                          "\"name\":\"a\"},\"spec\":{\"params\":{\"p\":\"")));
    body.len -= 2;
    buf_append_repeat(&body, 'x', ADMISSION_SPEC_MAX);
    buf_append(&body, STR("\"}}}}}"));
    assert_int_equal(admission_review_answer(fixture->policies, buf_str(&body), fixture->arena,
                         &out, &is_allowed, error),
        ADMISSION_E_SIZE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denies_what_check_calls_an_error),
        cmocka_unit_test(test_passes_on_warnings),
        cmocka_unit_test(test_name_of_a_policy_file_is_taken),
        cmocka_unit_test(test_allows_what_does_not_change_the_spec),
        cmocka_unit_test(test_refuses_what_is_not_a_review),
        cmocka_unit_test(test_text_has_a_limit),
    };

    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
