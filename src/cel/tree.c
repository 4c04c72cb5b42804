/* Trees: children, operators, and names. */

#include "cel/tree.h"

const char *cel_operator_text(Str function) {
    static const struct {
        Str function;
        const char *text;
    } operators[] = {
        {STR("_+_"), "+"},
        {STR("_-_"), "-"},
        {STR("_*_"), "*"},
        {STR("_/_"), "/"},
        {STR("_%_"), "%"},
        {STR("_==_"), "=="},
        {STR("_!=_"), "!="},
        {STR("_<_"), "<"},
        {STR("_<=_"), "<="},
        {STR("_>_"), ">"},
        {STR("_>=_"), ">="},
        {STR("@in"), "in"},
        {STR("!_"), "!"},
        {STR("-_"), "-"},
        {STR("_[_]"), "[]"},
        {STR("_[?_]"), "[?]"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(operators); i++)
        if (str_eq(function, operators[i].function))
            return operators[i].text;
    return NULL;
}

void cel_call_print(Str function, bool is_receiver, const Str *types, size_t n, Buf *out) {
    Str sign = str_from_c(cel_operator_text(function));
    bool is_index = str_has_prefix(sign, STR("[")), is_operator = sign.len > 0;
    size_t first = is_operator ? n - 1 : is_receiver && n > 0; /* the first type behind the name */
    const char *space = is_operator && !is_index && first > 0 ? " " : "";

    if (first > 0)
        buf_append(out, types[0]);
    if (is_operator)
        buf_printf(out, "%s%.*s%s", space, STR_FMT(str_take(sign, sign.len - is_index)), space);
    else
        buf_printf(out, "%s%.*s(", first > 0 ? "." : "", STR_FMT(function));
    for (size_t i = first; i < n; i++) {
        buf_append(out, i > first ? STR(", ") : STR_NULL);
        buf_append(out, types[i]);
    }
    if (is_index || !is_operator)
        buf_append_char(out, is_index ? ']' : ')');
}

void cel_tree_children(const CelTree *tree, uint32_t i, uint32_t *ret) {
    uint32_t child = i - 1; /* the last child comes directly before its parent */

    for (uint32_t n = tree->nodes[i].n_children; n > 0; n--) {
        ret[n - 1] = child;
        child -= tree->nodes[child].size;
    }
}

size_t cel_join_names(const CelNode *nodes, uint32_t first, uint32_t last, char *out) {
    size_t n = 0;

    for (uint32_t i = first; i <= last; i++) {
        if (i > first)
            out[n++] = '.';
        if (nodes[i].name.len > 0) /* a placeholder for an error has none */
            memcpy(out + n, nodes[i].name.ptr, nodes[i].name.len);
        n += nodes[i].name.len;
    }
    return n;
}
