#include "cluster/difference.h"

#include <errno.h>
#include <stdio.h>

#include "cluster/test-load.h"

/* Snapshots of the Nodes and Pods in a text, separated by newlines. A Pod has a namespace. */
static Snapshot *load(const char *text) {
    _cleanup_(store_freep) Store *store = store_new();
    Str rest = str_from_c(text), line;

    while (str_split(&rest, '\n', &line)) {
        if (memmem(line.ptr, line.len, "\"namespace\"", 11))
            test_load_pod(store, line);
        else if (line.len > 0)
            test_load_node(store, line);
    }
    return test_load_publish(store);
}

#define NODE(name, more) "{\"metadata\":{\"name\":\"" name "\"" more "}\n"
#define POD(name, more)                                                                            \
    NODE("b", "}")                                                                                 \
    "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"" name "\"" more "}\n"
#define ON_B "\"spec\":{\"nodeName\":\"b\"}"
#define ASKS(name, amount)                                                                         \
    "},\"spec\":{\"nodeName\":\"b\",\"containers\":[{\"resources\":{\"requests\":{"                \
    "\"" name "\":" amount "}}}]}"
#define OFFERS_X NODE("a", "},\"status\":{\"allocatable\":{\"x\":1}}")

/* Each pair differs in one thing. */
static void test_lines(void **state) {
    static const struct {
        const char *here, *there, *lines;
    } cases[] = {
        {NODE("a", "}"), NODE("a", "}"), ""},
        {NODE("a", "}"), "", "node a: only here\n"},
        {"", NODE("a", "}"), "node a: only there\n"},
        {NODE("a", "}") NODE("c", "}"), NODE("c", "}") NODE("b", "}"),
            "node a: only here\nnode b: only there\n"},
        {NODE("a", ",\"uid\":\"1\"}"), NODE("a", ",\"uid\":\"2\"}"),
            "node a: uid is \"1\" here, \"2\" there\n"},
        {NODE("a", ",\"resourceVersion\":\"1\"}"), NODE("a", ",\"resourceVersion\":\"2\"}"), ""},
        {NODE("a", ",\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}"), NODE("a", "}"),
            "node a: creation is 2026-01-02T03:04:05Z here, absent there\n"},
        {NODE("a", ",\"labels\":{\"both\":\"1\",\"here\":\"h\",\"zone\":\"a\"}}"),
            NODE("a", ",\"labels\":{\"both\":\"1\",\"there\":\"\",\"zone\":\"b\"}}"),
            "node a: label here is \"h\" here, absent there\n"
            "node a: label there is absent here, \"\" there\n"
            "node a: label zone is \"a\" here, \"b\" there\n"},
        {NODE("a", ",\"annotations\":{\"x\":\"1\"}}"),
            NODE("a", ",\"annotations\":{\"x\":\"\\n2\"}}"),
            "node a: annotation x is \"1\" here, \"\\x0a2\" there\n"},
        {NODE("a",
             "},\"spec\":{\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"},"
             "{\"key\":\"l\",\"effect\":\"NoExecute\"}]}"),
            NODE("a",
                "},\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"},{}]}"),
            "node a: taints are [k=v:NoSchedule l:NoExecute] here, "
            "[k:PreferNoSchedule :?] there\n"},
        {NODE("a", "},\"spec\":{\"unschedulable\":true}"), NODE("a", "}"),
            "node a: unschedulable is true here, false there\n"},
        {NODE("a", "},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
                   "{\"type\":\"X\",\"status\":\"1\"}]}"),
            NODE("a", "},\"status\":{\"conditions\":[{\"type\":\"Y\",\"status\":\"2\"},"
                      "{\"type\":\"Ready\",\"status\":\"Unknown\"}]}"),
            "node a: ready is true here, false there\n"
            "node a: condition Ready is \"True\" here, \"Unknown\" there\n"
            "node a: condition X is \"1\" here, absent there\n"
            "node a: condition Y is absent here, \"2\" there\n"},
        {NODE("a", "},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"1Gi\",\"x\":1}}"),
            NODE("a",
                "},\"status\":{\"allocatable\":{\"y\":2,\"memory\":\"1Gi\",\"cpu\":\"3920m\"}}"),
            "node a: allocatable cpu is 4 here, 3920m there\n"
            "node a: allocatable x is 1 here, absent there\n"
            "node a: allocatable y is absent here, 2 there\n"},
        {NODE("a", "},\"status\":{\"images\":[{\"names\":[\"i\",\"j\"],\"sizeBytes\":1}]}"),
            NODE("a", "},\"status\":{\"images\":[{\"names\":[\"i\",\"j\"],\"sizeBytes\":1}]}"), ""},
        {NODE("a", "},\"status\":{\"images\":[{\"names\":[\"i\",\"j\"],\"sizeBytes\":1}]}"),
            NODE("a", "},\"status\":{\"images\":[{\"names\":[\"i\",\"k\"],\"sizeBytes\":1}]}"),
            "node a: images are a list of 1 here, a list of 1 there\n"},
        {NODE("a", "},\"status\":{\"images\":[{\"sizeBytes\":1}]}"),
            NODE("a", "},\"status\":{\"images\":[{\"sizeBytes\":2},{\"sizeBytes\":1}]}"),
            "node a: images are a list of 1 here, a list of 2 there\n"},
        {NODE("a", "},\"status\":{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"h\"}]}"),
            NODE("a", "},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"i\"},"
                      "{\"type\":\"Hostname\",\"address\":\"h\"}]}"),
            "node a: addresses are [Hostname=h] here, [InternalIP=i Hostname=h] there\n"},

        {POD("p", "}," ON_B), POD("p", "}," ON_B), ""},
        {POD("p", "}," ON_B), NODE("b", "}"),
            "node b: number of pods is 1 here, 0 there\npod shop/p: only here, on b\n"},
        {NODE("b", "}"), POD("p", "},\"status\":{\"nominatedNodeName\":\"b\"}"),
            "pod shop/p: only there, nominated for b\n"},
        {NODE("a", "}") POD("p", "},\"spec\":{\"nodeName\":\"a\"}"),
            NODE("a", "}") POD("p", "}," ON_B),
            "node a: number of pods is 1 here, 0 there\n"
            "node b: number of pods is 0 here, 1 there\n"
            "pod shop/p: node is \"a\" here, \"b\" there\n"},
        {POD("p", ",\"uid\":\"1\"}," ON_B), POD("p", ",\"uid\":\"2\"}," ON_B),
            "pod shop/p: uid is \"1\" here, \"2\" there\n"},
        {POD("p", ",\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}," ON_B),
            POD("p", ",\"creationTimestamp\":\"2026-01-02T03:04:06Z\"}," ON_B),
            "pod shop/p: creation is 2026-01-02T03:04:05Z here, 2026-01-02T03:04:06Z there\n"},
        {POD("p", "}," ON_B ",\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\"}"),
            POD("p", "}," ON_B), "pod shop/p: start is 2026-01-02T03:04:05Z here, absent there\n"},
        {POD("p", "}," ON_B ",\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                  "\"True\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}"),
            POD("p", "}," ON_B),
            "pod shop/p: binding is 2026-01-02T03:04:05Z here, absent there\n"},
        {POD("p", ",\"labels\":{\"a\":\"b\"}}," ON_B), POD("p", "}," ON_B),
            "pod shop/p: label a is \"b\" here, absent there\n"},
        {POD("p", ",\"ownerReferences\":[{\"kind\":\"K\",\"name\":\"N\",\"uid\":\"U\","
                  "\"controller\":true}]}," ON_B),
            POD("p", "}," ON_B),
            "pod shop/p: owner's kind is \"K\" here, absent there\n"
            "pod shop/p: owner's name is \"N\" here, absent there\n"
            "pod shop/p: owner's uid is \"U\" here, absent there\n"},
        {NODE("a", "}") POD("p", "},\"status\":{\"nominatedNodeName\":\"b\"}"),
            NODE("a", "}") POD("p", "},\"status\":{\"nominatedNodeName\":\"a\"}"),
            "pod shop/p: nominated node is \"b\" here, \"a\" there\n"},
        {POD("p", "},\"spec\":{\"nodeName\":\"b\",\"schedulerName\":\"x\",\"priority\":7}"),
            POD("p", "}," ON_B),
            "pod shop/p: scheduler is \"x\" here, absent there\n"
            "pod shop/p: priority is 7 here, 0 there\n"},
        {POD("p", ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}," ON_B), POD("p", "}," ON_B),
            "pod shop/p: terminating is true here, false there\n"},
        {POD("p", "},\"spec\":{\"nodeName\":\"b\",\"containers\":[{\"resources\":{\"requests\":{"
                  "\"cpu\":\"250m\",\"x\":1}}}]}"),
            POD("p", "},\"spec\":{\"nodeName\":\"b\",\"containers\":[{\"resources\":{\"requests\":{"
                     "\"cpu\":\"1\",\"y\":2}}}]}"),
            "node b: requested cpu is 250m here, 1 there\n"
            "pod shop/p: request cpu is 250m here, 1 there\n"
            "pod shop/p: request x is 1 here, absent there\n"
            "pod shop/p: request y is absent here, 2 there\n"},

        /* A column on one side only; the requests of its pods are equal, or not. */
        {OFFERS_X POD("p", ASKS("x", "1")), NODE("a", "}") POD("p", ASKS("x", "1")),
            "node a: allocatable x is 1 here, absent there\n"},
        {NODE("a", "}") POD("p", ASKS("x", "1")), OFFERS_X POD("p", ASKS("x", "2")),
            "node a: allocatable x is absent here, 1 there\n"
            "node b: requested x is 1 here, 2 there\n"
            "pod shop/p: request x is 1 here, 2 there\n"},
        {OFFERS_X POD("p", ASKS("x", "3")), NODE("a", "}") POD("p", "}," ON_B),
            "node a: allocatable x is 1 here, absent there\n"
            "node b: requested x is 3 here, 0 there\n"
            "pod shop/p: request x is 3 here, absent there\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(snapshot_unrefp) Snapshot *here = load(cases[i].here);
        _cleanup_(snapshot_unrefp) Snapshot *there = load(cases[i].there);
        _cleanup_(buf_done) Buf out = BUF_INIT(65536);
        Difference difference;

        assert_int_equal(difference_find(here, there, 100, &out, &difference), 0);
        assert_text(cases[i].here, buf_str(&out), cases[i].lines);
        assert_case(cases[i].here, difference_is_none(&difference) == (cases[i].lines[0] == '\0'));
    }
}

/* Counts objects, not fields. */
static void test_counts(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *here =
        load(NODE("a", ",\"labels\":{\"x\":\"1\",\"y\":\"1\"}}") NODE("b", "}") NODE("c", "}")
                POD("p", "},\"spec\":{\"nodeName\":\"a\"}") POD("q", "}," ON_B) POD("r", "}," ON_B)
                    POD("s", ",\"uid\":\"1\"},\"spec\":{\"nodeName\":\"b\",\"priority\":1}"));
    _cleanup_(snapshot_unrefp) Snapshot *there = load(NODE("a", "}") NODE("b", "}") NODE("d", "}")
            NODE("e", "}") POD("p", "}," ON_B) POD("s", "}," ON_B) POD("t", "}," ON_B));
    _cleanup_(buf_done) Buf all = BUF_INIT(65536), some = BUF_INIT(65536), none = BUF_INIT(0);
    Difference difference, again;

    (void)state;
    assert_int_equal(difference_find(here, there, SIZE_MAX, &all, &difference), 0);
    assert_int_equal(difference.n_nodes_only_here, 1);  /* c */
    assert_int_equal(difference.n_nodes_only_there, 2); /* d e */
    assert_int_equal(difference.n_nodes_differ, 1);     /* a */
    assert_int_equal(difference.n_sums_differ, 1);      /* a; b has three on both sides */
    assert_int_equal(difference.n_pods_only_here, 2);   /* q r */
    assert_int_equal(difference.n_pods_only_there, 1);  /* t */
    assert_int_equal(difference.n_pods_moved, 1);       /* p */
    assert_int_equal(difference.n_pods_differ, 1);      /* s */
    assert_int_equal(difference.n_lines, 12);

    /* Only the first lines are printed, but all are counted. */
    assert_int_equal(difference_find(here, there, 3, &some, &again), 0);
    assert_memory_equal(&again, &difference, sizeof(again));
    assert_true(str_has_prefix(buf_str(&all), buf_str(&some)));
    assert_text("first", buf_str(&some),
        "node a: label x is \"1\" here, absent there\n"
        "node a: label y is \"1\" here, absent there\n"
        "node a: number of pods is 1 here, 0 there\n");
    assert_int_equal(difference_find(here, there, 0, &none, &again), 0);
    assert_memory_equal(&again, &difference, sizeof(again));
    assert_int_equal(difference_find(here, there, 1, &none, &again), -EFBIG);
}

/* Long values are cut, between characters. */
static void test_long_values(void **state) {
    char value[DIFFERENCE_VALUE_MAX + 8], want[256], text[256];
    _cleanup_(snapshot_unrefp) Snapshot *here = NULL, *there = load(NODE("a", "}"));
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);
    Difference difference;

    (void)state;
    memset(value, 'v', sizeof(value));
    memcpy(value + DIFFERENCE_VALUE_MAX - 1, "\xc3\xa9 more", 8); /* ends in a NUL */
    (void)snprintf(
        text, sizeof(text), "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"%s\"}}}", value);
    here = load(text);
    value[DIFFERENCE_VALUE_MAX - 1] = '\0';
    (void)snprintf(
        want, sizeof(want), "node a: label l is \"%s\xe2\x80\xa6\" here, absent there\n", value);
    assert_int_equal(difference_find(here, there, 9, &out, &difference), 0);
    assert_text("cut", buf_str(&out), want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_long_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
