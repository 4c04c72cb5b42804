/* Pods that are exempt from all policies. */

#include "policy/exemption.h"

#include "base/label.h"

bool exemption_parse(Str text, Exemption *ret) {
    size_t slash = str_find(text, '/');
    Str label, key, value;
    size_t equals;

    *ret = (Exemption){.text = text, .namespace = str_take(text, slash)};
    if (!label_is_namespace(ret->namespace))
        return false;
    if (slash == SIZE_MAX)
        return true;
    label = str_skip(text, slash + 1);
    equals = str_find(label, '=');
    if (equals == SIZE_MAX)
        return false;
    key = str_take(label, equals);
    value = str_skip(label, equals + 1);
    if (!label_is_key(key) || (value.len > 0 && !label_is_name(value)))
        return false;
    ret->key = key;
    ret->value = value;
    return true;
}

static bool covers(const Exemption *exemption, const Pod *pod) {
    const Str *value;

    if (!str_eq(exemption->namespace, pod->namespace))
        return false;
    if (str_is_empty(exemption->key))
        return true;
    value = labels_find(&pod->labels, exemption->key);
    return value && str_eq(*value, exemption->value);
}

bool exemptions_cover(const Exemptions *exemptions, const Pod *pod) {
    for (size_t i = 0; exemptions && i < exemptions->n; i++)
        if (covers(&exemptions->items[i], pod))
            return true;
    return false;
}
