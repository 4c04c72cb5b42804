/*
 * Requests and their exact replies: the files NAME.test in test/data/wire, one YAML document per
 * case.
 *
 * A case is a scene (policy/test-scene.h; without nodes berth has no cluster) and
 *
 *     case: what it tests
 *     verb: filter, prioritize, preempt or bind
 *     body: '{"Pod":...}'
 *     status: 400                    # default: 200
 *     reply: '{"NodeNames":...}'     # every byte
 *     error: text                    # bind: the error of the Binding
 *     dryRun: true                   # filter: extender_filter_dry_run()
 *     decision: {in: 3, out: 1, unknown: 1, rejected: {pool: 1}, observed: {up: 2}}
 */

#include <stdio.h>

#include "base/test-assert.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

typedef struct Case {
    TestScene scene;
    const YamlNode *document;
    const char *name;
    View *view;
    Arena *arena;
    Answer answer;
} Case;

static Verb verb_of(const YamlNode *word) {
    Verb verb = _VERB_MAX;

    scene_require(
        word && verb_parse(word->text, &verb), word ? word->place : (Place){0}, "no such verb");
    return verb;
}

static void case_init(Case *test, const YamlNode *document) {
    static const Str keys[] = {STR("case"), STR("verb"), STR("body"), STR("status"), STR("reply"),
        STR("error"), STR("dryRun"), STR("decision")};
    const YamlNode *name = yaml_find(document, STR("case"));

    scene_require(name != NULL, document->place, "a case needs a name");
    scene_require(yaml_find(document, STR("body")), document->place, "a case needs a body");
    scene_require(yaml_find(document, STR("reply")), document->place, "a case needs a reply");
    *test = (Case){.document = document, .arena = arena_new((size_t)16 << 20)};
    scene_init(&test->scene, document, keys, ELEMENTS_OF(keys));
    test->name = arena_copy(test->scene.arena, name->text).ptr;
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = test->scene.snapshot, .program = test->scene.program},
            /* before= */ NULL, &test->view),
        0);
}

static void case_done(Case *test) {
    test->view = view_unref(test->view);
    test->arena = arena_free(test->arena);
    scene_done(&test->scene);
}

static void ask(Case *test) {
    Str body = yaml_find(test->document, STR("body"))->text;
    const YamlNode *error = yaml_find(test->document, STR("error"));

    if (yaml_find(test->document, STR("dryRun"))) {
        extender_filter_dry_run(test->view, /* time= */ NULL, body, test->arena, &test->answer);
        return;
    }
    reply_ask(test->view, verb_of(yaml_find(test->document, STR("verb"))), body,
        error ? error->text : STR_NULL, test->arena, &test->answer);
}

static void check_reply(const Case *test) {
    const YamlNode *status = yaml_find(test->document, STR("status"));
    const YamlNode *wanted = yaml_find(test->document, STR("reply"));
    Str want = arena_copy(test->scene.arena, wanted->text);

    assert_int_equal(rope_error(&test->answer.body), 0);
    assert_text(test->name, reply_text(&test->answer.body, test->arena), want.ptr);
    assert_case(test->name, test->answer.status == (status ? (unsigned)status->integer : 200));
}

static size_t count_of(const YamlNode *decision, Str key, size_t otherwise) {
    const YamlNode *value = yaml_find(decision, key);

    return value ? (size_t)value->integer : otherwise;
}

/* @counts by number of the filter equal @wanted, {rule: count}; other rules count 0. */
static void check_counts(const Case *test, const YamlNode *wanted, const uint32_t *counts) {
    const Program *program = test->scene.program;

    assert_case(test->name, counts || !wanted);
    for (size_t i = 0; counts && i < program->n_filters; i++)
        assert_case(test->name, counts[i] == count_of(wanted, program->filters[i]->name, 0));
}

static void check_decision(const Case *test) {
    const YamlNode *wanted = yaml_find(test->document, STR("decision"));
    const Decision *got = &test->answer.decision;

    if (!wanted)
        return;
    assert_case(test->name, got->summary.n_in == count_of(wanted, STR("in"), got->summary.n_in));
    assert_case(test->name, got->summary.n_out == count_of(wanted, STR("out"), got->summary.n_out));
    assert_case(test->name, got->summary.n_unknown == count_of(wanted, STR("unknown"), 0));
    check_counts(test, yaml_find(wanted, STR("rejected")), got->rejected);
    check_counts(test, yaml_find(wanted, STR("observed")), got->observed);
}

static void check_file(const char *path, void *user) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    YamlStream stream = scene_parse(path, scene_read(path, arena), arena);

    for (size_t i = 0; i < stream.n_documents; i++) {
        Case test;

        case_init(&test, stream.documents[i]);
        for (int turn = 0; turn < 2; turn++) { /* then the view knows the order */
            arena_reset(test.arena);
            ask(&test);
            check_reply(&test);
            check_decision(&test);
        }
        case_done(&test);
        ++*(size_t *)user;
    }
}

static void test_replies_are_exact(void **state) {
    size_t n_cases = 0;

    (void)state;
    assert_true(scene_each(TEST_DATA "/wire", ".test", check_file, &n_cases) > 0);
    assert_true(n_cases > 0);
    print_message("%zu cases\n", n_cases);
}

static void test_verb_names_can_be_parsed(void **state) {
    Verb verb;

    (void)state;
    for (Verb each = 0; each < _VERB_MAX; each++) {
        assert_true(verb_parse(str_from_c(verb_name(each)), &verb));
        assert_int_equal(verb, each);
    }
    assert_false(verb_parse(STR("filters"), &verb));
    assert_false(verb_parse(STR(""), &verb));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_are_exact),
        cmocka_unit_test(test_verb_names_can_be_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
