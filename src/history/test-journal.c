#include "history/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/test-folder.h"
#include "history/test-decided.h"
#include "history/test-random-decisions.h"

#define NAME "decisions.jsonl"
#define OLD_NAME "decisions.old.jsonl"
#define STATE_BYTES JOURNAL_BYTES_DEFAULT

/* Another cluster with other rules. */
static const char later_text[] =
    "policies:\n"
    "  later:\n"
    "    filters:\n"
    "      - {name: no-hdd, nodeLabels: {disk: ssd}, reason: 'a \"spinning\" disk'}\n"
    "nodes:\n"
    "  n1: {labels: {disk: ssd}}\n"
    "  n8: {labels: {disk: hdd}}\n"
    "  n9: {labels: {disk: hdd}}\n";

static Journal *open_journal(Folder *folder, size_t bytes_max, Decisions *decisions) {
    char error[JOURNAL_ERROR_MAX];
    Journal *journal = NULL;

    assert_int_equal(journal_open(folder->path, bytes_max, decisions, &journal, error), 0);
    return journal;
}

/* Stores all decisions of @decisions. */
static void store(Folder *folder, size_t bytes_max, Decisions *decisions) {
    _cleanup_(decisions_freep) Decisions *before = decisions_new(1000, BYTES_MAX);
    _cleanup_(journal_freep) Journal *journal = open_journal(folder, bytes_max, before);

    journal_write(journal, decisions);
}

static Decisions *restore(Folder *folder, size_t max, size_t bytes_max) {
    Decisions *decisions = decisions_new(max, BYTES_MAX);

    journal_free(open_journal(folder, bytes_max, decisions));
    return decisions;
}

static off_t size_of(Folder *folder, const char *name) {
    struct stat status;

    return stat(folder_path(folder, name), &status) == 0 ? status.st_size : -1;
}

/* Everything that users can see of a decision, except whether it can be replayed. */
static Str describe(Decisions *decisions, uint64_t id, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SIZE_MAX);
    char digest[DIGEST_TEXT_MAX];
    FoundDecision found;
    const Str *names;

    if (!decisions_find(decisions, id, &found))
        return STR("none");
    buf_printf(&text, "%" PRIu64 " %s at %" PRId64 " took %" PRId64 " %.*s/%.*s %.*s on %.*s: %.*s",
        found.past->id, verb_name(found.past->verb), found.past->at_nsec, found.past->duration_nsec,
        STR_FMT(found.past->pod_namespace), STR_FMT(found.past->pod_name),
        STR_FMT(found.past->pod_uid), STR_FMT(found.past->node), STR_FMT(found.past->error));
    buf_printf(&text, " %s %" PRIu64 " %zu %d%d", digest_print(found.past->pod_digest, digest),
        found.past->generation, found.past->n_known, found.past->is_exempt, found.past->had_names);
    buf_append(&text, str_of((const char *)&found.past->summary, sizeof(found.past->summary)));
    past_print_reason(found.past, &text);
    for (size_t i = 0; i < found.past->n_rules; i++) {
        const RuleName *rule = past_rule(found.past, i);
        const RuleCount *count = &found.past->rules[i];

        buf_printf(&text, "\n%.*s/%.*s: %.*s %d: %u %u %u %u", STR_FMT(rule->policy),
            STR_FMT(rule->name), STR_FMT(rule->reason), rule->is_unresolvable, count->rejected,
            count->observed, count->failed, count->missing);
    }
    if (found.outcomes) {
        names = decisions_names(decisions, found.outcomes, arena);
        for (size_t i = 0; i < outcomes_size(found.outcomes); i++) {
            uint32_t number;
            Outcome outcome = outcomes_at(found.outcomes, i, &number);

            outcome = outcomes_find(found.outcomes, number);
            if (outcome.kind != OUTCOME_NOT_ASKED)
                buf_printf(&text, "\n%.*s %s %d %d %u", STR_FMT(names[number - 1]),
                    outcome_names[outcome.kind], outcome.rule, outcome.score, outcome.rank);
        }
    }
    found_done(&found);
    return arena_copy(arena, buf_str(&text));
}

static void assert_same(Decisions *want, Decisions *got, uint64_t first, uint64_t last) {
    for (uint64_t id = first; id <= last; id++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
        Str expected = describe(want, id, arena), found = describe(got, id, arena);

        if (!str_eq(expected, found))
            fail_msg("decision %" PRIu64 ":\n%.*s\nbut restored:\n%.*s", id, STR_FMT(expected),
                STR_FMT(found));
    }
}

/* Notes every kind of decision, some with few nodes and some with errors. */
static void note_kinds(Decisions *decisions, const View *view) {
    note(decisions, view, VERB_FILTER, "a", ALL_NAMES);
    note(decisions, view, VERB_PRIORITIZE, "a", "\"NodeNames\":[\"n1\",\"n2\"]");
    note(decisions, view, VERB_PREEMPT, "a",
        "\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":\"u\"}]}}");
    note_bind(decisions, view, "a", "n1");
    note(decisions, view, VERB_FILTER, "c", "\"NodeNames\":7");
}

static void test_restores_every_kind_of_decision(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *restored = NULL;
    ViewFixture early, late;
    Folder folder;

    folder_init(&folder);
    fixture_init(&early, scene_text);
    fixture_init(&late, later_text);
    note_kinds(decisions, early.view);
    note(decisions, late.view, VERB_FILTER, "b", "\"NodeNames\":[\"n9\",\"n1\",\"n8\"]");
    note_kinds(decisions, early.view);
    store(&folder, STATE_BYTES, decisions);
    restored = restore(&folder, 100, STATE_BYTES);
    assert_int_equal(figures_of(restored).n, 11);
    assert_int_equal(figures_of(restored).n_with_outcomes, 5);
    assert_int_equal(figures_of(restored).n_replayable, 0);
    assert_same(decisions, restored, 1, 11);

    /* Ids continue. */
    note(restored, early.view, VERB_FILTER, "d", ALL_NAMES);
    assert_int_equal(figures_of(restored).newest, 12);
    fixture_done(&early);
    fixture_done(&late);
    folder_done(&folder);
}

/* Many nodes, ranks, metrics and policies, stored in parts by several processes. */
static void test_restores_decisions_of_several_processes(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(decisions_freep) Decisions *restored = NULL;
    RandomCluster cluster;
    Folder folder;

    folder_init(&folder);
    random_cluster_open(&cluster, 7, 100);
    for (unsigned i = 0; i < 4; i++) {
        _cleanup_(decisions_freep) Decisions *before = decisions_new(1000, HISTORY_BYTES);
        _cleanup_(journal_freep) Journal *journal = open_journal(&folder, STATE_BYTES, before);

        assert_same(decisions, before, 1, figures_of(decisions).newest);
        (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
        journal_write(journal, decisions);
        (void)decide_steps(decisions, &cluster, DECIDE_STEPS);
        journal_write(journal, decisions);
        journal_write(journal, decisions); /* no new decisions */
    }
    restored = restore(&folder, 1000, STATE_BYTES);
    assert_int_equal(figures_of(restored).n, figures_of(decisions).n);
    assert_same(decisions, restored, 1, figures_of(decisions).newest);
    random_cluster_close(&cluster);
    folder_done(&folder);
}

/* Tries every length of the last line. */
static void test_cuts_off_a_line_without_end(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    ViewFixture fixture;
    Folder folder;
    off_t before, after;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    store(&folder, STATE_BYTES, decisions);
    before = size_of(&folder, NAME);
    for (off_t more = 0;; more++) {
        _cleanup_(decisions_freep) Decisions *restored = NULL;

        note(decisions, fixture.view, VERB_FILTER, "b", ALL_NAMES);
        store(&folder, STATE_BYTES, decisions);
        after = size_of(&folder, NAME);
        assert_int_equal(truncate(folder_path(&folder, NAME), before + more), 0);
        restored = restore(&folder, 100, STATE_BYTES);
        if (before + more >= after)
            break;
        assert_int_equal(figures_of(restored).n, 1);
        assert_true(size_of(&folder, NAME) <= before + more);
        decisions_free(decisions);
        decisions = restore(&folder, 100, STATE_BYTES);
        assert_int_equal(truncate(folder_path(&folder, NAME), before), 0);
    }
    fixture_done(&fixture);
    folder_done(&folder);
}

/* Copies the file, with one bit of byte @at changed. */
static void copy_file(Folder *from, Folder *to, off_t at) {
    off_t size = size_of(from, NAME);
    char *bytes = malloc((size_t)size);
    int fd = open(folder_path(from, NAME), O_RDONLY | O_CLOEXEC);

    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)size), size);
    (void)close(fd);
    bytes[at] ^= 1;
    (void)folder_write(to, NAME, str_of(bytes, (size_t)size));
    free(bytes);
}

/* A flipped bit costs one line, and if that has names, also the decisions that need them. */
static void test_skips_damaged_lines(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    ViewFixture fixture;
    Folder folder;
    off_t size, second;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
    store(&folder, STATE_BYTES, decisions);
    second = size_of(&folder, NAME);
    note(decisions, fixture.view, VERB_FILTER, "b", ALL_NAMES);
    note(decisions, fixture.view, VERB_FILTER, "c", ALL_NAMES);
    store(&folder, STATE_BYTES, decisions);
    size = size_of(&folder, NAME);
    for (off_t at = 0; at < size; at++) {
        _cleanup_(decisions_freep) Decisions *restored = NULL;
        Folder copy;

        folder_init(&copy); /* restore() cuts the file off */
        copy_file(&folder, &copy, at);
        restored = restore(&copy, 100, STATE_BYTES);
        /* A damaged line with names costs decisions, or their outcomes. */
        assert_true(figures_of(restored).n_with_outcomes < 3);
        assert_true(figures_of(restored).n >= (at >= second ? 1 : 0));
        folder_done(&copy);
    }
    fixture_done(&fixture);
    folder_done(&folder);
}

static void test_keeps_within_its_size(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(10000, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *before = decisions_new(10000, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *restored = NULL;
    DecisionsFigures figures;
    ViewFixture fixture;
    Journal *journal;
    Folder folder;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    journal = open_journal(&folder, JOURNAL_BYTES_MIN, before);
    for (unsigned i = 0; i < 8000; i++) {
        note(decisions, fixture.view, VERB_FILTER, "a", ALL_NAMES);
        if (i % 100 == 99)
            journal_write(journal, decisions);
        if (i % 100 == 99)
            assert_true(size_of(&folder, NAME) + size_of(&folder, OLD_NAME) <
                        (off_t)(JOURNAL_BYTES_MIN + 4096));
    }
    journal_free(journal);
    assert_true(size_of(&folder, OLD_NAME) > 0);
    restored = restore(&folder, 10000, JOURNAL_BYTES_MIN);
    figures = figures_of(restored);
    assert_int_equal(figures.newest, 8000);
    assert_in_range(figures.oldest, 2, 7000);
    assert_same(decisions, restored, figures.oldest, figures.newest);
    fixture_done(&fixture);
    folder_done(&folder);
}

/* A smaller history gets the newest decisions. */
static void test_restores_as_many_as_fit(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *one = NULL, *three = NULL;
    ViewFixture fixture;
    Folder folder;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    note_kinds(decisions, fixture.view);
    note_kinds(decisions, fixture.view);
    store(&folder, STATE_BYTES, decisions);
    one = restore(&folder, 1, STATE_BYTES);
    assert_same(decisions, one, 10, 10);
    three = restore(&folder, 3, STATE_BYTES);
    assert_int_equal(figures_of(three).oldest, 8);
    assert_same(decisions, three, 8, 10);
    fixture_done(&fixture);
    folder_done(&folder);
}

static void test_starts_a_new_file_after_another_format(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *restored = NULL;
    ViewFixture fixture;
    Folder folder;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    note_kinds(decisions, fixture.view);
    (void)folder_write(&folder, NAME, STR("0000000000000000 {\"form\":99}\nwhatever\n"));
    store(&folder, STATE_BYTES, decisions);
    restored = restore(&folder, 100, STATE_BYTES);
    assert_same(decisions, restored, 1, 5);
    fixture_done(&fixture);
    folder_done(&folder);
}

static void test_refuses_a_folder_in_use(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    char error[JOURNAL_ERROR_MAX];
    Journal *journal, *other = NULL;
    Folder folder;

    folder_init(&folder);
    journal = open_journal(&folder, STATE_BYTES, decisions);
    assert_int_equal(journal_open(folder.path, STATE_BYTES, decisions, &other, error), -EAGAIN);
    assert_non_null(strstr(error, "another berth"));
    journal_free(journal);
    journal_free(open_journal(&folder, STATE_BYTES, decisions));
    folder_done(&folder);
    assert_int_equal(journal_open(folder.path, STATE_BYTES, decisions, &other, error), -ENOENT);
    assert_non_null(strstr(error, folder.path));
}

/* A limit on the size of files simulates a full disk. */
static void test_writes_again_after_a_full_disk(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(100, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *before = decisions_new(100, BYTES_MAX);
    _cleanup_(decisions_freep) Decisions *restored = NULL;
    struct rlimit limit, small;
    ViewFixture fixture;
    Journal *journal;
    Folder folder;
    off_t size;

    folder_init(&folder);
    fixture_init(&fixture, scene_text);
    journal = open_journal(&folder, STATE_BYTES, before);
    note_kinds(decisions, fixture.view);
    journal_write(journal, decisions);
    size = size_of(&folder, NAME);
    note_kinds(decisions, fixture.view);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = (rlim_t)size + 100, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    journal_write(journal, decisions);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(size_of(&folder, NAME), size);
    journal_write(journal, decisions);
    journal_free(journal);
    restored = restore(&folder, 100, STATE_BYTES);
    assert_int_equal(figures_of(restored).n, 10);
    assert_same(decisions, restored, 1, 10);
    fixture_done(&fixture);
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restores_every_kind_of_decision),
        cmocka_unit_test(test_restores_decisions_of_several_processes),
        cmocka_unit_test(test_cuts_off_a_line_without_end),
        cmocka_unit_test(test_skips_damaged_lines),
        cmocka_unit_test(test_keeps_within_its_size),
        cmocka_unit_test(test_restores_as_many_as_fit),
        cmocka_unit_test(test_starts_a_new_file_after_another_format),
        cmocka_unit_test(test_refuses_a_folder_in_use),
        cmocka_unit_test(test_writes_again_after_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
