#include "model/related.h"

#include "model/test-decode.h"

static const char whole[] =
    "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team-a\",\"labels\":{\"tier\":\"gold\","
    "\"a\":\"b\"},\"annotations\":{\"note\":\"x\\ty\"},\"uid\":\"u\"},\"spec\":{\"finalizers\":["
    "\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}";

static JsonError decode(Str text, Arena *arena) {
    JsonReader reader;
    Namespace namespace;

    json_reader_init(&reader, text);
    namespace_decode(&reader, arena, &namespace);
    json_end(&reader);
    return json_error(&reader);
}

static void test_reads_labels_and_annotations(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    JsonReader reader;
    Namespace namespace;

    (void)state;
    json_reader_init(&reader, STR(whole));
    namespace_decode(&reader, arena, &namespace);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_text("name", namespace.name, "team-a");
    assert_int_equal(namespace.labels.n, 2);
    assert_text("tier", *labels_find(&namespace.labels, STR("tier")), "gold");
    assert_text("note", *labels_find(&namespace.annotations, STR("note")), "x\ty");
}

static void test_cuts_and_budgets(void **state) {
    (void)state;
    check_every_cut(STR(whole), decode);
    check_every_budget(STR(whole), decode);
}

/* A recorded pod carries its namespace; another pod has none. */
static void test_related_of_a_pod(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Pod pod;

    (void)state;
    assert_int_equal(decode_pod(STR("{\"metadata\":{\"name\":\"p\"}}"), arena, &pod), JSON_OK);
    assert_null(pod.related);
    assert_int_equal(
        decode_pod(STR("{\"metadata\":{\"name\":\"p\"},\"" RELATED_KEY "\":{\"namespace\":{"
                       "\"metadata\":{\"name\":\"team-a\",\"labels\":{\"tier\":\"gold\"}}}}}"),
            arena, &pod),
        JSON_OK);
    assert_true(pod.related->knows_namespaces);
    assert_text("tier", *labels_find(&pod.related->namespace->labels, STR("tier")), "gold");
    assert_int_equal(decode_pod(STR("{\"" RELATED_KEY "\":{}}"), arena, &pod), JSON_OK);
    assert_false(pod.related->knows_namespaces);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_labels_and_annotations),
        cmocka_unit_test(test_cuts_and_budgets),
        cmocka_unit_test(test_related_of_a_pod),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
