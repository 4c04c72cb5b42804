/*
 * poolHeadroom: a pool of nodes keeps room, on any of its nodes.
 *
 * With `pods`, room for a pod must be on one node: a node with 7 free cpus has room for one pod of
 * 4. With `nodes`, free amounts of all nodes are added, and compared with those of average nodes.
 * Nodes that are not Ready, or cordoned, have no room and need none. The candidate counts with the
 * pod on it; the sum over all nodes is precomputed, so a decision only adds and compares.
 */

#include "base/ascii.h"
#include "model/resources.h"
#include "policy/cel-text.h"
#include "policy/pod-rule.h"

#define RESOURCES_NAMED_MAX 16u

typedef struct Amount {
    Str resource;
    int64_t amount; /* of one pod, in units of the resource */
} Amount;

typedef struct PoolRule {
    const YamlNode *labels; /* NULL: all nodes */
    int64_t pods, nodes;    /* 0: not given */
    VEC(Amount) amounts;    /* `requests` or `resources` */
    int64_t priority;       /* exceptPriorityAtLeast */
    bool has_priority;
    Str priority_class; /* exceptPriorityClass; empty: not given */
    Str key;            /* a label that every node of the pool has */
    Buf usable;         /* condition: `node` is in the pool and takes pods */
    Buf pool;           /* for messages: "nodes with pool=ci keep" */
} PoolRule;

static Amount *add_amount(YamlReader *reader, const YamlNode *name, PoolRule *rule) {
    if (!reader_resource_name(reader, name))
        return NULL;
    for (size_t i = 0; i < rule->amounts.n; i++)
        if (str_eq(rule->amounts.items[i].resource, name->text)) {
            reader_error(reader, name, "\"%.*s\" is named twice", STR_FMT(name->text));
            return NULL;
        }
    if (VEC_ADD(&rule->amounts, reader->arena, (Amount){.resource = name->text, .amount = 1}))
        return &rule->amounts.items[rule->amounts.n - 1];
    return NULL;
}

static void read_requests(YamlReader *reader, const YamlNode *value, void *into) {
    for (size_t i = 0; i < value->n; i++) {
        const YamlPair *pair = &value->pairs[i];
        Amount *added = add_amount(reader, pair->key, into);
        Str text = STR_NULL;

        if (!added || !reader_label_value(reader, pair->value, "requests", &text))
            continue;
        if (!str_is_empty(text) && (ascii_is_digit(text.ptr[0]) || text.ptr[0] == '.') &&
            resource_amount_parse(added->resource, text, &added->amount) && added->amount > 0)
            continue;
        added->amount = 1;
        reader_error_hint(reader, pair->value, STR("an amount over 0 like 500m, 2 or 1.5Gi"),
            "\"%.*s\" is not an amount of %.*s", STR_FMT(text), STR_FMT(added->resource));
    }
}

static void read_resources(YamlReader *reader, const YamlNode *value, void *into) {
    for (size_t i = 0; i < value->n; i++) {
        Str name;

        if (reader_string(reader, value->items[i], "a resource", &name))
            (void)add_amount(reader, value->items[i], into);
    }
}

static const Shape amounts_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .min = 1, .max = RESOURCES_NAMED_MAX};
static const Shape names_shape = {
    .kind = SHAPE_LIST, .of = &shape_string, .min = 1, .max = RESOURCES_NAMED_MAX};
static const Shape priority_shape = {.kind = SHAPE_INT, .min = INT32_MIN, .max = INT32_MAX};
static const char *const choices[] = {"pods", "nodes", NULL};

static const Field fields[] = {
    {OPTIONAL("nodeLabels"), INTO(PoolRule, labels, kind_label_conditions_shape),
        "the nodes of the pool, as of the filter nodeLabels; default: all nodes"},
    {OPTIONAL("pods"), INTO(PoolRule, pods, pod_rule_count_shape),
        "room for this many more pods of these requests, each on one node"},
    {OPTIONAL("requests"), .shape = &amounts_shape, .read = read_requests,
        .about = "with pods: the requests of one of them"},
    {OPTIONAL("nodes"), INTO(PoolRule, nodes, pod_rule_count_shape),
        "as much free as this many average nodes of the pool have, in sum"},
    {OPTIONAL("resources"), .shape = &names_shape, .read = read_resources,
        .about = "with nodes: the resources that count; default: cpu and memory"},
    {OPTIONAL("exceptPriorityAtLeast"), INTO(PoolRule, priority, priority_shape),
        "pods of this priority or more may use the room"},
    {OPTIONAL("exceptPriorityClass"), INTO(PoolRule, priority_class, shape_name),
        "pods of this priorityClassName may use the room"},
};
static const Shape shape = {SHAPE_OF(fields), .one_of = choices, .choice = "size"};

static void check_fields(YamlReader *reader, const YamlNode *value) {
    bool has_pods = yaml_find(value, STR("pods")), has_nodes = yaml_find(value, STR("nodes"));
    size_t number;

    if (value->kind != YAML_MAPPING ||
        !reader_choice(reader, value, "poolHeadroom", &shape, &number))
        return;
    if (has_pods && !has_nodes && !yaml_find(value, STR("requests")))
        reader_error_hint(reader, value, STR("requests: {cpu: 4, memory: 8Gi}"),
            "poolHeadroom with pods needs requests: the size of one of them");
    if (has_pods && !has_nodes && yaml_find(value, STR("resources")))
        reader_error(reader, value, "resources goes with nodes, not with pods");
    if (has_nodes && !has_pods && yaml_find(value, STR("requests")))
        reader_error(reader, value, "requests goes with pods, not with nodes");
}

/* Writes "nodes with pool=ci, size=large keep", or without details if a condition is not one
 * value. */
static void write_pool(PoolRule *rule) {
    const YamlNode *labels = rule->labels;
    Buf *out = &rule->pool;

    if (!labels) {
        buf_append(out, STR("the cluster keeps"));
        return;
    }
    for (size_t i = 0; i < labels->n; i++)
        if (!yaml_is_scalar(labels->pairs[i].value)) {
            buf_append(out, STR("the pool keeps"));
            return;
        }
    for (size_t i = 0; i < labels->n; i++)
        cel_text(out, "$1$2=$3", TEXT_RAW(i > 0 ? ", " : "nodes with "),
            TEXT_ESCAPED(labels->pairs[i].key->text), TEXT_ESCAPED(labels->pairs[i].value->text));
    buf_append(out, STR(" keep"));
}

/* Chooses the label by which nodes are summed: one of the pool's, which has few values, or the
 * hostname, which every node has. */
static void find_pool(YamlReader *reader, PoolRule *rule) {
    const YamlNode *labels = rule->labels;

    rule->key = STR("kubernetes.io/hostname");
    for (size_t i = 0; labels && labels->kind == YAML_MAPPING && i < labels->n; i++)
        if (labels->pairs[i].value->kind != YAML_MAPPING) {
            rule->key = labels->pairs[i].key->text;
            break;
        }
    if (labels)
        kind_write_condition(reader, &kind_node_labels, labels, &rule->usable);
    cel_text_separate(&rule->usable, 0, " && ");
    buf_append(&rule->usable, str_from_c(kind_node_ready.expression));
    if (!labels || labels->kind == YAML_MAPPING)
        write_pool(rule);
}

/* Writes the sum of @of, an expression of `node`, over the pool. */
static void write_sum(Buf *out, const PoolRule *rule, const Buf *of) {
    cel_text(out, "cluster.domains($1).map(d, d.nodes.filter(node, $2).map(node, $3).sum()).sum()",
        TEXT_QUOTED(rule->key), TEXT_BUF(&rule->usable), TEXT_BUF(of));
}

/* Writes the sum with the pod on the node: replaces the node's part @now by @after. */
static void write_sum_after(Buf *out, const PoolRule *rule, const Buf *now, const Buf *after) {
    write_sum(out, rule, now);
    cel_text(out, " - $1 + $2", TEXT_BUF(now), TEXT_BUF(after));
}

static void write_exceptions(Buf *out, const PoolRule *rule) {
    if (rule->has_priority)
        cel_text(out, "pod.spec.priority >= $1 || ", TEXT_INT(rule->priority));
    if (!str_is_empty(rule->priority_class))
        cel_text(out, "pod.spec.priorityClassName == $1 || ", TEXT_QUOTED(rule->priority_class));
    cel_text(out, "!($1) || ", TEXT_BUF(&rule->usable));
}

/* Writes how many such pods fit on the node, with @is_after next to the pod; each needs a pod
 * slot. */
static void write_slots(Buf *out, const PoolRule *rule, bool is_after) {
    const char *free = is_after ? "(node.free$1 - pod.requests$1) / $2, " : "node.free$1 / $2, ";

    buf_append(out, STR("math.greatest(0.0, math.floor(math.least("));
    for (size_t i = 0; i < rule->amounts.n; i++)
        cel_text(out, free, TEXT_RESOURCE(rule->amounts.items[i].resource),
            TEXT_NUMBER((double)rule->amounts.items[i].amount));
    cel_text(out, is_after ? "node.free$1 - pod.requests$1)))" : "node.free$1)))",
        TEXT_RESOURCE(STR("pods")));
}

/* cpu 4, memory 8Gi */
static void write_shape(Buf *out, const PoolRule *rule) {
    for (size_t i = 0; i < rule->amounts.n; i++) {
        const Amount *of = &rule->amounts.items[i];

        cel_text(out, "$1$2 ", TEXT_RAW(i > 0 ? ", " : ""), TEXT_ESCAPED(of->resource));
        resource_amount_print(of->resource, of->amount, out);
    }
}

static void write_pods(const PoolRule *rule, RuleText *ret) {
    _cleanup_(buf_done) Buf now = BUF_INIT(KIND_TEXT_MAX), after = BUF_INIT(KIND_TEXT_MAX);
    _cleanup_(buf_done) Buf sizes = BUF_INIT(KIND_TEXT_MAX);

    write_slots(&now, rule, /* is_after= */ false);
    write_slots(&after, rule, /* is_after= */ true);
    write_shape(&sizes, rule);
    write_exceptions(&ret->expression, rule);
    write_sum_after(&ret->expression, rule, &now, &after);
    cel_text(&ret->expression, " >= $1", TEXT_NUMBER((double)rule->pods));

    cel_text(&ret->message, "'$1 room for $2 more pod$3 of $4: room for ' + string(int(",
        TEXT_BUF(&rule->pool), TEXT_INT(rule->pods), TEXT_RAW(PLURAL(rule->pods)),
        TEXT_BUF(&sizes));
    write_sum_after(&ret->message, rule, &now, &after);
    buf_append(&ret->message, STR(")) + ' would be left'"));
}

/* A resource of the rule. */
typedef struct Worth {
    const PoolRule *rule;
    Str resource;
} Worth;

static void write_free_after(Buf *out, const Worth *worth) {
    _cleanup_(buf_done) Buf now = BUF_INIT(KIND_TEXT_MAX), after = BUF_INIT(KIND_TEXT_MAX);

    cel_text(&now, "math.greatest(0.0, node.free$1)", TEXT_RESOURCE(worth->resource));
    cel_text(
        &after, "math.greatest(0.0, node.free$1 - pod.requests$1)", TEXT_RESOURCE(worth->resource));
    write_sum_after(out, worth->rule, &now, &after);
}

/* Writes the sum of @template, in which $1 is the resource. */
static void write_sum_of(Buf *out, const Worth *worth, const char *template) {
    _cleanup_(buf_done) Buf of = BUF_INIT(KIND_TEXT_MAX);

    cel_text(&of, template, TEXT_RESOURCE(worth->resource));
    write_sum(out, worth->rule, &of);
}

/* free after >= nodes * allocatable / number of nodes. */
static void write_worth(Buf *out, const void *item) {
    const Worth *worth = item;

    buf_append_char(out, '(');
    write_free_after(out, worth);
    buf_append(out, STR(") * "));
    write_sum_of(out, worth, "1.0");
    cel_text(out, " >= $1 * ", TEXT_NUMBER((double)worth->rule->nodes));
    write_sum_of(out, worth, "node.allocatable$1");
}

static void write_worth_message(Buf *out, const void *item) {
    const Worth *worth = item;
    const char *scale = str_is(worth->resource, "cpu") ? " / 1000.0" : "";

    cel_text(
        out, "'$1: ' + amount($2, (", TEXT_ESCAPED(worth->resource), TEXT_QUOTED(worth->resource));
    write_free_after(out, worth);
    cel_text(out, ")$1) + ' would remain free, ' + amount($2, math.ceil($3 * ", TEXT_RAW(scale),
        TEXT_QUOTED(worth->resource), TEXT_NUMBER((double)worth->rule->nodes));
    write_sum_of(out, worth, "node.allocatable$1");
    buf_append(out, STR(" / "));
    write_sum_of(out, worth, "1.0");
    cel_text(out, ")$1) + ' required'", TEXT_RAW(scale));
}

static void write_nodes(YamlReader *reader, const PoolRule *rule, RuleText *ret) {
    static const TextPart part = {sizeof(Worth), write_worth, write_worth_message, NULL};
    static const Str usual[] = {STR("cpu"), STR("memory")};
    size_t n = rule->amounts.n > 0 ? rule->amounts.n : ELEMENTS_OF(usual);
    Worth *items = ARENA_ARRAY(reader->arena, Worth, n);
    _cleanup_(rule_text_done) RuleText parts = RULE_TEXT_INIT;

    for (size_t i = 0; items && i < n; i++)
        items[i] = (Worth){rule, rule->amounts.n > 0 ? rule->amounts.items[i].resource : usual[i]};
    cel_text_all(&parts, &part, items, items ? n : 0);
    write_exceptions(&ret->expression, rule);
    cel_text(&ret->expression, "$1", TEXT_BUF(&parts.expression));
    cel_text(&ret->message, "'$1 $2 node$3 worth free: ' + $4", TEXT_BUF(&rule->pool),
        TEXT_INT(rule->nodes), TEXT_RAW(rule->nodes == 1 ? "\\'s" : "s\\'"),
        TEXT_BUF(&parts.message));
}

static void write_pool_headroom(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PoolRule rule = {.usable = BUF_INIT(KIND_TEXT_MAX), .pool = BUF_INIT(KIND_TEXT_MAX)};

    reader_fields(reader, value, kind->field.ptr, kind->shape, &rule);
    rule.has_priority = yaml_find(value, STR("exceptPriorityAtLeast"));
    check_fields(reader, value);
    find_pool(reader, &rule);
    if (rule.nodes > 0)
        write_nodes(reader, &rule, ret);
    else
        write_pods(&rule, ret);
    buf_done(&rule.usable);
    buf_done(&rule.pool);
}

const RuleKind kind_pool_headroom = {STR("poolHeadroom"),
    "the node's pool keeps room for more pods after the pod is placed", &shape,
    write_pool_headroom};
