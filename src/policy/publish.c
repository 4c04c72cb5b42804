/* Filters that are published as extended resources or labels of nodes. */

#include "policy/publish.h"

#include "policy/kind.h"
#include "policy/pod-rule.h"
#include "policy/policy.h"

#define NAME_MAX_BYTES 63u /* of resources and labels, after the slash */

static const char *const publish_words[] = {"slots", "label", NULL};
const Shape publish_shape = {.kind = SHAPE_WORD,
    .words = publish_words,
    .hint = "slots: nodes offer the limit of maxPods as an extended resource; label: nodes that "
            "the filter rejects have a label"};

/* --- slots ------------------------------------------------------------------------------------ */

/* The field for which one number per node cannot stand. NULL: none. */
static const char *find_obstacle(const PodRule *rule) {
    if (!str_is_empty(rule->topology_key))
        return "topologyKey: a node has no slots of its domain";
    if (rule->per == 1)
        return "per: owner: each owner would have slots of its own";
    if (rule->label_keys.n > 0)
        return "matchLabelKeys: each value would have slots of its own";
    return NULL;
}

static SlotRule *read_limit(YamlReader *reader, const YamlNode *value, const char **ret_obstacle) {
    PodRule read = max_pods_read(reader, value);
    SlotRule *limit;

    *ret_obstacle = find_obstacle(&read);
    if (*ret_obstacle)
        return NULL;
    limit = ARENA_NEW(reader->arena, SlotRule);
    if (limit)
        *limit = (SlotRule){
            .limit = read.limit, .selector = read.selector, .namespaces = read.namespaces};
    return limit;
}

bool slot_rule_counts(const SlotRule *rule, const Pod *pod) {
    return (rule->namespaces.n == 0 ||
               str_is_one_of(pod->namespace, rule->namespaces.items, rule->namespaces.n)) &&
           selector_matches(&rule->selector, &pod->labels);
}

int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod) {
    return slot_rule_counts(rule, pod) && resources_get(&pod->requests, rule->resource) == 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

/* The first part of @tree that is no part of a node: `pod.requests.milliCPU`. False: a variable
 * hides it. */
static bool find_foreign(const CelTree *tree, uint32_t *ret_from, uint32_t *ret_to) {
    static const char *const foreign[] = {"pod", "namespace", "cluster", "workload", "now"};

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        uint32_t end = i;

        for (size_t j = 0; j < ELEMENTS_OF(foreign); j++) {
            if (tree->nodes[i].kind != CEL_NODE_IDENT || !str_is(tree->nodes[i].name, foreign[j]))
                continue;
            while (end + 1 < tree->n_nodes && tree->nodes[end + 1].kind == CEL_NODE_SELECT)
                end++;
            *ret_from = tree->nodes[i].from;
            *ret_to = tree->nodes[end].to;
            return true;
        }
    }
    return false;
}

static bool reads_node_only(const Expression *test) {
    return !(test->groups & ~SCHEMA_BIT(SCHEMA_NODE));
}

static bool check_label(YamlReader *reader, const Expression *test, const YamlNode *at) {
    Str text = STR("a published filter can read only the node and its pods, and this reads more");
    ExpressionFinding finding = {.level = DIAG_ERROR,
        .text = text,
        .hint = STR("do not publish it, or split the filter in two")};

    if (reads_node_only(test))
        return true;
    if (!test->is_built_in && find_foreign(test->checked->tree, &finding.from, &finding.to))
        expression_report(reader, test, &finding);
    else
        reader_error_hint(reader, at, finding.hint, "%.*s", STR_FMT(text));
    return false;
}

/* --- both ------------------------------------------------------------------------------------- */

void publish_read(YamlReader *reader, const YamlNode *rule, Filter *filter) {
    const YamlNode *at = yaml_find(rule, STR("publish"));
    const char *obstacle = NULL;

    if (filter->kind == &kind_max_pods)
        filter->limit = read_limit(reader, yaml_find(rule, filter->kind->field), &obstacle);
    if (at && str_is(at->text, publish_words[PUBLISH_SLOTS])) {
        filter->slots = filter->limit;
        if (filter->kind != &kind_max_pods)
            reader_error_hint(reader, at,
                STR("publish: label is for filters that read only the node"),
                "only maxPods can be published as slots");
        else if (obstacle)
            reader_error_hint(reader, at, STR("leave it out, or do not publish the rule"),
                "the limit cannot be published because of %s", obstacle);
    } else if (at && str_is(at->text, publish_words[PUBLISH_LABEL]))
        filter->is_label = check_label(reader, &filter->test, at);
}

/* Its text in a policy. NULL: it is not valid. */
static const YamlNode *find_rule(const YamlNode *document, const Filter *filter) {
    const YamlNode *filters = yaml_find(yaml_find(document, STR("spec")), STR("filters"));

    for (size_t i = 0; filters && i < filters->n; i++) {
        const YamlNode *name = yaml_find(filters->items[i], STR("name"));

        if (name && str_eq(name->text, filter->name))
            return filters->items[i];
    }
    return NULL;
}

void publish_name(YamlReader *reader, const YamlNode *document, Policy *policy) {
    const char *const prefixes[] = {SLOTS_PREFIX, CLOSED_PREFIX};
    bool has_slots = false;

    for (size_t i = 0; i < policy->n_filters; i++) {
        Filter *filter = &policy->filters[i];
        const YamlNode *at = yaml_find(
            filter->slots || filter->is_label ? find_rule(document, filter) : NULL, STR("publish"));
        const char *prefix = prefixes[filter->is_label];
        size_t room = NAME_MAX_BYTES - strlen(strchr(prefix, '/') + 1);

        if (!at)
            continue;
        if (policy->name.len > room)
            reader_error_hint(reader, at, STR("rename the policy"),
                "the policy's name is too long: %sNAME has room for %zu characters", prefix, room);
        if (filter->slots && has_slots)
            reader_error_hint(reader, at, STR("publish it from a policy of its own"),
                "the policy publishes slots already");
        has_slots |= filter->slots != NULL;
        if (filter->slots)
            filter->slots->resource =
                arena_printf(reader->arena, SLOTS_PREFIX "%.*s", STR_FMT(policy->name));
        else
            policy->closed_label =
                arena_printf(reader->arena, CLOSED_PREFIX "%.*s", STR_FMT(policy->name));
    }
}

bool publish_fits_slots(const Filter *filter) {
    return filter->limit != NULL;
}

bool publish_fits_label(const Filter *filter) {
    return reads_node_only(&filter->test);
}

const SlotRule *policy_slots(const Policy *policy) {
    for (size_t i = 0; i < policy->n_filters; i++)
        if (policy->filters[i].slots)
            return policy->filters[i].slots;
    return NULL;
}
