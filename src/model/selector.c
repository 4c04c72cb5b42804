/* Label selectors. */

#include "model/selector.h"

const Str selector_op_words[SELECTOR_OPS] = {
    [SELECTOR_IN] = STR("In"),
    [SELECTOR_NOT_IN] = STR("NotIn"),
    [SELECTOR_EXISTS] = STR("Exists"),
    [SELECTOR_ABSENT] = STR("DoesNotExist"),
    [SELECTOR_GT] = STR("Gt"),
    [SELECTOR_LT] = STR("Lt"),
};

static bool has_value(const Requirement *requirement, Str value) {
    return str_is_one_of(value, requirement->values, requirement->n_values);
}

bool requirement_matches(const Requirement *requirement, const Str *value) {
    int64_t number;

    switch (requirement->op) {
    case SELECTOR_IN:
        return value && has_value(requirement, *value);
    case SELECTOR_NOT_IN:
        return !value || !has_value(requirement, *value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_ABSENT:
        return value == NULL;
    case SELECTOR_GT:
        return value && str_to_int64(*value, &number) && number > requirement->bound;
    case SELECTOR_LT:
        return value && str_to_int64(*value, &number) && number < requirement->bound;
    }
    return false;
}

bool selector_matches(const Selector *selector, const Labels *labels) {
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *requirement = &selector->items[i];

        if (!requirement_matches(requirement, labels_find(labels, requirement->key)))
            return false;
    }
    return true;
}
