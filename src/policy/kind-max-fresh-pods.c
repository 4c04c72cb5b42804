/*
 * maxFreshPods: how many young pods the node may hold, this one included. A node that has just
 * been given pods is busy pulling and starting them.
 *
 *     maxFreshPods: {limit: 2, youngerThan: 120s}
 *     maxFreshPods: {limit: 2, youngerThan: 120s, podSelector: {matchLabels: {app: ide}}}
 *
 * Pods are young by their creation time; one without any is old. With a selector only the pods
 * it matches count, and only they are held back.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cel/duration.h"
#include "policy/cel-text.h"
#include "policy/kind.h"
#include "policy/pod-choice.h"

#define MAX_PODS_MAX 1000000

typedef struct Config {
    PodChoice choice; /* first: pod-choice.h */
    int64_t limit;
    int64_t younger_than; /* nanoseconds */
} Config;

static void read_limit(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "limit", 0, MAX_PODS_MAX, &((Config *)into)->limit);
}

static void read_younger_than(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_duration(reader, value, "youngerThan", &((Config *)into)->younger_than);
}

static const Shape limit_shape = {.kind = SHAPE_INT, .min = 0, .max = MAX_PODS_MAX};

static const Field fields[] = {
    {.name = STR("limit"),
        .is_required = true,
        .shape = &limit_shape,
        .about = "how many there may be, the pod included",
        .read = read_limit},
    {.name = STR("youngerThan"),
        .is_required = true,
        .shape = &shape_duration,
        .about = "the age up to which a pod counts",
        .read = read_younger_than},
    POD_CHOICE_SELECTOR,
    POD_CHOICE_NAMESPACES,
};

/* node.pods.filter(p, YOUNG && …).size() */
static void write_count(Buf *out, const Config *config) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    pod_choice_write_predicate(&predicate, &config->choice);
    buf_append(out,
        STR("node.pods.filter(p, has(p.metadata.creationTimestamp) && "
            "p.metadata.creationTimestamp > now - duration('"));
    cel_duration_print(config->younger_than, out);
    buf_append(out, STR("')"));
    cel_text_part(out, " && ", &predicate, "");
    buf_append(out, STR(").size()"));
}

static void write_expression(Buf *out, const Config *config) {
    pod_choice_write_unless(out, &config->choice, /* counts= */ true);
    write_count(out, config);
    buf_printf(out, " < %" PRId64, config->limit);
}

static void write_message(Buf *out, const Config *config) {
    buf_append(out, STR("string("));
    write_count(out, config);
    buf_printf(out, ") + ' %spods younger than ", pod_choice_adjective(&config->choice));
    cel_duration_print(config->younger_than, out);
    buf_printf(out, " are there, %" PRId64 " may be'", config->limit);
}

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    reader_fields(reader, value, "maxFreshPods", fields, ELEMENTS_OF(fields), &config);
    write_expression(&ret->expression, &config);
    write_message(&ret->message, &config);
}

static const Shape shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};

const RuleKind kind_max_fresh_pods = {
    .field = STR("maxFreshPods"),
    .summary = "the node holds fewer young pods than this",
    .shape = &shape,
    .write = write,
};
