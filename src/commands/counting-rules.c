/* Whether counts of pods are exact, as lines and as JSON. */

#include "commands/counting-rules.h"

#include "base/visible.h"

const Filter *counting_rules_next(
    const Policy *policy, BindWiring bind, Exactness exactness, const Filter *after) {
    for (size_t i = after ? (size_t)(after - policy->filters) + 1 : 0; i < policy->n_filters; i++)
        if (exactness_of(&policy->filters[i], bind) == exactness)
            return &policy->filters[i];
    return NULL;
}

void counting_rules_print(const Policy *policy, BindWiring bind, Exactness exactness, Buf *out) {
    const char *separator = "";

    for (const Filter *filter = NULL;
         (filter = counting_rules_next(policy, bind, exactness, filter));) {
        buf_append(out, str_from_c(separator));
        visible_print(out, "{}/{}", policy->name, filter->name);
        separator = ", ";
    }
}

bool counting_rules_print_fact(
    const PolicyFact *policy, BindWiring bind, Exactness exactness, Buf *out) {
    bool is_any = false;

    for (size_t i = 0; i < policy->n_counting; i++) {
        if (exactness_of_word(policy->counting[i].without_bind, bind) != exactness)
            continue;
        buf_append(out, is_any ? STR(", ") : STR(""));
        visible_print(out, "{}/{}", policy->name, policy->counting[i].rule);
        is_any = true;
    }
    return is_any;
}

void counting_rules_write(Exactness exactness, JsonWriter *writer) {
    if (exactness == EXACT_IF_SLOTS || exactness == EXACT_IF_BOUND)
        json_write(writer, "exact: null");
    else
        json_member_bool(writer, "exact", exactness != EXACT_NOT);
    json_write_member(writer, STR("text"), str_from_c(exactness_text(exactness)));
}
