/*
 * What is remembered can be made again: random worlds, through the real module, recorded and
 * replayed. And what that takes is counted, and given back in time.
 */

#include "serve/recorder.h"

#include <pthread.h>
#include <stdatomic.h>

#include "replay/hindsight.h"
#include "replay/test-world.h"
#include "replay/what-if.h"
#include "serve/scenes.h"
#include "json/read.h"

#define ROOM ((size_t)64 << 20)
#define SEEDS 8u
#define STEPS 14u

static void note(
    Decisions *decisions, World *world, Verb verb, Str body, Arena *arena, Answer *ret) {
    int64_t now = world_now(world) + WORLD_SEC / 7;

    world_ask(world->view, verb, now, body, arena, ret);
    decisions_note(decisions,
        world->view,
        verb,
        &ret->decision,
        (PastTimes){.at_nsec = now, .duration_nsec = 1000});
}

static void note_bind(Decisions *decisions, World *world, unsigned pod, Str node, Str error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    BindArgs args = {
        .pod_namespace = STR("default"),
        .pod_name = arena_printf(arena, "new%u", pod),
        .pod_uid = arena_printf(arena, "new%u", pod),
        .node = node,
    };
    Answer answer;

    extender_bind_reply(&args, error, arena, &answer);
    decisions_note(decisions,
        world->view,
        VERB_BIND,
        &answer.decision,
        (PastTimes){.at_nsec = world_now(world), .duration_nsec = -1});
}

/* The first node that passed, in @arena; empty: none. */
static Str first_passed(const Answer *filter, Arena *arena) {
    const FilterArgs *args = filter->decision.args;

    for (size_t i = 0; i < args->n; i++)
        if (filter->decision.said[i] == VERDICT_PASS && args->rows[i] < args->sight.table->n_rows)
            return arena_copy(arena, args->sight.table->names->names[args->rows[i]]);
    return STR_NULL;
}

/* An attempt at each step: filter, prioritize, and sometimes a bind. */
static size_t play(Decisions *decisions, World *world, unsigned n_steps) {
    size_t n = 0;

    for (unsigned step = 0; step < n_steps; step++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        unsigned pod = step / 2;
        Answer filter, prioritize;
        Str body = world_request(world, pod, arena), node;

        note(decisions, world, VERB_FILTER, body, arena, &filter);
        note(decisions, world, VERB_PRIORITIZE, body, arena, &prioritize);
        node = first_passed(&filter, arena);
        if (step % 2 && !str_is_empty(node))
            note_bind(decisions, world, pod, node, STR_NULL);
        n += 2;
        world_step(world);
    }
    return n;
}

static void replay(
    Decisions *decisions, Program *program, size_t last, Arena *arena, WhatIfReport *ret) {
    Recording recording;

    assert_int_equal(decisions_record(decisions, last, arena, &recording), 0);
    assert_int_equal(what_if_run(&recording, program, NULL, arena, ret), 0);
    recording_done(&recording); /* names and texts live in the arena */
}

static void test_equal(void **state) {
    size_t n_narrowed = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        WhatIfReport report;
        FoundDecision found[1];
        World world;
        size_t n;

        world_open(&world, seed, 100 + 20 * (unsigned)seed);
        n = play(decisions, &world, STEPS);
        replay(decisions, world.program, 1000, arena, &report);
        assert_int_equal(report.n, n);
        assert_int_equal(report.n_changes[WHAT_IF_EQUAL], n);
        assert_int_equal(report.n_pods, STEPS / 2);
        assert_int_equal(report.n_moved, 0);
        assert_int_equal(report.n_cases, 0);
        assert_int_equal(report.n_rules, 0);
        assert_int_equal(report.n_nodes, 0);
        assert_null(report.skipped_why);
        assert_true(report.is_whole);
        for (uint64_t below = 0; decisions_read(decisions, below, found, 1) == 1;) {
            below = found[0].past->id;
            n_narrowed += found[0].past->n_narrowed;
            found_done(&found[0]);
            if (below == 1)
                break;
        }
        world_close(&world);
    }
    assert_true(n_narrowed > 100);
}

/* --- other policies -------------------------------------------------------------------------- */

static WorldPolicy open_policy(void) {
    return (WorldPolicy){.load_max = 1000, .free_milli = 0, .max_pods = 1000};
}

static void use_policy(World *world, const WorldPolicy *policy) {
    program_unref(world->program);
    world->program = world_compile(policy);
    view_unref(world->view);
    world->view = NULL;
    world_publish(world, /* is_measured= */ true);
}

static const WhatIfRule *find_rule(const WhatIfReport *report, const char *name) {
    for (size_t i = 0; i < report->n_rules; i++)
        if (str_is(report->rules[i].name, name))
            return &report->rules[i];
    return NULL;
}

/* Free CPU below the new limit: nobody may have the node any more, and that rule says so. */
static void test_stricter(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    WorldPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *stricter = NULL;
    WhatIfReport report;
    size_t n_bound = 0;
    World world;

    world_open(&world, 77, 100);
    use_policy(&world, &policy);
    (void)play(decisions, &world, STEPS);
    for (uint64_t id = 1; id < 100; id++) {
        FoundDecision found;

        if (!decisions_find(decisions, id, &found))
            break;
        n_bound += found.past->verb == VERB_BIND;
        found_done(&found);
    }
    assert_true(n_bound > 3);
    policy.free_milli = 100000;
    stricter = world_compile(&policy);
    replay(decisions, stricter, 1000, arena, &report);
    assert_int_equal(report.n, 2 * STEPS);
    assert_int_equal(report.n_changes[WHAT_IF_NEWLY_REJECTED], STEPS);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], STEPS); /* scores are as they were */
    assert_int_equal(report.n_moved, n_bound);
    assert_int_equal(report.n_cases, STEPS);
    for (size_t i = 0; i < report.n_cases; i++) {
        assert_text("rule", report.cases[i].rule, "room/free");
        assert_true(report.cases[i].n_before > 0);
        assert_int_equal(report.cases[i].n_after, 0);
        assert_int_equal(report.cases[i].was_chosen, report.cases[i].chosen_lost);
        assert_true(i == 0 || report.cases[i - 1].decision->id > report.cases[i].decision->id);
    }
    assert_int_equal(find_rule(&report, "free")->n_newly_rejected, STEPS / 2);
    assert_true(find_rule(&report, "free")->n_rejected_before <
                find_rule(&report, "free")->n_rejected_after);
    assert_null(find_rule(&report, "hot"));
    world_close(&world);
}

/* The other way round: what only that rule held back may go. */
static void test_laxer(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    WorldPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *laxer = world_compile(&policy);
    WhatIfReport report;
    World world;

    policy.free_milli = 100000;
    world_open(&world, 78, 100);
    use_policy(&world, &policy);
    (void)play(decisions, &world, STEPS);
    replay(decisions, laxer, 1000, arena, &report);
    assert_int_equal(report.n_changes[WHAT_IF_NEWLY_PASSING], STEPS);
    assert_int_equal(find_rule(&report, "free")->n_newly_passing, STEPS / 2);
    assert_int_equal(find_rule(&report, "free")->n_rejected_after, 0);
    assert_text("rule", report.cases[0].rule, "room/free");
    /* Only the newest: two of the same attempt. */
    replay(decisions, laxer, 3, arena, &report);
    assert_int_equal(report.n, 3);
    world_close(&world);
}

/* Scores: other bests, and pods that would have had a better node. */
static void test_scores(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    _cleanup_(buf_done) Buf json = BUF_INIT((size_t)1 << 20);
    WorldPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *other = NULL;
    size_t n_before = 0, n_after = 0;
    JsonReader reader;
    WhatIfReport report;
    World world;

    world_open(&world, 79, 100);
    use_policy(&world, &policy);
    (void)play(decisions, &world, STEPS);
    policy.is_normalised = policy.has_other_metric = true;
    other = world_compile(&policy);
    replay(decisions, other, 1000, arena, &report);
    assert_int_equal(report.n_unmeasured, 1);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], STEPS); /* filters */
    assert_true(report.n_changes[WHAT_IF_BEST] > 0);
    assert_int_equal(
        report.n_changes[WHAT_IF_BEST] + report.n_changes[WHAT_IF_SCORES], report.n_cases);
    for (size_t i = 0; i < report.n_nodes; i++) {
        n_before += report.nodes[i].n_best_before;
        n_after += report.nodes[i].n_best_after;
    }
    assert_int_equal(n_before, n_after);
    what_if_write(&report, &json);
    json_reader_init(&reader, buf_str(&json));
    json_skip(&reader, NULL);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_int_equal(buf_error(&json), 0);
    world_close(&world);
}

/* Time is up when it has been asked for so often, and stays so. */
typedef struct Patience {
    size_t left, n_asked;
} Patience;

static bool is_over(void *context) {
    Patience *patience = context;

    patience->n_asked++;
    patience->left -= patience->left > 0;
    return patience->left == 0;
}

static size_t replay_in_time(
    const Recording *recording, Program *program, size_t left, WhatIfReport *ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    Patience patience = {.left = left};
    WhatIfOptions options = {.is_over = is_over, .context = &patience};

    assert_int_equal(what_if_run(recording, program, &options, arena, ret), 0);
    return patience.n_asked;
}

/* Time may be up between decisions, within one, and while a view is made. What is told then is
 * about the newest, and as true as ever: one that was begun is not told at all. */
static void test_time_is_up(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    size_t n, n_asked, n_last = 0, n_some = 0;
    Recording recording;
    WhatIfReport report;
    World world;

    world_open(&world, 80, 80);
    n = play(decisions, &world, STEPS);
    assert_int_equal(decisions_record(decisions, 1000, arena, &recording), 0);
    n_asked = replay_in_time(&recording, world.program, SIZE_MAX, &report);
    assert_true(report.is_whole);
    assert_int_equal(report.n, n);
    assert_true(n_asked > 3 * n); /* also within each */
    for (size_t left = 1; left < n_asked; left += 1 + n_asked / 200) {
        assert_true(replay_in_time(&recording, world.program, left, &report) <= n_asked);
        assert_false(report.is_whole);
        assert_true(report.n >= n_last && report.n < n);
        assert_int_equal(report.n_changes[WHAT_IF_EQUAL], report.n);
        assert_int_equal(report.n_cases, 0);
        n_last = report.n;
        n_some += report.n > 0;
    }
    assert_true(n_some > 10);
    recording_done(&recording);
    world_close(&world);
}

/* --- what is recorded ----------------------------------------------------------------------------
 */

static void test_obstacles(void **state) {
    static const RecordedNode node = {0};
    static const Scene scene;
    static const RecordedDecision good = {
        .verb = VERB_FILTER,
        .pod_text = {.ptr = "{}", .len = 2},
        .scene = &scene,
        .had_names = true,
        .n_in = 1,
        .nodes = &node,
        .n_nodes = 1,
    };
    RecordedDecision cases[] = {good, good, good, good, good, good, good, good};

    cases[0].verb = VERB_BIND;
    cases[1].error = STR("x");
    cases[2].is_late = true;
    cases[3].nodes = NULL;
    cases[4].had_names = false;
    cases[5].n_in = 2;
    cases[6].pod_text = STR_NULL;
    cases[7].scene = NULL;
    assert_null(recorded_obstacle(&good));
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_non_null(recorded_obstacle(&cases[i]));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(recorded_obstacle(&cases[i]), recorded_obstacle(&cases[j]));
    }
}

static void test_request(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    const Str names[] = {STR("n1"), STR("a\"b\\"), STR("\xC3\xA4")};
    const RecordedNode nodes[] = {
        {.name = 2, .kind = RECORDED_NARROWED}, {.name = 0}, {.name = 1, .kind = RECORDED_UNKNOWN}};
    Recording recording = {.names = names, .n_names = 3};
    RecordedDecision decision = {.pod_text = STR("{}"), .nodes = nodes, .n_nodes = 3};

    assert_text("request",
        recorded_request(&recording, &decision, arena),
        "{\"Pod\":{},\"NodeNames\":[\"n1\",\"a\\\"b\\\\\",\"\xC3\xA4\"]}");
    decision.n_nodes = 0;
    assert_text(
        "request", recorded_request(&recording, &decision, arena), "{\"Pod\":{},\"NodeNames\":[]}");
}

/* One pod's text and one view's scene are there once, and a reload does not lose them. */
static void test_shared(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    FoundDecision found[4];
    DecisionsFigures figures;
    Recording recording;
    World world;

    world_open(&world, 1, 100);
    (void)play(decisions, &world, 2); /* of one pod, on two views, and perhaps a bind */
    decisions_figures(decisions, &figures);
    assert_int_equal(figures.n_scenes, 2);
    assert_int_equal(figures.n_with_makings, 4);
    assert_true(decisions_find(decisions, 1, &found[0]));
    assert_true(decisions_find(decisions, 2, &found[1]));
    assert_true(decisions_find(decisions, 3, &found[2]));
    assert_ptr_equal(found[0].scene, found[1].scene);
    assert_ptr_not_equal(found[0].scene, found[2].scene);
    assert_ptr_equal(found[0].pod_text, found[1].pod_text);
    assert_ptr_equal(found[0].pod_text, found[2].pod_text);
    for (size_t i = 0; i < 3; i++)
        found_done(&found[i]);
    found_done(&found[0]); /* a zeroed one */

    assert_int_equal(decisions_record(decisions, 1000, arena, &recording), 0);
    assert_int_equal(recording.n_scenes, 2);
    assert_ptr_equal(recording.decisions[0].pod_text.ptr, recording.decisions[2].pod_text.ptr);
    assert_ptr_equal(recording.decisions[0].scene, recording.scenes[0]);
    assert_int_equal(recording.decisions[0].id, 1);
    recording_done(&recording);
    recording_done(&recording);
    world_close(&world);
}

/* Values, limits and score parts as of then, though the cluster is another by now. */
static void test_hindsight(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    size_t n_rejected = 0;
    World world;

    world_open(&world, 4, 100);
    (void)play(decisions, &world, 4);
    world_close(&world);
    for (uint64_t id = 1; id <= 4; id++) {
        _cleanup_(view_unrefp) View *view = NULL;
        Explanation explanation;
        FoundDecision found;
        Hindsight past;
        Pod pod;

        assert_true(decisions_find(decisions, id, &found));
        past = (Hindsight){
            .scene = found.scene,
            .pod_text = pod_text_str(found.pod_text),
            .now_nsec = found.past->at_nsec,
        };
        if (found.past->verb == VERB_BIND) {
            assert_int_equal(hindsight_explain(&past, NULL, NULL, arena, &view, &pod, &explanation),
                HINDSIGHT_E_NO_SCENE);
            found_done(&found);
            continue;
        }
        assert_int_equal(hindsight_explain(&past, NULL, NULL, arena, &view, &pod, &explanation), 0);
        assert_true(str_eq(pod.uid, found.past->pod_uid));
        for (size_t i = 0; found.past->verb == VERB_FILTER && i < explanation.n_nodes; i++) {
            const NodeExplanation *node = &explanation.nodes[i];
            Outcome outcome = outcomes_find(
                found.outcomes, decisions_number(decisions, found.outcomes, node->node));

            if (outcome.kind != OUTCOME_REJECTED)
                continue;
            assert_true(str_eq(node->verdict->name, past_rule_of(found.past, outcome)->name));
            n_rejected++;
        }
        view = view_unref(view);
        past.pod_text = STR("{");
        assert_int_equal(hindsight_explain(&past, NULL, NULL, arena, &view, &pod, &explanation),
            HINDSIGHT_E_NO_POD);
        assert_non_null(hindsight_error(HINDSIGHT_E_NO_POD));
        found_done(&found);
    }
    assert_true(n_rejected > 20);
}

/* About the nodes that were asked about and known it says what the answer said, node by node. */
static size_t check_asked(
    const Recording *recording, const RecordedDecision *decision, Arena *arena) {
    _cleanup_(view_unrefp) View *view = NULL;
    const RecordedNode **order = recorded_order(decision, arena);
    Str *names = ARENA_RAW(arena, Str, decision->n_nodes);
    Hindsight past = {
        .scene = decision->scene,
        .pod_text = decision->pod_text,
        .now_nsec = decision->now_nsec,
        .nodes = names,
        .n_nodes = decision->n_nodes,
    };
    size_t n = 0, n_narrowed = 0;
    Explanation explanation;
    Pod pod;

    for (size_t i = 0; i < decision->n_nodes; i++)
        names[i] = recording->names[order[i]->name];
    assert_int_equal(hindsight_explain(&past, NULL, NULL, arena, &view, &pod, &explanation), 0);
    for (size_t i = 0; i < decision->n_nodes; i++) {
        static const uint8_t kinds[] = {
            [NODE_PASSED] = RECORDED_PASSED,
            [NODE_NARROWED] = RECORDED_NARROWED,
            [NODE_REJECTED] = RECORDED_REJECTED,
        };

        if (order[i]->kind == RECORDED_UNKNOWN)
            continue;
        assert_true(str_eq(explanation.nodes[n].node, names[i]));
        assert_int_equal(kinds[explanation.nodes[n++].outcome], order[i]->kind);
        n_narrowed += order[i]->kind == RECORDED_NARROWED;
    }
    assert_int_equal(n, explanation.n_nodes);
    return n_narrowed;
}

static void test_hindsight_of_asked(void **state) {
    size_t n_narrowed = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        Recording recording;
        World world;

        world_open(&world, seed, 100);
        (void)play(decisions, &world, 4);
        world_close(&world);
        assert_int_equal(decisions_record(decisions, 1000, arena, &recording), 0);
        for (size_t i = 0; i < recording.n; i++)
            if (recording.decisions[i].verb == VERB_FILTER)
                n_narrowed += check_asked(&recording, &recording.decisions[i], arena);
        recording_done(&recording);
    }
    assert_true(n_narrowed > 20);
}

/* One by its id, and none for an id that nobody has. */
static void test_record_one(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    Recording recording;
    World world;

    world_open(&world, 1, 80);
    (void)play(decisions, &world, 4);
    assert_int_equal(decisions_record_one(decisions, 2, arena, &recording), 0);
    assert_int_equal(recording.n, 1);
    assert_int_equal(recording.n_scenes, 1);
    assert_int_equal(recording.decisions[0].id, 2);
    assert_null(recorded_obstacle(&recording.decisions[0]));
    recording_done(&recording);
    assert_int_equal(decisions_record_one(decisions, 1000, arena, &recording), 0);
    assert_int_equal(recording.n, 0);
    recording_done(&recording);
    world_close(&world);
}

/* --- what it takes ---------------------------------------------------------------------------- */

/* Whatever comes, the ceiling holds, the newest can be made again as long as anything can, and the
 * books are right at the end (decisions_free() looks). */
static void test_ceilings(void **state) {
    static const size_t ceilings[] = {1, 4096, 65536, 300000, 1000000, 4000000};

    for (size_t i = 0; i < ELEMENTS_OF(ceilings); i++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(40, ceilings[i]);
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        DecisionsFigures figures;
        WhatIfReport report;
        World world;

        world_open(&world, 10 + i, 200);
        for (unsigned round = 0; round < 10; round++) {
            WorldPolicy policy = world_policy(&world);

            (void)play(decisions, &world, 4);
            decisions_figures(decisions, &figures);
            if (i >= 2)
                assert_true(figures.bytes <= ceilings[i]);
            assert_true(figures.n_scenes <= figures.n_with_makings);
            use_policy(&world, &policy);
        }
        decisions_figures(decisions, &figures);
        if (i + 1 == ELEMENTS_OF(ceilings))
            assert_true(figures.n_with_makings > 10);
        if (i == 0)
            assert_int_equal(figures.n_with_makings, 0);
        replay(decisions, world.program, 1000, arena, &report);
        assert_int_equal(report.n_changes[WHAT_IF_SKIPPED] > 0, figures.n_with_makings < report.n);
        world_close(&world);
    }
}

static size_t count_programs(Decisions *decisions) {
    const Program *seen[64];
    size_t n = 0;

    for (uint64_t id = 1; id < 1000; id++) {
        FoundDecision found;
        size_t i = 0;

        if (!decisions_find(decisions, id, &found))
            break;
        while (i < n && found.scene && seen[i] != found.scene->program)
            i++;
        if (found.scene && found.scene->program && i == n)
            seen[n++] = found.scene->program;
        found_done(&found);
    }
    return n;
}

/* Of many reloads the last few programs are kept; who reads an old scene keeps what it had. */
static void test_programs(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
    FoundDecision first = {0}, again = {0};
    WhatIfReport report;
    World world;

    world_open(&world, 21, 80);
    for (unsigned i = 0; i < 7; i++) {
        WorldPolicy policy = world_policy(&world);

        (void)play(decisions, &world, 2);
        if (i == 0)
            assert_true(decisions_find(decisions, 1, &first));
        use_policy(&world, &policy);
    }
    assert_int_equal(count_programs(decisions), SCENES_PROGRAMS_MAX);
    assert_true(decisions_find(decisions, 1, &again));
    assert_non_null(first.scene->program);
    assert_null(again.scene->program);
    assert_ptr_equal(first.scene->snapshot, again.scene->snapshot);
    replay(decisions, world.program, 1000, arena, &report);
    assert_int_equal(report.n_changes[WHAT_IF_SKIPPED], 0);
    replay(decisions, first.scene->program, 1000, arena, &report);
    assert_true(report.n_changes[WHAT_IF_EQUAL] >= 4);
    found_done(&first);
    found_done(&again);
    world_close(&world);
}

/* A program that goes leaves what was measured for it behind once, however many scenes there are:
 * whoever notes a decision meanwhile waits for it, and the room is that of other decisions. */
static void test_what_programs_leave(void **state) {
    enum { SCENES = 200 };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, ROOM);
    FoundDecision first = {0}, second = {0};
    DecisionsFigures before, after;
    World world;

    world_open(&world, 22, 80);
    (void)play(decisions, &world, SCENES);
    for (unsigned i = 0; i < SCENES_PROGRAMS_MAX; i++) {
        WorldPolicy policy = world_policy(&world);

        decisions_figures(decisions, &before);
        use_policy(&world, &policy);
        (void)play(decisions, &world, 1);
    }
    decisions_figures(decisions, &after);
    assert_int_equal(after.n_scenes, SCENES + SCENES_PROGRAMS_MAX);
    assert_true(decisions_find(decisions, 1, &first));
    assert_true(decisions_find(decisions, 3, &second));
    assert_ptr_not_equal(first.scene, second.scene);
    assert_null(first.scene->program);
    assert_true(first.scene->n_gauges > 0);
    assert_ptr_equal(first.scene->gauges, second.scene->gauges);
    assert_true(after.makings_bytes < before.makings_bytes + SCENES * 1024u);
    found_done(&first);
    found_done(&second);
    world_close(&world);
}

/* --- threads ------------------------------------------------------------------------------ */

typedef struct Shared {
    Decisions *decisions;
    atomic_bool is_over;
} Shared;

static void *write_some(void *context) {
    Shared *shared = context;
    World world;

    world_open(&world, 31, 80);
    for (unsigned i = 0; i < 12; i++) {
        WorldPolicy policy = world_policy(&world);

        (void)play(shared->decisions, &world, 4);
        use_policy(&world, &policy);
    }
    world_close(&world);
    return NULL;
}

static void *record_some(void *context) {
    Shared *shared = context;
    WorldPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *program = world_compile(&policy);

    while (!atomic_load(&shared->is_over)) {
        _cleanup_(arena_freep) Arena *arena = arena_new(WORLD_BUDGET);
        WhatIfReport report;

        replay(shared->decisions, program, 20, arena, &report);
        assert_true(report.n <= 20);
    }
    return NULL;
}

static void test_threads(void **state) {
    Shared shared = {.decisions = decisions_new(60, 400000)};
    pthread_t writer, reader;

    assert_int_equal(pthread_create(&writer, NULL, write_some, &shared), 0);
    assert_int_equal(pthread_create(&reader, NULL, record_some, &shared), 0);
    assert_int_equal(pthread_join(writer, NULL), 0);
    atomic_store(&shared.is_over, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    decisions_free(shared.decisions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_stricter),
        cmocka_unit_test(test_laxer),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_time_is_up),
        cmocka_unit_test(test_obstacles),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_hindsight),
        cmocka_unit_test(test_hindsight_of_asked),
        cmocka_unit_test(test_record_one),
        cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_what_programs_leave),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
