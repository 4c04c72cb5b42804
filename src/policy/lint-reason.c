/*
 * Reasons that look as if they varied. kube-scheduler groups nodes by a filter's reason and shows
 * it in events: it is a fixed text, and nothing is filled in.
 */

#include "base/ascii.h"
#include "policy/lint-part.h"

/* All reasons of a pod share 1,024 bytes of an event. */
#define REASON_LONG 120u

/* %s, %d …: a letter of printf's that no word goes on behind. */
static bool is_verb(Str text, size_t i) {
    return text.ptr[i] == '%' && i + 1 < text.len &&
           str_find(STR("sdvfiuxq"), text.ptr[i + 1]) != SIZE_MAX &&
           (i + 2 == text.len || !ascii_is_letter(text.ptr[i + 2]));
}

/* 2026-01-02, by its first '-'. */
static bool is_date(Str text, size_t i) {
    if (i < 4 || i + 2 >= text.len || text.ptr[i] != '-')
        return false;
    for (size_t k = i - 4; k <= i + 2; k++)
        if (k != i && !ascii_is_digit(text.ptr[k]))
            return false;
    return true;
}

static bool has_text(Str text, Str part) {
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (str_has_prefix(str_skip(text, i), part))
            return true;
    return false;
}

static bool looks_varying(Str reason) {
    static const Str parts[] = {STR("node.metadata"),
        STR("pod.metadata"),
        STR("params."),
        STR("variables."),
        STR("metrics."),
        STR("string("),
        STR("' +")};

    for (size_t i = 0; i < reason.len; i++)
        if (is_verb(reason, i) || is_date(reason, i) ||
            (reason.ptr[i] == '{' && str_find(str_skip(reason, i), '}') != SIZE_MAX))
            return true;
    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        if (has_text(reason, parts[i]))
            return true;
    return false;
}

void lint_reason(const Lint *lint, const YamlNode *reason) {
    if (!reason)
        return;
    if (looks_varying(reason->text))
        reader_warning(lint->reader,
            reason,
            STR("kube-scheduler groups nodes by it; messageExpression is for values"),
            "a reason is a fixed text: nothing is filled in");
    else if (reason->text.len > REASON_LONG)
        reader_warning(lint->reader,
            reason,
            STR("all reasons of a pod share 1,024 bytes of its event; messageExpression is for "
                "more"),
            "the reason is long: %zu bytes",
            reason->text.len);
}
