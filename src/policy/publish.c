/* Reads how filters are published: as extended resources or labels of nodes. */

#include "policy/publish.h"

#include "policy/pod-rule.h"
#include "policy/policy.h"

#define NAME_MAX_BYTES 63u /* of a resource's or label's name, after the slash */

const Shape publish_shape = {SHAPE_WORDS("slots", "label"),
    .hint = "slots: nodes offer the limit of maxPods as an extended resource; label: nodes that "
            "the filter rejects have a label"};

/* Returns which field of @rule makes one limit per node impossible, and why; NULL: none. */
static const char *find_obstacle(const PodRule *rule) {
    if (!str_is_empty(rule->topology_key))
        return "topologyKey: a node has no slots of its domain";
    if (rule->per == 1)
        return "per: owner: each owner would have slots of its own";
    if (rule->label_keys.n > 0)
        return "matchLabelKeys: each value would have slots of its own";
    return NULL;
}

bool slot_rule_counts(const SlotRule *rule, const Pod *pod) {
    return (rule->namespaces.n == 0 ||
               str_is_one_of(pod->namespace, rule->namespaces.items, rule->namespaces.n)) &&
           selector_matches(&rule->selector, &pod->labels);
}

int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod) {
    return slot_rule_counts(rule, pod) && resources_get(&pod->requests, rule->resource) == 0;
}

/* Finds the first part of @tree that reads something else than the node, like
 * `pod.requests.milliCPU`. Returns false if that part is in a variable of the policy. */
static bool find_foreign(const CelTree *tree, uint32_t *ret_from, uint32_t *ret_to) {
    static const Str foreign[] = {
        STR("pod"), STR("namespace"), STR("cluster"), STR("workload"), STR("now")};

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        uint32_t end = i;

        if (tree->nodes[i].kind != CEL_NODE_IDENT ||
            !str_is_one_of(tree->nodes[i].name, foreign, ELEMENTS_OF(foreign)))
            continue;
        while (end + 1 < tree->n_nodes && tree->nodes[end + 1].kind == CEL_NODE_SELECT)
            end++;
        *ret_from = tree->nodes[i].from;
        *ret_to = tree->nodes[end].to;
        return true;
    }
    return false;
}

bool publish_fits_label(const Filter *filter) {
    return !(filter->test.groups & ~SCHEMA_BIT(SCHEMA_NODE));
}

static bool check_label(YamlReader *reader, const Filter *filter, const YamlNode *at) {
    Str text = STR("a published filter can read only the node and its pods, and this reads more");
    ExpressionFinding finding = {.level = DIAG_ERROR,
        .text = text,
        .hint = STR("do not publish it, or split the filter in two")};

    if (publish_fits_label(filter))
        return true;
    if (!filter->test.is_built_in &&
        find_foreign(filter->test.checked->tree, &finding.from, &finding.to))
        expression_report(reader, &filter->test, &finding);
    else
        reader_error_hint(reader, at, finding.hint, "%.*s", STR_FMT(text));
    return false;
}

/* Returns the name of the resource or label: @prefix and the policy's name. */
static Str name_of(YamlReader *reader, const YamlNode *at, const char *prefix, Str policy) {
    size_t room = NAME_MAX_BYTES - strlen(strchr(prefix, '/') + 1);

    if (policy.len > room)
        reader_error_hint(reader, at, STR("rename the policy"),
            "the policy's name is too long: %sNAME has room for %zu characters", prefix, room);
    return arena_printf(reader->arena, "%s%.*s", prefix, STR_FMT(policy));
}

static void publish_slots(YamlReader *reader, const YamlNode *at, const Policy *policy,
    const char *obstacle, Filter *filter) {
    if (filter->kind != &kind_max_pods)
        reader_error_hint(reader, at, STR("publish: label is for filters that read only the node"),
            "only maxPods can be published as slots");
    else if (obstacle)
        reader_error_hint(reader, at, STR("leave it out, or do not publish the rule"),
            "the limit cannot be published because of %s", obstacle);
    if (filter->limit && policy_slots(policy))
        reader_error_hint(reader, at, STR("publish it from a policy of its own"),
            "the policy publishes slots already");
    filter->slots = filter->limit;
    if (filter->slots)
        filter->slots->resource = name_of(reader, at, SLOTS_PREFIX, policy->name);
}

void publish_read(YamlReader *reader, const YamlNode *rule, Policy *policy, Filter *filter) {
    const YamlNode *at = yaml_find(rule, STR("publish"));
    const char *obstacle = NULL;

    if (filter->kind == &kind_max_pods) {
        PodRule read = max_pods_read(reader, yaml_find(rule, filter->kind->field));

        obstacle = find_obstacle(&read);
        filter->limit = obstacle ? NULL : ARENA_NEW(reader->arena, SlotRule);
        if (filter->limit)
            *filter->limit = (SlotRule){
                .limit = read.limit, .selector = read.selector, .namespaces = read.namespaces};
    }
    if (at && str_is(at->text, "slots"))
        publish_slots(reader, at, policy, obstacle, filter);
    if (at && str_is(at->text, "label"))
        filter->is_label = check_label(reader, filter, at);
    if (filter->is_label)
        policy->closed_label = name_of(reader, at, CLOSED_PREFIX, policy->name);
}

const SlotRule *policy_slots(const Policy *policy) {
    for (size_t i = 0; i < policy->n_filters; i++)
        if (policy->filters[i].slots)
            return policy->filters[i].slots;
    return NULL;
}
