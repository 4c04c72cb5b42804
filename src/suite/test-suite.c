#include "suite/test-fixture.h"

/* Messages about files begin with their path. */
static Str without_folder(const Fixture *fixture, Str text) {
    Str folder = str_from_c(fixture->folder.path);

    return str_has_prefix(text, folder) ? str_skip(text, folder.len + 1) : text;
}

/* "LINE:COLUMN SUBJECT: EXPECTED, GOT" of each failure, or the errors. */
static void describe(const Fixture *fixture, Buf *out) {
    for (size_t i = 0; i < fixture->diags.diags.n; i++) {
        const Diag *diag = &fixture->diags.diags.items[i];

        if (diag->level == DIAG_ERROR)
            buf_printf(out, "error %zu:%zu %.*s\n", diag->place.line, diag->place.column,
                STR_FMT(without_folder(fixture, diag->text)));
    }
    for (size_t i = 0; i < fixture->suite.n_cases; i++) {
        const SuiteCase *test = &fixture->suite.cases[i];

        for (size_t k = 0; k < test->failures.n; k++) {
            const SuiteFailure *failure = &test->failures.items[k];

            buf_printf(out, "%zu:%zu %.*s: %.*s, got %.*s\n", failure->place.line,
                failure->place.column, STR_FMT(failure->subject), STR_FMT(failure->expected),
                STR_FMT(failure->got));
        }
    }
}

typedef struct Expectation {
    const char *text; /* below `cases:`, one case a line */
    const char *wanted;
} Expectation;

static void check(const char *head, const Expectation *expectations, size_t n) {
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX), got = BUF_INIT(TEXT_MAX);
        Fixture fixture;
        char *whole;

        fixture_init(&fixture);
        buf_printf(&text, "%scases:\n%s\n", head, expectations[i].text);
        whole = buf_take(&text);
        fixture_run(&fixture, whole);
        describe(&fixture, &got);
        assert_text(expectations[i].text, buf_str(&got), expectations[i].wanted);
        assert_int_equal(fixture.r, fixture.diags.n_errors > 0 ? SUITE_E_INVALID : 0);
        free(whole);
        fixture_done(&fixture);
    }
}

#define CASE(expect) "- {name: n, expect: {" expect "}}"

static void test_compares_verdicts(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {a: passes, d: rejected, e: rejected}"), ""},
        {CASE("nodes: {a: rejected}"), "9:33 node a: rejected, got passes\n"},
        {CASE("nodes: {d: passes}"),
            "9:33 node d: passes, got rejected by p/pool: node is not in the pool (label pool is "
            "\"y\", must be \"x\")\n"},
        {CASE("nodes: {d: {rule: pool}, e: {rule: p/pool, reason: node is not in the pool}}"), ""},
        {CASE("nodes: {e: {detail: label pool is absent}}"),
            "9:33 node e: {detail: label pool is absent}, got rejected by p/pool: node is not in "
            "the pool (label pool is absent, must be \"x\")\n"},
        {CASE("nodes: {d: {rule: cool}}"),
            "9:33 node d: {rule: cool}, got rejected by p/pool: node is not in the pool (label "
            "pool is \"y\", must be \"x\")\n"},
        {CASE("nodes: {d: {rule: q/pool}}"),
            "9:33 node d: {rule: q/pool}, got rejected by p/pool: node is not in the pool "
            "(label pool is \"y\", must be \"x\")\n"},
        {CASE("nodes: {a: {reason: node is hot}}"),
            "9:33 node a: {reason: node is hot}, got passes\n"},
        {CASE("nodes: {d: rejected, \"*\": passes}"),
            "9:48 node e: passes, got rejected by p/pool: node is not in the pool (label pool is "
            "absent, must be \"x\")\n"},
        {CASE("nodes: {\"*\": passes, d: rejected, e: rejected}"), ""},
        {CASE("nodes: {d: {unresolvable: false}}"), ""},
        {CASE("nodes: {d: {rule: pool, unresolvable: true}}"),
            "9:33 node d: {rule: pool, unresolvable: true}, got rejected by p/pool: node is not in "
            "the pool (label pool is \"y\", must be \"x\")\n"},
        {CASE("observed: {d: passes}"), ""},
        {CASE("observed: {d: rejected}"), "9:36 observed node d: rejected, got passes\n"},
        {"- {name: n, metrics: {load: {a: 0.7}}, expect: {nodes: {a: {rule: cool}, b: passes}}}",
            ""},
        {"- {name: n, metrics: {load: {d: 0.7}}, expect: {nodes: {d: {rule: cool}}}}",
            "9:60 node d: {rule: cool}, got rejected by p/pool: node is not in the pool (label "
            "pool is \"y\", must be \"x\"); also by p/cool\n"},
    };

    (void)state;
    check(SCENE, expectations, ELEMENTS_OF(expectations));
}

static void test_compares_scores_and_order(void **state) {
    static const Expectation expectations[] = {
        {CASE("scores: {a: 10, b: [39, 40], c: 40.0}"), ""},
        {CASE("scores: {a: 10.1}"), "9:34 score of node a: 10.1, got 10\n"},
        {CASE("scores: {a: [11, 12]}"), "9:34 score of node a: [11, 12], got 10\n"},
        {CASE("scores: {e: 90}"),
            "9:34 score of node e: 90, got rejected by p/pool: node is not in the pool (label pool "
            "is absent, must be \"x\")\n"},
        {CASE("best: [c, b], ranking: [b, a]"), ""},
        {CASE("best: b"), "9:28 best: b, got b, c\n"},
        {CASE("best: []"), "9:28 best: [], got b, c\n"},
        {CASE("ranking: [b, c, a]"), "9:31 ranking: [b, c, a], got b 40, c 40, a 10\n"},
        {CASE("ranking: [a, b]"), "9:31 ranking: [a, b], got b 40, a 10\n"},
        {CASE("ranking: [b, d]"), "9:31 ranking: [b, d], got b 40, d rejected\n"},
        {"- {name: n, nodes: {z: {}}, expect: {best: []}}", ""},
        {"- {name: n, nodes: {z: {}}, expect: {best: z}}",
            "9:44 best: z, got none: every node is rejected\n"},
    };

    (void)state;
    check(SCENE, expectations, ELEMENTS_OF(expectations));
}

/* Compares as many decimals as are written. */
static void test_scores_are_compared_as_written(void **state) {
    static const Expectation expectations[] = {
        {CASE("scores: {t: 33}"), ""},
        {CASE("scores: {t: 33.3}"), ""},
        {CASE("scores: {t: 33.33}"), ""},
        {CASE("scores: {t: 33.4}"), "4:34 score of node t: 33.4, got 33.33333333\n"},
        {CASE("scores: {t: 3.3e1}"), "4:34 score of node t: 3.3e1, got 33.33333333\n"},
    };
    static const char scene[] = "policies: third.yaml\nnodes: {t: {}}\n";

    (void)state;
    check(scene, expectations, ELEMENTS_OF(expectations));
}

static void test_reports_mistakes(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {f: passes}"), "error 9:30 the cluster has no node \"f\"\n"},
        {CASE("nodes: {a: pass}"),
            "error 9:33 a verdict must be passes, rejected or narrowed, not \"pass\"\n"},
        {CASE("nodes: {a: {}}"), "error 9:33 a verdict needs a rule, a reason or a detail\n"},
        {CASE("nodes: {a: {unresolvable: maybe}}"),
            "error 9:48 unresolvable must be true or false, not the string \"maybe\"\n"},
        {CASE("nodes: [a]"), "error 9:29 verdicts must be a mapping, not a list\n"},
        {CASE("scores: {a: [1, 2, 3]}"), "error 9:34 a range of scores is [LEAST, MOST]\n"},
        {CASE("scores: {a: [20, 10]}"), "error 9:39 a score must be between 20 and 100\n"},
        {CASE("best: f"), "error 9:28 the cluster has no node \"f\"\n"},
        {CASE("bests: a"), "error 9:22 unknown field \"bests\" in expect\n"},
        {CASE(""), "error 9:21 a case needs something to expect\n"},
        {"- {name: n}", "error 9:3 a case needs the field \"expect\"\n"},
        {"- {expect: {best: a}}", "error 9:3 a case needs the field \"name\"\n"},
        {"- {name: n, pod: shop/web, expect: {best: a}}",
            "error 9:18 the cluster has no pod \"shop/web\"\n"},
        {"- {name: n, pod: {label: {}}, expect: {best: a}}",
            "error 9:19 unknown field \"label\" in a pod\n"},
        {"- {name: n, pods: [{on: z}], expect: {best: a}}",
            "error 9:25 the cluster has no such node\n"},
        {"- {name: n, nodes: {}, expect: {best: a}}", "error 9:20 a case needs nodes\n"},
        {"- {name: n, now: today, expect: {best: a}}",
            "error 9:18 now must be a time like 2026-01-31T20:00:00Z, not the string \"today\"\n"},
        {"- {name: n, metrics: {lod: {a: 1}}, expect: {best: a}}",
            "error 9:23 no policy has a metric \"lod\"\n"},
        {"- {name: n, nodes: {a: {images: [{size: 1}]}, b: {ready: maybe}}, expect: {best: a}}",
            "error 9:35 unknown field \"size\" in an image\n"
            "error 9:34 an image needs the field \"names\"\n"
            "error 9:58 ready must be true or false, not the string \"maybe\"\n"},
        {"- {name: n, pod: {priority: high, tolerations: {}, images: a}, expect: {best: a}}",
            "error 9:29 priority must be a whole number, not the string \"high\"\n"
            "error 9:48 tolerations must be a list, not a mapping\n"
            "error 9:60 images must be a list, not the string \"a\"\n"},
        {"- {name: n, pod: {requests: {cpu: much}}, expect: {best: a}}",
            "error 9:18 not a quantity\n"},
        {"- {name: n, nodes: {a: {labels: x, taint: []}}, expect: {best: a}}",
            "error 9:33 labels must be a mapping, not the string \"x\"\n"
            "error 9:36 unknown field \"taint\" in a node\n"},
    };

    (void)state;
    check(SCENE, expectations, ELEMENTS_OF(expectations));
}

/* Each mistake of the file's own scene is reported once, not for each case. */
static void test_mistakes_of_the_file_are_reported_once(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {a: passes}") "\n" CASE("nodes: {a: passes}"),
            "error 2:22 created must be a time like 2026-01-31T20:00:00Z, not the string "
            "\"x\"\n"},
    };

    (void)state;
    check("policies: p.yaml\nnodes: {a: {created: x}}\n", expectations, ELEMENTS_OF(expectations));
}

static void test_mistake_of_a_case_does_not_stop_the_next(void **state) {
    static const Expectation expectations[] = {
        {"- {name: n, now: x, expect: {nodes: {a: rejected}}}\n" CASE("nodes: {a: rejected}"),
            "error 9:18 now must be a time like 2026-01-31T20:00:00Z, not the string \"x\"\n"
            "10:33 node a: rejected, got passes\n"},
        {"- {name: n, age: x, expect: {nodes: {a: rejected}}}\n" CASE("nodes: {a: rejected}"),
            "error 9:18 age must be a duration up to 36500d, not \"x\"\n"
            "10:33 node a: rejected, got passes\n"},
    };

    (void)state;
    check(SCENE, expectations, ELEMENTS_OF(expectations));
}

static void test_finds_pods_in_every_form(void **state) {
    static const Expectation expectations[] = {
        {"- {name: n, pod: {requests: {cpu: 2}}, expect: {nodes: {a: {rule: room}}}}", ""},
        {"- {name: n, pod: {requests: {cpu: 1}}, expect: {nodes: {a: passes}}}", ""},
        {"- {name: n, pod: shop/pending, expect: {nodes: {a: {rule: room}}}}", ""},
        {"- {name: n, pod: {file: web.yaml, name: Deployment/web}, expect: {nodes: {a: {rule: "
         "room}}}}",
            ""},
        {"- {name: n, pod: {file: web.yaml}, expect: {nodes: {a: passes}}}",
            "error 6:18 the file has several pods; choose one: {file: FILE, name: NAME}\n"},
        {"- {name: n, pod: {file: web.yaml, name: x}, expect: {nodes: {a: passes}}}",
            "error 6:18 the file has no \"x\"; without a name, all of them are listed\n"},
        {"- {name: n, pod: {kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
         "resources: {requests: {cpu: 2}}}]}}, expect: {nodes: {a: {rule: room}}}}",
            ""},
        {"- {name: n, pods: [], pod: {requests: {cpu: 2}}, expect: {nodes: {a: passes}}}", ""},
    };
    static const char scene[] =
        "policies: room.yaml\ncluster: c.yaml\nnodes: {b: {}}\n"
        "pods: [{on: a, requests: {cpu: 1}}, {name: pending, namespace: shop, requests: {cpu: "
        "2}}]\n";

    (void)state;
    check(scene, expectations, ELEMENTS_OF(expectations));
}

static void test_reads_metrics_of_a_file(void **state) {
    static const Expectation expectations[] = {
        {"- {name: n, metrics: m.yaml, expect: {nodes: {a: {rule: cool}, b: passes}}}", ""},
        {"- {name: n, metrics: absent.yaml, expect: {nodes: {a: passes}}}",
            "error 0:0 absent.yaml: No such file or directory\n"},
        {"- {name: n, metrics: m.yaml, age: 1s, expect: {nodes: {a: passes}}}",
            "error 9:35 the file of metrics has it\n"},
    };

    (void)state;
    check(SCENE, expectations, ELEMENTS_OF(expectations));
}

static void test_tells_narrowed_nodes_from_passing_ones(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {a: narrowed, b: passes}, best: b"), ""},
        {CASE("nodes: {a: passes}"), "4:33 node a: passes, got narrowed\n"},
    };

    (void)state;
    check("policies: [narrow.yaml]\nnodes: {a: {labels: {size: 1}}, b: {labels: {size: 2}}}\n",
        expectations, ELEMENTS_OF(expectations));
}

/* A namespace is an object, and the time is always the same unless it is given. */
static void test_objects_count_and_time_is_fixed(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {a: {rule: late, unresolvable: true}}"), ""},
        {"- {name: n, now: 2026-06-02T00:00:00Z, expect: {nodes: {a: passes}}}", ""},
        {"- {name: n, objects: [], expect: {nodes: {a: passes}}}", ""},
        {"- {name: n, objects: [{kind: Namespace, metadata: {name: [x]}}], expect: {best: a}}",
            "error 5:22 t.test.yaml:5:58: expected a string\n"},
    };

    (void)state;
    check("policies: teams.yaml\ncluster: [c.yaml]\nobjects: [{kind: Namespace, metadata: {name: "
          "default, labels: {team: a}}}]\n",
        expectations, ELEMENTS_OF(expectations));
}

#define FILTER(name, rule) INLINE(name, "filters: [{name: r, reason: " name ", " rule "}]")
#define ONE FILTER("one", "maxPods: 0")
#define TWO FILTER("two", "maxPods: 0")
#define MISSPELT FILTER("p", "maxpods: 0")
#define UNDECLARED FILTER("p", "expression: nod.ready")
#define OWN(policies) "- {name: n, policies: " policies ", expect: {nodes: {a: {reason: one}}}}"

static void test_policies_can_be_in_the_test_file(void **state) {
    static const Expectation expectations[] = {
        {CASE("nodes: {a: {rule: two/r}}"), ""},
        {OWN(ONE), ""},
        {OWN("[narrow.yaml, " ONE ", " TWO "]"), ""},
        {OWN("[" TWO ", room.yaml, " ONE "]"),
            "4:326 node a: {reason: one}, got rejected by two/r: two (0 pods on the node, limit "
            "0); also by one/r\n"},
        {OWN("[]"), "4:47 node a: {reason: one}, got passes\n"},
    };

    (void)state;
    check("policies: " TWO "\nnodes: {a: {}}\n", expectations, ELEMENTS_OF(expectations));
}

/* Mistakes are reported at their places in the test file; other cases are run. */
static void test_mistakes_of_inline_policies(void **state) {
    static const Expectation expectations[] = {
        {OWN(MISSPELT) "\n" OWN(UNDECLARED) "\n" OWN("[" ONE "]") "\n" OWN(TWO),
            "error 3:138 unknown field \"maxpods\" in a filter\n"
            "error 4:150 undeclared reference to 'nod'\n"
            "6:178 node a: {reason: one}, got rejected by two/r: two (0 pods on the node, limit "
            "0)\n"},
        {OWN("[" ONE ", " ONE "]"), "error 3:232 there are two policies named \"one\"\n"},
        {OWN("[absent.yaml]"), "error 0:0 absent.yaml: No such file or directory\n"},
        {OWN("[5]"), "error 3:24 a path of policies must be a string, not 5\n"},
        {CASE("best: a"), "error 3:3 a case needs policies\n"},
    };

    (void)state;
    check("nodes: {a: {}}\n", expectations, ELEMENTS_OF(expectations));
}

static void note_gaps(const Fixture *fixture, Buf *out) {
    for (size_t i = 0; i < fixture->coverage.rules.n; i++) {
        const CoveredRule *rule = &fixture->coverage.rules.items[i];
        const char *gap = coverage_gap(rule);

        buf_printf(out, "%.*s %s\n", STR_FMT(rule->rule), gap ? gap : "exercised");
    }
}

/* A rule counts once over all files, even if two paths name its file. Policies of a case do not
 * count. */
static void test_coverage_counts_each_rule_once(void **state) {
    static const struct {
        const char *text, *wanted;
    } steps[] = {
        {"policies: ./p.yaml\nnodes: {a: {labels: {pool: x, size: 1}}}\ncases: [{name: n, expect: "
         "{nodes: {a: passes}}}]\n",
            "pool never rejects a node\ncool never rejects a node\nsize gives all nodes of a case "
            "the same score\n"},
        {SCENE "cases: [{name: n, expect: {best: [b, c]}}]\n",
            "pool exercised\ncool never rejects a node\nsize exercised\n"},
        {SCENE "metrics: {load: {a: 1}}\ncases: [{name: n, expect: {best: [b, c]}}]\n",
            "pool exercised\ncool exercised\nsize exercised\n"},
        {"policies: " ONE "\nnodes: {a: {}}\ncases:\n" OWN(TWO) "\n" CASE("best: []") "\n",
            "pool exercised\ncool exercised\nsize exercised\nr never passes a node\n"},
    };
    Fixture fixture;

    (void)state;
    fixture_init(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(steps); i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(TEXT_MAX);

        fixture_run(&fixture, steps[i].text);
        assert_int_equal(fixture.r, 0);
        note_gaps(&fixture, &got);
        assert_text(steps[i].text, buf_str(&got), steps[i].wanted);
    }
    fixture_done(&fixture);
}

static void test_reports_an_unreadable_file(void **state) {
    Fixture fixture;

    (void)state;
    fixture_init(&fixture);
    fixture.diags = DIAG_LIST_IN(fixture.arena);
    assert_int_equal(suite_run(folder_path(&fixture.folder, "absent"), fixture.zones, coverage_note,
                         &fixture.coverage, fixture.arena, &fixture.diags, &fixture.suite),
        SUITE_E_UNREADABLE);
    assert_int_equal(fixture.diags.n_errors, 1);
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compares_verdicts),
        cmocka_unit_test(test_compares_scores_and_order),
        cmocka_unit_test(test_scores_are_compared_as_written),
        cmocka_unit_test(test_reports_mistakes),
        cmocka_unit_test(test_mistakes_of_the_file_are_reported_once),
        cmocka_unit_test(test_mistake_of_a_case_does_not_stop_the_next),
        cmocka_unit_test(test_finds_pods_in_every_form),
        cmocka_unit_test(test_reads_metrics_of_a_file),
        cmocka_unit_test(test_tells_narrowed_nodes_from_passing_ones),
        cmocka_unit_test(test_objects_count_and_time_is_fixed),
        cmocka_unit_test(test_policies_can_be_in_the_test_file),
        cmocka_unit_test(test_mistakes_of_inline_policies),
        cmocka_unit_test(test_coverage_counts_each_rule_once),
        cmocka_unit_test(test_reports_an_unreadable_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
