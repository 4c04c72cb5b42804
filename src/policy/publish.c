/* Filters that are published as extended resources of nodes. */

#include "policy/publish.h"

#include "policy/kind.h"
#include "policy/pod-rule.h"
#include "policy/policy.h"

#define RESOURCE_NAME_MAX 63u /* after the slash */

static const char *const publish_words[] = {"slots", NULL};
const Shape publish_shape = {.kind = SHAPE_WORD,
    .words = publish_words,
    .hint = "slots: nodes offer the limit of maxPods as an extended resource"};

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

SlotRule *publish_read(YamlReader *reader, const YamlNode *rule, const RuleKind *kind) {
    const YamlNode *at = yaml_find(rule, STR("publish"));
    const char *obstacle;
    SlotRule *slots;
    PodRule read;

    if (!str_is(at->text, publish_words[0]))
        return NULL; /* reported with the fields */
    if (kind != &kind_max_pods) {
        reader_error_hint(
            reader, at, STR("leave publish out"), "only maxPods can be published as slots");
        return NULL;
    }
    read = max_pods_read(reader, yaml_find(rule, kind->field));
    obstacle = find_obstacle(&read);
    if (obstacle) {
        reader_error_hint(reader, at, STR("leave it out, or do not publish the rule"),
            "the limit cannot be published because of %s", obstacle);
        return NULL;
    }
    slots = ARENA_NEW(reader->arena, SlotRule);
    if (slots)
        *slots = (SlotRule){.limit = read.limit,
            .selector = read.selector,
            .namespaces = read.namespaces,
            .at = at};
    return slots;
}

void publish_name(YamlReader *reader, Policy *policy) {
    const SlotRule *first = NULL;

    for (size_t i = 0; i < policy->n_filters; i++) {
        SlotRule *slots = policy->filters[i].slots;

        if (!slots)
            continue;
        if (first)
            reader_error_hint(reader, slots->at, STR("publish it from a policy of its own"),
                "the policy publishes slots already");
        else if (strlen("slots.") + policy->name.len > RESOURCE_NAME_MAX)
            reader_error_hint(reader, slots->at, STR("rename the policy"),
                "the policy's name is too long for a resource: " SLOTS_PREFIX
                "NAME has room for %zu characters",
                RESOURCE_NAME_MAX - strlen("slots."));
        first = slots;
        slots->resource = arena_printf(reader->arena, SLOTS_PREFIX "%.*s", STR_FMT(policy->name));
    }
}

static bool is_in(const StrList *list, Str name) {
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i], name))
            return true;
    return list->n == 0;
}

int64_t slot_rule_takes(const SlotRule *rule, const Pod *pod) {
    return is_in(&rule->namespaces, pod->namespace) &&
           selector_matches(&rule->selector, &pod->labels) &&
           resources_get(&pod->requests, rule->resource) == 0;
}
