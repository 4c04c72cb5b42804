#include "serve/decisions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "policy/test-scene.h"
#include "serve/decisions-page.h"
#include "json/read.h"

#define ROOM ((size_t)16 * 1024 * 1024)
#define BUDGET ((size_t)64 * 1024 * 1024)

static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, nodeLabels: {zone: {in: [a, b]}}, reason: wrong zone, unresolvable: "
    "true}\n"
    "      - {name: disk, nodeLabels: {disk: ssd}, reason: slow disk}\n"
    "    scores:\n"
    "      - {name: near, nodeLabelPreference: {key: zone, values: {a: 100}, otherwise: 0}}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n2: {labels: {zone: b, disk: ssd}}\n"
    "  n3: {labels: {zone: b, disk: hdd}}\n"
    "  n4: {labels: {zone: c, disk: hdd}}\n";

/* The same cluster with other names for its rules. */
static const char other_text[] =
    "policies:\n"
    "  later:\n"
    "    filters:\n"
    "      - {name: no-hdd, nodeLabels: {disk: ssd}, reason: spinning rust}\n"
    "nodes:\n"
    "  n1: {labels: {zone: a, disk: ssd}}\n"
    "  n3: {labels: {zone: b, disk: hdd}}\n"
    "  n9: {labels: {disk: hdd}}\n";

typedef struct Stage {
    TestScene scene;
    View *view;
} Stage;

static void stage_init(Stage *stage, const char *text) {
    scene_init_text(&stage->scene, text);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = stage->scene.snapshot, .program = stage->scene.program},
            /* before= */ NULL,
            &stage->view),
        0);
}

static void stage_done(Stage *stage) {
    view_unref(stage->view);
    scene_done(&stage->scene);
}

/* Asks about pod default/@pod, with @rest behind it, and has the answer remembered. */
static void note(
    Decisions *decisions, const View *view, Verb verb, const char *pod, const char *rest) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Str body = arena_printf(arena,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"uid-%s\"}},%"
        "s}",
        pod,
        pod,
        rest);
    Answer answer;

    if (verb == VERB_FILTER)
        extender_filter(view, /* moment= */ NULL, body, arena, &answer);
    else if (verb == VERB_PREEMPT)
        extender_preempt(view, /* moment= */ NULL, body, arena, &answer);
    else
        extender_prioritize(view, /* moment= */ NULL, body, arena, &answer);
    decisions_note(decisions,
        view,
        verb,
        &answer.decision,
        (PastTimes){.at_nsec = INT64_C(1700000000123456789), .duration_nsec = 42000});
}

static void note_bind(Decisions *decisions, const View *view, const char *pod, const char *node) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    BindArgs args = {.pod_name = str_from_c(pod),
        .pod_namespace = STR("default"),
        .pod_uid = arena_printf(arena, "uid-%s", pod),
        .node = str_from_c(node)};
    Answer answer;

    extender_bind_reply(&args, STR_NULL, arena, &answer);
    decisions_note(decisions, view, VERB_BIND, &answer.decision, (PastTimes){.duration_nsec = -1});
}

static DecisionsFigures figures_of(Decisions *decisions) {
    DecisionsFigures figures;

    decisions_figures(decisions, &figures);
    return figures;
}

static size_t bytes_but_makings(Decisions *decisions) {
    DecisionsFigures figures = figures_of(decisions);

    return figures.bytes - figures.makings_bytes;
}

/* "NODE OUTCOME[:RULE][ SCORE]" of one node, in @text. */
static const char *look(
    Decisions *decisions, uint64_t id, const char *node, char text[static 128]) {
    FoundDecision found;
    Outcome outcome;

    (void)snprintf(text, 128, "gone");
    if (!decisions_find(decisions, id, &found))
        return text;
    if (found.outcomes) {
        outcome = outcomes_find(
            found.outcomes, decisions_number(decisions, found.outcomes, str_from_c(node)));
        (void)snprintf(text, 128, "%s", outcome_name(outcome.kind));
        if (outcome.kind == OUTCOME_REJECTED)
            (void)snprintf(text,
                128,
                "rejected by %.*s/%.*s: %.*s",
                STR_FMT(past_rule_of(found.past, outcome)->policy),
                STR_FMT(past_rule_of(found.past, outcome)->name),
                STR_FMT(past_rule_of(found.past, outcome)->reason));
        else if (outcome.has_score)
            (void)snprintf(text, 128, "%s %u", outcome_name(outcome.kind), outcome.score);
        if (outcome.rank)
            (void)snprintf(text, 128, "%s, rank %u", outcome_name(outcome.kind), outcome.rank);
    } else {
        (void)snprintf(text, 128, "headline");
    }
    found_done(&found);
    return text;
}

#define ALL_NAMES "\"NodeNames\":[\"n4\",\"n1\",\"n2\",\"n3\",\"gh\\u006fst\"]"

static void test_outcomes(void **state) {
    static const struct {
        uint64_t id;
        const char *node, *want;
    } cases[] = {
        {1, "n1", "passed"},
        {1, "n2", "passed"},
        {1, "n3", "rejected by zones/disk: slow disk"},
        {1, "n4", "rejected by zones/zone: wrong zone"},
        {1, "ghost", "unknown"},
        {1, "n5", "not-asked"},
        {1, "", "not-asked"},
        {2, "n1", "scored 10"},
        {2, "n2", "scored 0"},
        {2, "n3", "not-asked"},
        {3, "n1", "passed"}, /* Node objects, some of which the cluster does not know */
        {3, "stranger", "rejected by zones/zone: wrong zone"},
        {3, "n2", "not-asked"},
        {4, "n1", "headline"}, /* preempt */
        {5, "n1", "headline"}, /* bind */
        {6, "n1", "headline"}, /* malformed */
        {7, "n1", "gone"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    char text[128];
    Stage stage;

    stage_init(&stage, scene_text);
    note(decisions, stage.view, VERB_FILTER, "a", ALL_NAMES);
    note(decisions, stage.view, VERB_PRIORITIZE, "a", "\"NodeNames\":[\"n1\",\"n2\"]");
    note(decisions,
        stage.view,
        VERB_FILTER,
        "b",
        "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"stranger\"}},"
        "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"zone\":\"a\",\"disk\":\"ssd\"}}}]}");
    note(decisions,
        stage.view,
        VERB_PREEMPT,
        "a",
        "\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u\"}]}}");
    note_bind(decisions, stage.view, "a", "n1");
    note(decisions, stage.view, VERB_FILTER, "c", "\"NodeNames\":7");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(cases[i].node,
            str_from_c(look(decisions, cases[i].id, cases[i].node, text)),
            cases[i].want);
    assert_int_equal(figures_of(decisions).n, 6);
    assert_int_equal(figures_of(decisions).n_with_outcomes, 3);
    stage_done(&stage);
}

/* Verdicts that filter gives only with policies that narrow, or that are slow. */
static void test_narrowed_and_late(void **state) {
    static const uint16_t said[] = {VERDICT_NARROWED, VERDICT_PASS, VERDICT_LATE, 1};
    static const double narrowed[] = {12.5, 12.4, -1, -1};
    static const uint8_t scores[] = {3, 9, 0, 0};
    static const uint32_t rows[] = {0, 1, 2, 3}, rejected[] = {0, 1};
    static const uint32_t errors[] = {2, 0}, missing[] = {0, 3};
    static const struct {
        const char *node, *want;
    } cases[] = {
        {"n1", "narrowed, rank 2"},
        {"n2", "passed, rank 1"},
        {"n3", "late"},
        {"n4", "rejected by zones/disk: slow disk"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    FilterArgs args = {.has_names = true, .n = 4, .rows = rows};
    Decision decision = {.n_in = 4,
        .n_out = 1,
        .args = &args,
        .said = said,
        .scores = scores,
        .narrowed = narrowed,
        .notes = {.filter_errors = errors, .filter_missing = missing, .n_late = 3},
        .rejected = rejected};
    FoundDecision found;
    char text[128];
    Stage stage;

    stage_init(&stage, scene_text);
    args.sight.table = stage.view->table;
    decisions_note(decisions, stage.view, VERB_FILTER, &decision, (PastTimes){0});
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(
            cases[i].node, str_from_c(look(decisions, 1, cases[i].node, text)), cases[i].want);
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(found.past->n_narrowed, 1);
    assert_int_equal(found.past->n_late, 1);
    assert_int_equal(found.past->n_unjudged, 3);
    assert_int_equal(found.past->n_rules, 2);
    assert_int_equal(found.past->rules[0].failed, 2);
    assert_int_equal(found.past->rules[1].missing, 3);
    assert_int_equal(past_rejected(found.past), 1);
    found_done(&found);

    /* A rule that let nodes pass of which a metric is missing has spoken, too. */
    decision = (Decision){.n_in = 4, .n_out = 4, .notes = {.filter_missing = missing}};
    decisions_note(decisions, stage.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 2, &found));
    assert_int_equal(found.past->n_rules, 1);
    assert_int_equal(found.past->rules[0].missing, 3);
    found_done(&found);
    stage_done(&stage);
}

/* More rules spoke than have a place: nodes that the last of them reject are rejected, and
 * nobody else is blamed for it. */
static void test_many_rules(void **state) {
    enum { RULES = 300 };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT(ROOM), page = BUF_INIT(DECISIONS_PAGE_MAX);
    _cleanup_(buf_done) Buf names = BUF_INIT(ROOM);
    Stage stage;

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
    stage_init(&stage, text.data);
    note(decisions, stage.view, VERB_FILTER, "a", names.data);
    for (unsigned i = 0; i < RULES; i++) {
        bool has_place = i < OUTCOMES_RULES_MAX;
        char want[128];

        (void)snprintf(want,
            sizeof(want),
            "[{\"node\":\"n%u\",\"outcome\":\"rejected\"%s%.0u",
            i,
            has_place ? ",\"policy\":\"p\",\"rule\":\"r" : "}]",
            has_place ? i : 0);
        buf_reset(&page);
        assert_int_equal(decisions_one_page(
                             decisions, STR("1"), arena_printf(arena, "node=n%u", i), arena, &page),
            200);
        buf_append_char(&page, '\0');
        assert_non_null(strstr(page.data, want));
    }
    stage_done(&stage);
}

/* Ranks are those of the narrowing, whichever way they are asked for. */
static void test_ranks(void **state) {
    static const uint32_t rows[] = {3, 1, 0, 2};
    static const uint16_t said[] = {VERDICT_NARROWED, VERDICT_PASS, VERDICT_NARROWED, VERDICT_PASS};
    static const double narrowed[] = {50, 99, 49.9, 50};
    static const uint32_t want[] = {4, 1, 2, 3}; /* by row */
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    FilterArgs args = {.has_names = true, .rows = rows};
    Decision decision = {.args = &args, .said = said, .narrowed = narrowed};
    const uint32_t *ranks;
    FoundDecision found;
    Stage stage;

    stage_init(&stage, scene_text);
    args.sight.table = stage.view->table;
    args.n = decision.n_in = 4;
    decisions_note(decisions, stage.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(outcomes_ranks(found.outcomes, arena, &ranks), 0);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t number;

        (void)outcomes_at(found.outcomes, i, &number);
        assert_int_equal(ranks[i], want[number - 1]);
        assert_int_equal(outcomes_find(found.outcomes, number).rank, want[number - 1]);
    }
    found_done(&found);
    stage_done(&stage);
}

/* Names of rules outlive their policy, and rows that changed hands do not mislead. */
static void test_reload(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    char text[128];
    Stage before, after, again;

    stage_init(&before, scene_text);
    note(decisions, before.view, VERB_FILTER, "a", ALL_NAMES);
    stage_done(&before);
    stage_init(&after, other_text);
    note(decisions, after.view, VERB_FILTER, "a", "\"NodeNames\":[\"n3\",\"n9\",\"n1\"]");
    assert_string_equal(look(decisions, 1, "n4", text), "rejected by zones/zone: wrong zone");
    assert_string_equal(look(decisions, 1, "n9", text), "not-asked");
    assert_string_equal(look(decisions, 2, "n3", text), "rejected by later/no-hdd: spinning rust");
    assert_string_equal(look(decisions, 2, "n9", text), "rejected by later/no-hdd: spinning rust");
    assert_string_equal(look(decisions, 2, "n1", text), "passed");
    assert_string_equal(look(decisions, 2, "n2", text), "not-asked");
    stage_done(&after);
    /* The same text again is the same book. */
    stage_init(&again, other_text);
    {
        size_t bytes = bytes_but_makings(decisions), one;

        note(decisions, again.view, VERB_FILTER, "a", "\"NodeNames\":[]");
        one = bytes_but_makings(decisions) - bytes;
        note(decisions, again.view, VERB_FILTER, "a", "\"NodeNames\":[]");
        assert_int_equal(bytes_but_makings(decisions) - bytes, 2 * one);
    }
    stage_done(&again);
}

static void test_last_so_many(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(3, ROOM);
    FoundDecision found[8];
    char text[128];
    Stage stage;

    stage_init(&stage, scene_text);
    for (size_t i = 0; i < 5; i++)
        note(decisions, stage.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(figures_of(decisions).n, 3);
    assert_int_equal(figures_of(decisions).oldest, 3);
    assert_int_equal(figures_of(decisions).newest, 5);
    assert_int_equal(figures_of(decisions).n_outcomes_dropped, 0); /* their time was over */
    assert_string_equal(look(decisions, 2, "n1", text), "gone");
    assert_string_equal(look(decisions, 3, "n1", text), "passed");
    assert_int_equal(decisions_read(decisions, 0, found, 8), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(found[i].past->id, 5 - i);
        found_done(&found[i]);
    }
    assert_int_equal(decisions_read(decisions, 4, found, 8), 1);
    assert_int_equal(found[0].past->id, 3);
    found_done(&found[0]);
    assert_int_equal(decisions_read(decisions, 3, found, 8), 0);
    assert_int_equal(decisions_read(decisions, 1, found, 8), 0);
    stage_done(&stage);
}

/* Bytes of everything but the decisions: the ring, the book, the roll. */
static size_t fixed_bytes(const Stage *stage, size_t max, size_t *ret_one) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(max, ROOM);
    size_t first;

    note(decisions, stage->view, VERB_FILTER, "a", ALL_NAMES);
    first = figures_of(decisions).bytes;
    note(decisions, stage->view, VERB_FILTER, "a", ALL_NAMES);
    *ret_one = figures_of(decisions).bytes - first;
    return first - *ret_one;
}

static void test_ceiling(void **state) {
    char text[128];
    size_t one, fixed;
    Stage stage;

    stage_init(&stage, scene_text);
    fixed = fixed_bytes(&stage, 20, &one);
    for (size_t n_fit = 1; n_fit <= 6; n_fit++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(20, fixed + n_fit * one);

        for (uint64_t id = 1; id <= 30; id++) {
            note(decisions, stage.view, VERB_FILTER, "a", ALL_NAMES);
            assert_true(figures_of(decisions).bytes <= fixed + n_fit * one);
            assert_string_not_equal(look(decisions, id, "n1", text), "gone");
        }
        /* What became of nodes goes first, then headlines. */
        assert_true(figures_of(decisions).n_outcomes_dropped > 0);
        assert_true(figures_of(decisions).n >= n_fit);
        assert_true(figures_of(decisions).n_with_outcomes <= n_fit);
        assert_string_equal(look(decisions, 30, "n1", text), "passed");
        assert_true(figures_of(decisions).n < 20);
        assert_true(figures_of(decisions).n_dropped > 0);
    }
    stage_done(&stage);
}

/* Too little for anything: the newest headline stays, whatever it takes. */
static void test_tiny_ceiling(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(4, 1);
    char text[128];
    Stage stage;

    stage_init(&stage, scene_text);
    for (size_t i = 0; i < 9; i++)
        note(decisions, stage.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(figures_of(decisions).n, 1);
    assert_int_equal(figures_of(decisions).n_with_outcomes, 0);
    assert_string_equal(look(decisions, 9, "n1", text), "headline");
    stage_done(&stage);
}

/* Nodes that come and go for ever: names do not pile up. */
static void test_names_that_change(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, ROOM);
    _cleanup_(buf_done) Buf names = BUF_INIT(ROOM);
    char text[128];
    size_t most = 0;
    Stage stage;

    stage_init(&stage, scene_text);
    for (size_t round = 0; round < 60; round++) {
        buf_reset(&names);
        buf_append(&names, STR("\"NodeNames\":[\"n1\""));
        for (size_t i = 0; i < 1000; i++)
            buf_printf(&names, ",\"node-%zu-%zu\"", round, i);
        buf_append(&names, STR("]"));
        buf_append_char(&names, '\0');
        note(decisions, stage.view, VERB_FILTER, "a", names.data);
        most = figures_of(decisions).bytes > most ? figures_of(decisions).bytes : most;
    }
    assert_string_equal(look(decisions, 60, "node-59-999", text), "unknown");
    assert_string_equal(look(decisions, 60, "node-58-999", text), "not-asked");
    assert_string_equal(look(decisions, 51, "node-50-0", text), "unknown");
    assert_true(most < 10u * 1024 * 1024);
    stage_done(&stage);
}

static void test_long_texts(void **state) {
    static char long_text[100000];
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, ROOM);
    Decision decision = {0};
    FoundDecision found;
    Stage stage;

    for (size_t i = 0; i + 1 < sizeof(long_text); i += 2)
        memcpy(long_text + i, "\xC3\xA4", 2); /* one character of two bytes */
    decision.pod_name = decision.error = str_of(long_text, sizeof(long_text));
    stage_init(&stage, scene_text);
    decisions_note(decisions, stage.view, VERB_FILTER, &decision, (PastTimes){0});
    assert_true(decisions_find(decisions, 1, &found));
    assert_int_equal(found.past->pod_name.len, 252);
    assert_int_equal(found.past->error.len, PAST_ERROR_MAX);
    found_done(&found);
    stage_done(&stage);
}

/* --- pages ------------------------------------------------------------------------------ */

/* The ids of a list, "3 1", or its error. */
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
            while (json_element(&reader)) {
                int64_t id = 0;

                json_object(&reader);
                while (json_key(&reader, &key)) {
                    if (str_is(key, "id"))
                        json_int64(&reader, &id);
                    else
                        json_skip(&reader, NULL);
                }
                buf_printf(&ids, "%s%d", ids.len ? " " : "", (int)id);
            }
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

static void test_list(void **state) {
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
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    Stage stage;

    stage_init(&stage, scene_text);
    fill_pages(decisions, stage.view);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        int64_t next, untold;

        assert_int_equal(
            decisions_list_page(decisions, str_from_c(cases[i].query), arena, &page), 200);
        assert_text(cases[i].query, ids_of(buf_str(&page), arena, &next, &untold), cases[i].want);
        assert_case(cases[i].query, next == cases[i].next);
        assert_int_equal(untold, 0);
    }
    stage_done(&stage);
}

static void test_bad_questions(void **state) {
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
        {"pod=%2",
            "berth: \"pod=%2\" holds a broken escape: % stands before two hexadecimal digits"},
        {"pod=%zz",
            "berth: \"pod=%zz\" holds a broken escape: % stands before two hexadecimal digits"},
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
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        int64_t next, untold;

        assert_int_equal(
            decisions_list_page(decisions, str_from_c(cases[i].query), arena, &page), 400);
        assert_text(cases[i].query, ids_of(buf_str(&page), arena, &next, &untold), cases[i].want);
    }
}

static void test_one(void **state) {
    static const struct {
        const char *id, *query;
        unsigned status;
        const char *want; /* a part of the page, at its end */
    } cases[] = {
        {"4",
            "",
            200,
            "\"rules\":[{\"policy\":\"zones\",\"rule\":\"disk\",\"reason\":\"slow "
            "disk\",\"unresolvable\":false,\"rejected\":1,\"observed\":0,\"failed\":0,\"missing\":"
            "0}],"
            "\"error\":\"\","
            "\"hasNodes\":true,\"nodes\":[{\"node\":\"n3\",\"outcome\":\"rejected\",\"policy\":"
            "\"zones\",\"rule\":\"disk\",\"reason\":\"slow "
            "disk\",\"unresolvable\":false}],\"next\":null}\n"},
        {"2",
            "",
            200,
            "\"nodes\":[{\"node\":\"n1\",\"outcome\":\"scored\",\"score\":10},{\"node\":\"n2\","
            "\"outcome\":\"scored\",\"score\":0}],\"next\":null}\n"},
        {"1",
            "outcome=passed&limit=1",
            200,
            "\"nodes\":[{\"node\":\"n1\",\"outcome\":\"passed\"}],"
            "\"next\":1}\n"},
        {"1",
            "outcome=passed&after=1",
            200,
            "\"nodes\":[{\"node\":\"n2\",\"outcome\":\"passed\"}],"
            "\"next\":null}\n"},
        {"1",
            "outcome=unknown",
            200,
            "\"nodes\":[{\"node\":\"ghost\",\"outcome\":\"unknown\"}],"
            "\"next\":null}\n"},
        {"1", "rule=none", 200, "\"nodes\":[],\"next\":null}\n"},
        {"1",
            "node=n2",
            200,
            "\"nodes\":[{\"node\":\"n2\",\"outcome\":\"passed\"}],"
            "\"next\":null}\n"},
        {"1", "node=n2&outcome=rejected", 200, "\"nodes\":[],\"next\":null}\n"},
        {"1",
            "node=what",
            200,
            "\"nodes\":[{\"node\":\"what\",\"outcome\":\"not-asked\"}],"
            "\"next\":null}\n"},
        {"3",
            "",
            200,
            "\"counts\":{\"known\":4,\"asked\":1,\"passed\":1},\"rules\":[],\"target\":"
            "\"n1\",\"error\":\"\",\"hasNodes\":false,\"nodes\":[],\"next\":null}\n"},
        {"7",
            "",
            404,
            "{\"Error\":\"berth: decision 7 is not remembered: those from 1 to 6 are\"}\n"},
        {"0", "", 404, "{\"Error\":\"berth: the id of a decision is a whole number over 0\"}\n"},
        {"x", "", 404, "{\"Error\":\"berth: the id of a decision is a whole number over 0\"}\n"},
        {"1",
            "limit=10001",
            400,
            "{\"Error\":\"berth: \\\"limit\\\" must be a whole number from 1 "
            "to 10000\"}\n"},
        {"1",
            "outcome=error",
            400,
            "{\"Error\":\"berth: \\\"outcome\\\" of nodes must be passed, "
            "rejected, unknown, narrowed, late or scored\"}\n"},
    };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, ROOM);
    Stage stage;

    stage_init(&stage, scene_text);
    fill_pages(decisions, stage.view);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        unsigned status = decisions_one_page(
            decisions, str_from_c(cases[i].id), str_from_c(cases[i].query), arena, &page);
        size_t len = strlen(cases[i].want);

        assert_case(cases[i].query, status == cases[i].status);
        assert_text(cases[i].query,
            str_skip(buf_str(&page), page.len > len ? page.len - len : 0),
            cases[i].want);
    }
    stage_done(&stage);
}

/* Whatever a node is called, the page is JSON, and the name comes back as it was sent. */
static void test_hostile_names(void **state) {
    static const struct {
        const char *sent, *query, *want;
    } cases[] = {
        {"\"a\\\"b\"", "a%22b", "\"a\\\"b\""},
        {"\"c\\\\d\"", "c%5Cd", "\"c\\\\d\""},
        {"\"<\\/script>\"", "%3C/script%3E", "\"</script>\""},
        {"\"\\u00e4 b\"", "%C3%A4+b", "\"\xC3\xA4 b\""},
        {"\"\\ud83d\\ude00\"", "%F0%9F%98%80", "\"\xF0\x9F\x98\x80\""},
        {"\"\\ud800x\"", "%EF%BF%BDx", NULL}, /* half a character: refused */
        {"\"\"", "%FF%00", NULL},             /* so is none at all */
    };
    Stage stage;

    stage_init(&stage, scene_text);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10, ROOM);
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        JsonReader reader;

        note(decisions,
            stage.view,
            VERB_FILTER,
            "a",
            arena_printf(arena, "\"NodeNames\":[\"n1\",%s]", cases[i].sent).ptr);
        assert_int_equal(
            decisions_one_page(
                decisions, STR("1"), arena_printf(arena, "node=%s", cases[i].query), arena, &page),
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
    stage_done(&stage);
}

/* What is not kept any more is not taken for what never was. */
static void test_untold(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
    Decisions *decisions;
    int64_t next, untold;
    size_t one, fixed;
    Stage stage;

    stage_init(&stage, scene_text);
    fixed = fixed_bytes(&stage, 20, &one);
    decisions = decisions_new(20, fixed + 6 * one);
    for (size_t i = 0; i < 10; i++)
        note(decisions, stage.view, VERB_FILTER, "a", ALL_NAMES);
    assert_int_equal(decisions_list_page(decisions, STR("node=n1"), arena, &page), 200);
    (void)ids_of(buf_str(&page), arena, &next, &untold);
    assert_int_equal(untold, figures_of(decisions).n - figures_of(decisions).n_with_outcomes);
    assert_true(untold > 0);
    decisions_free(decisions);
    buf_reset(&page);
    assert_int_equal(decisions_list_page(NULL, STR_NULL, arena, &page), 404);
    stage_done(&stage);
}

/* --- threads ------------------------------------------------------------------------------ */

typedef struct Shared {
    Decisions *decisions;
    const Stage *stages;
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
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
        char id[32];

        assert_int_equal(
            decisions_list_page(shared->decisions, STR("node=n3&limit=20"), arena, &page), 200);
        buf_reset(&page);
        (void)snprintf(id, sizeof(id), "%zu", (size_t)figures_of(shared->decisions).oldest + 2);
        (void)decisions_one_page(shared->decisions, str_from_c(id), STR_NULL, arena, &page);
        assert_int_equal(buf_error(&page), 0);
    }
    return NULL;
}

static void test_threads(void **state) {
    Stage stages[2];
    Shared shared = {.stages = stages};
    pthread_t writers[3], readers[2];

    stage_init(&stages[0], scene_text);
    stage_init(&stages[1], other_text);
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
    stage_done(&stages[0]);
    stage_done(&stages[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_narrowed_and_late),
        cmocka_unit_test(test_many_rules),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_last_so_many),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_tiny_ceiling),
        cmocka_unit_test(test_names_that_change),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_bad_questions),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
