/* Tests that built-in rules never end in an error, on random clusters with missing labels, invalid
 * numbers, and amounts that are zero or too large. */

#include <stdio.h>

#include "base/rng.h"
#include "policy/test-kind.h"
#include "schema/test-scene.h"

#define ROUNDS 60
#define NODES 6

static uint32_t pick(Rng *rng, uint32_t n) {
    return (uint32_t)rng_pick(rng, n);
}

static const char *pick_word(Rng *rng, const char *const *words, uint32_t n) {
    return words[pick(rng, n)];
}

/* Writes labels and annotations, some of which the rules read, with valid and invalid values. */
static void random_pairs(Rng *rng, Buf *out) {
    static const char *const keys[] = {"pool", "zone", "gpu", "old", "gen", "q", "type", "tier",
        "cost", "a", "app", "team", "a.b/c", "kubernetes.io/hostname"};
    static const char *const values[] = {"", "a", "b", "x", "4", "-7", "99999999999999999999",
        "12.5", "large", "it's", "\\u0001\\\\", "0000000000000000000000000000000000005", "1e5"};
    bool is_first = true;

    buf_append_char(out, '{');
    for (size_t i = 0; i < ELEMENTS_OF(keys); i++)
        if (pick(rng, 2)) {
            buf_printf(out, "%s\"%s\":\"%s\"", is_first ? "" : ",", keys[i],
                pick_word(rng, values, ELEMENTS_OF(values)));
            is_first = false;
        }
    buf_append_char(out, '}');
}

static void random_amounts(Rng *rng, Buf *out) {
    static const char *const amounts[] = {
        "0", "1", "500m", "7", "64Gi", "9223372036854775807", "99999999999999999999"};

    buf_append(out, STR("{\"x/y\":\"1\""));
    if (pick(rng, 4))
        buf_printf(out, ",\"cpu\":\"%s\"", pick_word(rng, amounts, ELEMENTS_OF(amounts)));
    if (pick(rng, 4))
        buf_printf(out, ",\"memory\":\"%s\"", pick_word(rng, amounts, ELEMENTS_OF(amounts)));
    if (pick(rng, 2))
        buf_printf(out, ",\"a.b/c\":\"%s\"", pick_word(rng, amounts, ELEMENTS_OF(amounts)));
    buf_append_char(out, '}');
}

static void random_time(Rng *rng, Buf *out) {
    static const char *const times[] = {"2027-01-15T07:59:59Z", "2027-01-15T08:00:01Z",
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2020-01-01T00:00:00Z"};

    if (pick(rng, 4))
        buf_printf(out, "\"creationTimestamp\":\"%s\",", pick_word(rng, times, ELEMENTS_OF(times)));
}

static void random_node(Rng *rng, uint32_t number, Buf *out) {
    static const char *const statuses[] = {"True", "False", "Unknown", "", "odd"};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", "odd"};

    buf_append(out, STR("{\"metadata\":{"));
    random_time(rng, out);
    buf_printf(out, "\"name\":\"n%u\",\"labels\":", number);
    random_pairs(rng, out);
    buf_append(out, STR(",\"annotations\":"));
    random_pairs(rng, out);
    buf_append(out, STR("},\"spec\":{\"taints\":["));
    if (pick(rng, 2))
        buf_printf(out, "{\"key\":\"a\",\"value\":\"%s\",\"effect\":\"%s\"}",
            pick(rng, 2) ? "v" : "", pick_word(rng, effects, ELEMENTS_OF(effects)));
    buf_printf(out,
        "],\"unschedulable\":%s},\"status\":{\"conditions\":["
        "{\"type\":\"Ready\",\"status\":\"%s\"},{\"type\":\"%s\",\"status\":\"%s\"}],",
        pick(rng, 2) ? "true" : "false", pick_word(rng, statuses, ELEMENTS_OF(statuses)),
        pick(rng, 2) ? "DiskPressure" : "A", pick_word(rng, statuses, ELEMENTS_OF(statuses)));
    buf_append(out, STR("\"images\":[{\"names\":[\"docker.io/library/a:latest\"]},{}],"));
    buf_append(out, STR("\"allocatable\":"));
    random_amounts(rng, out);
    buf_append(out, STR("}}"));
}

static void random_pod(Rng *rng, const char *name, const char *node, Buf *out) {
    static const char *const spaces[] = {"x", "y", "z"};

    buf_append(out, STR("{\"metadata\":{"));
    random_time(rng, out);
    if (pick(rng, 2))
        buf_printf(
            out, "\"ownerReferences\":[{\"uid\":\"u%u\",\"controller\":true}],", pick(rng, 2));
    buf_printf(out, "\"name\":\"%s\",\"namespace\":\"%s\",\"labels\":", name,
        pick_word(rng, spaces, ELEMENTS_OF(spaces)));
    random_pairs(rng, out);
    buf_printf(out, "},\"spec\":{\"nodeName\":\"%s\",\"tolerations\":[%s],\"containers\":[", node,
        pick(rng, 3) ? "" : "{\"operator\":\"Exists\"}");
    if (pick(rng, 4)) {
        buf_printf(out, "{\"image\":\"%s\",\"resources\":{\"requests\":", pick(rng, 2) ? "a" : "");
        random_amounts(rng, out);
        buf_append(out, STR("}}"));
    }
    buf_append(out, STR("]}}"));
}

static void random_scene(Rng *rng, Scene *scene) {
    _cleanup_(buf_done) Buf json = BUF_INIT(1 << 16);

    scene_init(scene);
    for (uint32_t i = 0; i < NODES; i++) {
        buf_reset(&json);
        random_node(rng, i, &json);
        scene_add_node(scene, buf_str(&json));
    }
    for (uint32_t i = 0; i < 3 * NODES; i++) {
        char name[16], node[16];

        (void)snprintf(name, sizeof(name), "p%u", i);
        (void)snprintf(node, sizeof(node), "n%u", pick(rng, NODES));
        buf_reset(&json);
        random_pod(rng, name, node, &json);
        scene_add_pod(scene, buf_str(&json));
    }
    buf_reset(&json);
    random_pod(rng, "pod", "", &json);
    scene_build(scene, buf_str(&json));
}

/* These evaluate an expression on every node of a scene: a filter gives a bool, with a message
 * where it is false, and a score a number in range. */
static void check_filter(
    Scene *scene, const char *name, const char *expression, const char *message) {
    CelValue passes = scene_eval(scene, expression), text;

    assert_case(name, passes.kind == CEL_BOOL);
    if (passes.boolean)
        return;
    text = scene_eval(scene, message);
    assert_case(name, text.kind == CEL_STRING && text.len > 0);
}

static void check_score(Scene *scene, const char *name, const char *expression) {
    CelValue points = scene_eval(scene, expression);

    assert_case(name, points.kind == CEL_DOUBLE);
    assert_case(name, points.d >= 0 && points.d <= 100);
}

static void check_scene(Scene *scene, const Case *test, bool is_score) {
    WrittenRule written;

    /* Rules that read metrics do fail without a measurement:
     * test/data/policy/metric-limit.test.yaml. */
    if (str_has_prefix(str_from_c(test->source), STR("metric")))
        return;

    written_init(&written, is_score, test->source);
    buf_append_char(&written.text.expression, 0);
    buf_append_char(&written.text.message, 0);
    for (uint32_t row = 0; row < NODES; row++) {
        scene_set_row(scene, row);
        if (is_score)
            check_score(scene, test->source, written.text.expression.data);
        else
            check_filter(
                scene, test->source, written.text.expression.data, written.text.message.data);
    }
    written_done(&written);
}

static void test_rules_never_fail(void **state) {
    Rng rng = {5};

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        Scene scene;

        random_scene(&rng, &scene);
        for (size_t i = 0; i < ELEMENTS_OF(filters); i++)
            check_scene(&scene, &filters[i], /* is_score= */ false);
        for (size_t i = 0; i < ELEMENTS_OF(scores); i++)
            check_scene(&scene, &scores[i], /* is_score= */ true);
        scene_done(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules_never_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
