/*
 * podSpread, podPack: points by how many pods of a kind are there already.
 *
 *     podSpread: {sameOwner: true, topologyKey: topology.kubernetes.io/zone}
 *     podPack: {podSelector: {matchLabels: {component: workspace}}, full: 20}
 *
 * podSpread: 100 with none, 50 with one, 33 with two. podPack: 0 with none, 100 with as many as
 * full says or more, evenly in between. Which pods: pod-choice.h; of the pod's own namespace
 * unless namespaces are given. A node without the topologyKey gets 0.
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"
#include "policy/pod-choice.h"

#define FULL_MAX 1000000

typedef struct Config {
    PodChoice choice; /* first: pod-choice.h */
    int64_t full;     /* podPack */
} Config;

static void read_full(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "full", 1, FULL_MAX, &((Config *)into)->full);
}

static const Shape full_shape = {.kind = SHAPE_INT, .min = 1, .max = FULL_MAX};

#define SCORED_KEY                                                                                 \
    {                                                                                              \
        .name = STR("topologyKey"), .shape = &shape_string,                                        \
        .about = "a label: all nodes with the same value of it count together; those without it "  \
                 "get 0",                                                                          \
        .read = pod_choice_read_topology_key,                                                      \
    }
#define CHOICE_FIELDS                                                                              \
    POD_CHOICE_SELECTOR, POD_CHOICE_SAME_OWNER, POD_CHOICE_LABEL_KEYS, POD_CHOICE_OWN_NAMESPACE,   \
        SCORED_KEY

static const Field spread_fields[] = {CHOICE_FIELDS};
static const Field pack_fields[] = {
    {.name = STR("full"),
        .is_required = true,
        .shape = &full_shape,
        .about = "as many pods as get 100 points",
        .read = read_full},
    CHOICE_FIELDS,
};

/* double(COUNT); a pod that is like no other finds none. */
static void write_number(Buf *out, const PodChoice *choice) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    pod_choice_write_concern(&predicate, choice);
    if (predicate.len > 0)
        buf_append(&predicate, STR(" && "));
    pod_choice_write_predicate(&predicate, choice);
    buf_append(out, STR("double("));
    pod_choice_write_place(out, choice);
    cel_text_part(out, ".filter(p, ", &predicate, ")");
    buf_append(out, STR(".size())"));
}

static void begin_if_labelled(Buf *out, const PodChoice *choice) {
    if (str_is_empty(choice->topology_key))
        return;
    pod_choice_write_has_key(out, choice);
    buf_append(out, STR(" ? "));
}

static void end_if_labelled(Buf *out, const PodChoice *choice) {
    if (!str_is_empty(choice->topology_key))
        buf_append(out, STR(" : 0.0"));
}

static void write_spread(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {.choice = {.is_own_namespace = true}};
    Buf *out = &ret->expression;

    reader_fields(reader, value, "podSpread", spread_fields, ELEMENTS_OF(spread_fields), &config);
    pod_choice_require(reader, value, "podSpread", &config.choice);
    begin_if_labelled(out, &config.choice);
    buf_append(out, STR("100.0 / (1.0 + "));
    write_number(out, &config.choice);
    buf_append_char(out, ')');
    end_if_labelled(out, &config.choice);
}

static void write_pack(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {.choice = {.is_own_namespace = true}};
    Buf *out = &ret->expression;

    reader_fields(reader, value, "podPack", pack_fields, ELEMENTS_OF(pack_fields), &config);
    pod_choice_require(reader, value, "podPack", &config.choice);
    begin_if_labelled(out, &config.choice);
    buf_append(out, STR("math.least(100.0, "));
    write_number(out, &config.choice);
    buf_append(out, STR(" * 100.0 / "));
    cel_text_double(out, (double)config.full);
    buf_append_char(out, ')');
    end_if_labelled(out, &config.choice);
}

static const Shape spread_shape = {
    .kind = SHAPE_OBJECT, .fields = spread_fields, .n_fields = ELEMENTS_OF(spread_fields)};
static const Shape pack_shape = {
    .kind = SHAPE_OBJECT, .fields = pack_fields, .n_fields = ELEMENTS_OF(pack_fields)};

const RuleKind kind_pod_spread = {
    .field = STR("podSpread"),
    .summary = "the fewer pods of this kind, the better",
    .shape = &spread_shape,
    .write = write_spread,
};

const RuleKind kind_pod_pack = {
    .field = STR("podPack"),
    .summary = "the more pods of this kind, the better",
    .shape = &pack_shape,
    .write = write_pack,
};
