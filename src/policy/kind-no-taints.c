/*
 * noTaints: nodes with one of these taints are refused, whatever the pod tolerates and whatever
 * the taint's effect.
 *
 *     noTaints: [node.kubernetes.io/unreachable, example.com/draining]
 */

#include "policy/cel-text.h"
#include "policy/kind.h"

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    const Str *keys;
    size_t n;

    if (!reader_string_list(reader, value, "noTaints", &keys, &n))
        return;
    for (size_t i = 0; i < n; i++)
        (void)reader_label_key(reader, value->items[i]); /* taints have the same */
    buf_append(&ret->expression, STR("!node.spec.taints.exists(t, t.key in "));
    cel_text_strings(&ret->expression, keys, n);
    buf_append_char(&ret->expression, ')');
    buf_append(&ret->message, STR("node.spec.taints.filter(t, t.key in "));
    cel_text_strings(&ret->message, keys, n);
    buf_append(&ret->message,
        STR(").map(t, 'taint ' + t.key + (t.value == '' ? '' : '=' + t.value) + "
            "' must not be there').join('; ')"));
}

const RuleKind kind_no_taints = {
    .field = STR("noTaints"),
    .summary = "the node has none of these taints",
    .shape = &shape_scalars,
    .write = write,
};
