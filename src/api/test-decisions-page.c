/* Pages of the decision history: /api/v1/decisions. */

#include "api/api-pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "history/test-decided.h"
#include "json/read.h"

/* More rules reject than are kept: nodes of the last rules are shown as rejected, without a wrong
 * rule. */
static void test_shows_no_rule_beyond_the_limit(void **state) {
    enum { RULES = 300 };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(BYTES_MAX), page = BUF_INIT(DECISIONS_PAGE_MAX);
    _cleanup_(buf_done) Buf names = BUF_INIT(BYTES_MAX);
    ViewFixture fixture;

    buf_append(&text, STR("policies:\n  p: {filters: ["));
    for (unsigned i = 0; i < RULES; i++)
        buf_printf(
            &text, "%s{name: r%u, nodeLabels: {not%u: {absent: true}}}", i ? ", " : "", i, i);
    buf_append(&text, STR("]}\nnodes:\n"));
    buf_append(&names, STR("\"NodeNames\":["));
    for (unsigned i = 0; i < RULES; i++) {
        buf_printf(&text, "  n%u: {labels: {not%u: x}}\n", i, i);
        buf_printf(&names, "%s\"n%u\"", i ? "," : "", i);
    }
    buf_append_char(&text, '\0');
    buf_append(&names, STR("]"));
    buf_append_char(&names, '\0');
    fixture_init(&fixture, text.data);
    note(decisions, fixture.view, VERB_FILTER, "a", names.data);
    for (unsigned i = 0; i < RULES; i++) {
        bool has_place = i < OUTCOMES_RULES_MAX;
        char want[128];

        (void)snprintf(want, sizeof(want), "[{\"node\":\"n%u\",\"outcome\":\"rejected\"%s%.0u", i,
            has_place ? ",\"policy\":\"p\",\"rule\":\"r" : "}]", has_place ? i : 0);
        buf_reset(&page);
        assert_int_equal(decisions_one_page(
                             decisions, STR("1"), arena_printf(arena, "node=n%u", i), arena, &page),
            200);
        buf_append_char(&page, '\0');
        assert_non_null(strstr(page.data, want));
    }
    fixture_done(&fixture);
}

/* Reads the id of the next decision. */
static int64_t read_id(JsonReader *reader) {
    int64_t id = 0;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (str_is(key, "id"))
            json_int64(reader, &id);
        else
            json_skip(reader, NULL);
    }
    return id;
}

/* Returns the ids of a list, such as "3 1", or its error. */
static Str ids_of(Str page, Arena *arena, int64_t *ret_next, int64_t *ret_untold) {
    _cleanup_(buf_done) Buf ids = BUF_INIT(4096);
    Str key, error = STR_NULL;
    JsonReader reader;

    *ret_next = *ret_untold = 0;
    json_reader_init(&reader, page);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (str_is(key, "Error")) {
            json_string(&reader, arena, &error);
        } else if (str_is(key, "next")) {
            json_int64(&reader, ret_next);
        } else if (str_is(key, "untold")) {
            json_int64(&reader, ret_untold);
        } else {
            json_array(&reader);
            while (json_element(&reader))
                buf_printf(&ids, "%s%d", ids.len ? " " : "", (int)read_id(&reader));
        }
    }
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    return arena_copy(arena, error.ptr ? error : buf_str(&ids));
}

static void fill_pages(Decisions *decisions, const View *view) {
    note(decisions, view, VERB_FILTER, "a", ALL_NAMES);                           /* 1 */
    note(decisions, view, VERB_PRIORITIZE, "a", "\"NodeNames\":[\"n1\",\"n2\"]"); /* 2 */
    note_bind(decisions, view, "a", "n1");                                        /* 3 */
    note(decisions, view, VERB_FILTER, "b", "\"NodeNames\":[\"n3\"]");            /* 4 */
    note(decisions, view, VERB_FILTER, "b", "\"NodeNames\":[\"n4\",\"n1\"]");     /* 5 */
    note(decisions, view, VERB_FILTER, "c", "\"NodeNames\":7");                   /* 6 */
}

static void test_list_is_filtered_by_query(void **state) {
    static const struct {
        const char *query, *want;
        int64_t next;
    } cases[] = {
        {"", "6 5 4 3 2 1", 0},
        {"&&", "6 5 4 3 2 1", 0},
        {"pod=a", "3 2 1", 0},
        {"pod=default/a", "3 2 1", 0},
        {"pod=default%2Fa", "3 2 1", 0},
        {"pod=other/a", "", 0},
        {"uid=uid-b", "5 4", 0},
        {"uid=uid", "", 0},
        {"verb=filter", "6 5 4 1", 0},
        {"verb=bind", "3", 0},
        {"node=n1", "5 3 2 1", 0},
        {"node=n3", "4 1", 0},
        {"node=ghost", "1", 0},
        {"node=nobody", "", 0},
        {"rule=zones/zone", "5 1", 0},
        {"rule=disk", "4 1", 0},
        {"rule=other/disk", "", 0},
        {"rule=zone&node=n4", "5 1", 0},
        {"rule=zone&node=n1", "", 0},
        {"outcome=passed", "5 3 1", 0},
        {"outcome=rejected", "5 4 1", 0},
        {"outcome=unknown", "1", 0},
        {"outcome=narrowed", "", 0},
        {"outcome=late", "", 0},
        {"outcome=scored", "2", 0},
        {"outcome=error", "6", 0},
        {"outcome=none-passed", "4", 0},
        {"outcome=passed&node=n1", "5 3 1", 0},
        {"outcome=rejected&node=n1", "", 0},
        {"outcome=rejected&node=n3", "4 1", 0},
        {"outcome=none-passed&node=n3", "4", 0},
        {"outcome=none-passed&node=n1", "", 0},
        {"outcome=not-asked&node=n3", "5 2", 0},
        {"outcome=scored&node=n2&verb=prioritize&pod=a", "2", 0},
        {"limit=2", "6 5", 5},
        {"limit=2&after=5", "4 3", 3},
        {"limit=2&after=3", "2 1", 0},
        {"limit=2&verb=filter", "6 5", 5},
        {"limit=2&verb=filter&after=5", "4 1", 0},
        {"after=1", "", 0},
        {"after=100", "6 5 4 3 2 1", 0},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    fill_pages(decisions, fixture.view);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        int64_t next, untold;

        assert_int_equal(
            decisions_list_page(decisions, NULL, str_from_c(cases[i].query), arena, &page), 200);
        assert_text(cases[i].query, ids_of(buf_str(&page), arena, &next, &untold), cases[i].want);
        assert_case(cases[i].query, next == cases[i].next);
        assert_int_equal(untold, 0);
    }
    fixture_done(&fixture);
}

static void test_invalid_queries(void **state) {
    static const struct {
        const char *query, *want;
    } cases[] = {
        {"pods=a",
            "berth: unknown parameter \"pods\": there are pod, uid, node, rule, outcome, verb, "
            "limit and after"},
        {"pod", "berth: \"pod\" needs a value"},
        {"pod=", "berth: \"pod\" needs a value"},
        {"pod=a&pod=b", "berth: \"pod\" is given twice"},
        {"pod=a/b/c", "berth: \"pod\" must be NAMESPACE/NAME, or NAME"},
        {"pod=/b", "berth: \"pod\" must be NAMESPACE/NAME, or NAME"},
        {"pod=b/", "berth: \"pod\" must be NAMESPACE/NAME, or NAME"},
        {"rule=a/b/c", "berth: \"rule\" must be POLICY/RULE, or RULE"},
        {"pod=%2", "berth: \"pod=%2\" has a broken escape: % must precede two hexadecimal digits"},
        {"pod=%zz",
            "berth: \"pod=%zz\" has a broken escape: % must precede two hexadecimal digits"},
        {"limit=0", "berth: \"limit\" must be a whole number from 1 to 1000"},
        {"limit=1001", "berth: \"limit\" must be a whole number from 1 to 1000"},
        {"limit=x", "berth: \"limit\" must be a whole number from 1 to 1000"},
        {"after=0", "berth: \"after\" must be a whole number from 1 to 9223372036854775807"},
        {"after=-1", "berth: \"after\" must be a whole number from 1 to 9223372036854775807"},
        {"verb=scan", "berth: \"verb\" must be filter, prioritize, preempt or bind"},
        {"outcome=good",
            "berth: \"outcome\" must be passed, rejected, unknown, narrowed, late, scored, "
            "not-asked, none-passed or error"},
        {"outcome=not-asked", "berth: \"outcome=not-asked\" needs \"node\""},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        int64_t next, untold;

        assert_int_equal(
            decisions_list_page(decisions, NULL, str_from_c(cases[i].query), arena, &page), 400);
        assert_text(cases[i].query, ids_of(buf_str(&page), arena, &next, &untold), cases[i].want);
    }
}

static void test_page_of_one_decision(void **state) {
    static const struct {
        const char *id, *query;
        unsigned status;
        const char *want; /* the end of the page */
    } cases[] = {
        {"4", "", 200,
            "\"rules\":[{\"policy\":\"zones\",\"rule\":\"disk\",\"reason\":\"slow "
            "disk\",\"unresolvable\":false,\"rejected\":1,\"observed\":0,\"failed\":0,\"missing\":"
            "0}],\"mainReason\":{\"text\":\"slow disk\",\"policy\":\"zones\",\"rule\":\"disk\","
            "\"reason\":\"slow disk\",\"unresolvable\":false,\"nodes\":1,\"never\":null},"
            "\"error\":\"\","
            "\"hasNodes\":true,\"nodes\":[{\"node\":\"n3\",\"outcome\":\"rejected\",\"policy\":"
            "\"zones\",\"rule\":\"disk\",\"reason\":\"slow "
            "disk\",\"unresolvable\":false}],\"next\":null}\n"},
        {"2", "", 200,
            "\"nodes\":[{\"node\":\"n1\",\"outcome\":\"scored\",\"score\":10},{\"node\":\"n2\","
            "\"outcome\":\"scored\",\"score\":0}],\"next\":null}\n"},
        {"1", "outcome=passed&limit=1", 200,
            "\"nodes\":[{\"node\":\"n1\",\"outcome\":\"passed\"}],"
            "\"next\":1}\n"},
        {"1", "outcome=passed&after=1", 200,
            "\"nodes\":[{\"node\":\"n2\",\"outcome\":\"passed\"}],"
            "\"next\":null}\n"},
        {"1", "outcome=unknown", 200,
            "\"nodes\":[{\"node\":\"ghost\",\"outcome\":\"unknown\"}],"
            "\"next\":null}\n"},
        {"1", "rule=none", 200, "\"nodes\":[],\"next\":null}\n"},
        {"1", "node=n2", 200,
            "\"nodes\":[{\"node\":\"n2\",\"outcome\":\"passed\"}],"
            "\"next\":null}\n"},
        {"1", "node=n2&outcome=rejected", 200, "\"nodes\":[],\"next\":null}\n"},
        {"1", "node=what", 200,
            "\"nodes\":[{\"node\":\"what\",\"outcome\":\"not-asked\"}],"
            "\"next\":null}\n"},
        {"3", "", 200,
            "\"counts\":{\"known\":4,\"asked\":1,\"passed\":1},\"rules\":[],\"target\":"
            "\"n1\",\"error\":\"\",\"hasNodes\":false,\"nodes\":[],\"next\":null}\n"},
        {"7", "", 404, "{\"Error\":\"berth: decision 7 is not kept: those from 1 to 6 are\"}\n"},
        {"0", "", 404, "{\"Error\":\"berth: the id of a decision is a whole number over 0\"}\n"},
        {"x", "", 404, "{\"Error\":\"berth: the id of a decision is a whole number over 0\"}\n"},
        {"1", "limit=10001", 400,
            "{\"Error\":\"berth: \\\"limit\\\" must be a whole number from 1 "
            "to 10000\"}\n"},
        {"1", "outcome=error", 400,
            "{\"Error\":\"berth: \\\"outcome\\\" of nodes must be passed, "
            "rejected, unknown, narrowed, late or scored\"}\n"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    fill_pages(decisions, fixture.view);
    assert_true(decisions_find_reasons(decisions, fixture.view, NULL));
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        unsigned status = decisions_one_page(
            decisions, str_from_c(cases[i].id), str_from_c(cases[i].query), arena, &page);
        size_t len = strlen(cases[i].want);

        assert_case(cases[i].query, status == cases[i].status);
        assert_text(cases[i].query, str_skip(buf_str(&page), page.len > len ? page.len - len : 0),
            cases[i].want);
    }
    fixture_done(&fixture);
}

/* For any node name the page is valid JSON and returns the name as sent. */
static void test_returns_any_node_name(void **state) {
    static const struct {
        const char *sent, *query, *want;
    } cases[] = {
        {"\"a\\\"b\"", "a%22b", "\"a\\\"b\""}, {"\"c\\\\d\"", "c%5Cd", "\"c\\\\d\""},
        {"\"<\\/script>\"", "%3C/script%3E", "\"</script>\""},
        {"\"\\u00e4 b\"", "%C3%A4+b", "\"\xC3\xA4 b\""},
        {"\"\\ud83d\\ude00\"", "%F0%9F%98%80", "\"\xF0\x9F\x98\x80\""},
        {"\"\\ud800x\"", "%EF%BF%BDx", NULL}, /* half a character: an error */
        {"\"\"", "%FF%00", NULL},             /* not UTF-8: an error */
    };
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, BYTES_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        JsonReader reader;

        note(decisions, fixture.view, VERB_FILTER, "a",
            arena_printf(arena, "\"NodeNames\":[\"n1\",%s]", cases[i].sent).ptr);
        assert_int_equal(decisions_one_page(decisions, STR("1"),
                             arena_printf(arena, "node=%s", cases[i].query), arena, &page),
            200);
        json_reader_init(&reader, buf_str(&page));
        json_skip(&reader, NULL);
        json_end(&reader);
        assert_int_equal(json_error(&reader), JSON_OK);
        buf_append_char(&page, '\0');
        if (cases[i].want)
            assert_case(cases[i].query,
                strstr(page.data,
                    arena_printf(arena, "[{\"node\":%s,\"outcome\":\"unknown\"}]", cases[i].want)
                        .ptr));
    }
    fixture_done(&fixture);
}

/* A dropped decision and one that never existed get different errors. */
static void test_dropped_decision_is_reported_as_dropped(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
    Decisions *decisions;
    int64_t next, untold;
    size_t one, fixed;
    ViewFixture fixture;

    fixture_init(&fixture, scene_text);
    fixed = fixed_bytes(&fixture, 20, &one);
    decisions = decisions_new(20, fixed + 6 * one);
    for (size_t i = 0; i < 10; i++)
        note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(decisions_list_page(decisions, NULL, STR("node=n1"), arena, &page), 200);
    (void)ids_of(buf_str(&page), arena, &next, &untold);
    assert_int_equal(untold, figures_of(decisions).n - figures_of(decisions).n_with_outcomes);
    assert_true(untold > 0);
    decisions_free(decisions);
    buf_reset(&page);
    assert_int_equal(decisions_list_page(NULL, NULL, STR_NULL, arena, &page), 404);
    fixture_done(&fixture);
}

/* The same cluster with other rules. */
static const char other_text[] =
    "policies:\n"
    "  later:\n"
    "    filters:\n"
    "      - {name: no-hdd, nodeLabels: {disk: ssd}, reason: spinning rust}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n3: {labels: {zone: b, disk: hdd}}\n"
    "  n9: {labels: {disk: hdd}}\n";

/* --- threads ------------------------------------------------------------------------------ */

typedef struct Shared {
    Decisions *decisions;
    const ViewFixture *stages;
    atomic_bool is_over;
} Shared;

static void *write_some(void *context) {
    Shared *shared = context;

    for (size_t i = 0; i < 400; i++) {
        const View *view = shared->stages[i / 50 % 2].view;

        note(shared->decisions, view, VERB_FILTER, "a", ALL_NAMES);
        note(shared->decisions, view, VERB_PRIORITIZE, "a", "\"NodeNames\":[\"n1\",\"n3\"]");
    }
    return NULL;
}

static void *read_some(void *context) {
    Shared *shared = context;

    while (!atomic_load(&shared->is_over)) {
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        char id[32];

        assert_int_equal(
            decisions_list_page(shared->decisions, NULL, STR("node=n3&limit=20"), arena, &page),
            200);
        buf_reset(&page);
        (void)snprintf(id, sizeof(id), "%zu", (size_t)figures_of(shared->decisions).oldest + 2);
        (void)decisions_one_page(shared->decisions, str_from_c(id), STR_NULL, arena, &page);
        assert_int_equal(buf_error(&page), 0);
    }
    return NULL;
}

static void test_lists_beside_new_decisions(void **state) {
    ViewFixture stages[2];
    Shared shared = {.stages = stages};
    pthread_t writers[3], readers[2];

    fixture_init(&stages[0], scene_text);
    fixture_init(&stages[1], other_text);
    shared.decisions = decisions_new(50, 32768);
    for (size_t i = 0; i < ELEMENTS_OF(writers); i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_some, &shared), 0);
    for (size_t i = 0; i < ELEMENTS_OF(readers); i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_some, &shared), 0);
    for (size_t i = 0; i < ELEMENTS_OF(writers); i++)
        assert_int_equal(pthread_join(writers[i], NULL), 0);
    atomic_store(&shared.is_over, true);
    for (size_t i = 0; i < ELEMENTS_OF(readers); i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(figures_of(shared.decisions).newest, 2400);
    decisions_free(shared.decisions);
    fixture_done(&stages[0]);
    fixture_done(&stages[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_is_filtered_by_query),
        cmocka_unit_test(test_invalid_queries),
        cmocka_unit_test(test_page_of_one_decision),
        cmocka_unit_test(test_shows_no_rule_beyond_the_limit),
        cmocka_unit_test(test_returns_any_node_name),
        cmocka_unit_test(test_dropped_decision_is_reported_as_dropped),
        cmocka_unit_test(test_lists_beside_new_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
