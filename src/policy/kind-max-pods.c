/*
 * maxPods: how many pods there may be, this one included.
 *
 *     maxPods: 30
 *     maxPods: {limit: 4, podSelector: {matchLabels: {component: workspace}}}
 *     maxPods: {limit: 2, per: owner}
 *     maxPods: {limit: 9, topologyKey: topology.kubernetes.io/zone, podSelector: {…}}
 *
 * With a selector, or an owner, only the pods that match count, and only they are held back.
 * With a topologyKey all nodes with the same value of that label are counted together; a node
 * without it fails, since nobody could say how many there are.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "policy/kind.h"
#include "policy/pod-choice.h"

#define MAX_PODS_MAX 1000000

typedef struct Config {
    PodChoice choice; /* first: pod-choice.h */
    int64_t limit;
} Config;

/* --- reading ------------------------------------------------------------------ */

static void read_limit(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "limit", 0, MAX_PODS_MAX, &((Config *)into)->limit);
}

static void read_per(PolicyReader *reader, const YamlNode *value, void *into) {
    Str word;

    if (!reader_string(reader, value, "per", &word))
        return;
    if (str_eq(word, STR("owner")))
        ((Config *)into)->choice.is_same_owner = true;
    else if (!str_eq(word, STR("node")))
        reader_error_hint(reader,
            value,
            STR("node or owner; for zones and the like topologyKey"),
            "\"%.*s\" is nothing that pods are counted by",
            STR_FMT(word));
}

static const char *const per_words[] = {"node", "owner", NULL};
static const Shape per_shape = {.kind = SHAPE_WORD, .words = per_words};
static const Shape limit_shape = {.kind = SHAPE_INT, .min = 0, .max = MAX_PODS_MAX};

static const Field fields[] = {
    {.name = STR("limit"),
        .is_required = true,
        .shape = &limit_shape,
        .about = "how many there may be, the pod included",
        .read = read_limit},
    {.name = STR("per"),
        .shape = &per_shape,
        .about = "owner: only pods with the same controlling owner as the pod count",
        .read = read_per},
    POD_CHOICE_SELECTOR,
    POD_CHOICE_LABEL_KEYS,
    POD_CHOICE_NAMESPACES,
    POD_CHOICE_TOPOLOGY_KEY,
};

static void read(PolicyReader *reader, const YamlNode *value, Config *ret) {
    if (value->kind == YAML_MAPPING)
        reader_fields(reader, value, "maxPods", fields, ELEMENTS_OF(fields), ret);
    else
        (void)reader_int(reader, value, "maxPods", 0, MAX_PODS_MAX, &ret->limit);
}

/* --- writing ------------------------------------------------------------------ */

/* One more pod that does not count makes no difference. */
static void write_expression(Buf *out, const Config *config) {
    const PodChoice *choice = &config->choice;

    pod_choice_write_unless(out, choice, /* counts= */ true);
    if (!str_is_empty(choice->topology_key)) {
        pod_choice_write_has_key(out, choice);
        buf_append(out, STR(" && "));
    }
    pod_choice_write_count(out, choice);
    buf_printf(out, " < %" PRId64, config->limit);
}

static void write_message(Buf *out, const Config *config) {
    const PodChoice *choice = &config->choice;
    char before[64], after[64];

    (void)snprintf(before,
        sizeof(before),
        " %spods %sare ",
        pod_choice_adjective(choice),
        choice->is_same_owner ? "of its owner " : "");
    (void)snprintf(after, sizeof(after), ", %" PRId64 " may be", config->limit);
    pod_choice_write_unless_absent(out, choice);
    buf_append(out, STR("string("));
    pod_choice_write_count(out, choice);
    buf_append(out, STR(") + "));
    pod_choice_write_located(out, choice, before, after);
}

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    read(reader, value, &config);
    write_expression(&ret->expression, &config);
    write_message(&ret->message, &config);
}

static const Shape object_shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};
static const Shape shape = {.kind = SHAPE_EITHER, .of = &limit_shape, .other = &object_shape};

const RuleKind kind_max_pods = {
    .field = STR("maxPods"),
    .summary = "there are fewer pods than this",
    .shape = &shape,
    .write = write,
};
