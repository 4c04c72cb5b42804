/* Parses exemptions, and finds the pods that they cover. */

#include "policy/exemption.h"

#include "base/label.h"

bool exemption_parse(Str text, Exemption *ret) {
    size_t slash = str_find(text, '/'), equals;
    Str label;

    *ret = (Exemption){.text = text, .namespace = str_take(text, slash)};
    if (!label_is_namespace(ret->namespace))
        return false;
    if (slash == SIZE_MAX)
        return true;
    label = str_skip(text, slash + 1);
    equals = str_find(label, '=');
    if (equals == SIZE_MAX)
        return false;
    ret->key = str_take(label, equals);
    ret->value = str_skip(label, equals + 1);
    return label_is_key(ret->key) && (ret->value.len == 0 || label_is_name(ret->value));
}

bool exemptions_cover(const Exemptions *exemptions, const Pod *pod) {
    for (size_t i = 0; exemptions && i < exemptions->n; i++) {
        const Exemption *exemption = &exemptions->items[i];
        const Str *value;

        if (!str_eq(exemption->namespace, pod->namespace))
            continue;
        if (str_is_empty(exemption->key))
            return true;
        value = labels_find(&pod->labels, exemption->key);
        if (value && str_eq(*value, exemption->value))
            return true;
    }
    return false;
}
