#include "policy/cel-text.h"

#include <inttypes.h>
#include <math.h>

#include "base/double.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53: whole numbers up to it are their own doubles */

static void append_escaped(Buf *out, char c) {
    switch (c) {
    case '\'':
    case '\\':
        buf_append_char(out, '\\');
        buf_append_char(out, c);
        return;
    case '\n':
        buf_append(out, STR("\\n"));
        return;
    case '\t':
        buf_append(out, STR("\\t"));
        return;
    default:
        if ((unsigned char)c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned)(unsigned char)c);
        else
            buf_append_char(out, c);
    }
}

void cel_text_string(Buf *out, Str text) {
    buf_append_char(out, '\'');
    for (size_t i = 0; i < text.len; i++)
        append_escaped(out, text.ptr[i]);
    buf_append_char(out, '\'');
}

/* Half a condition is another condition. */
static void fail_with(Buf *out, const Buf *part) {
    if (!buf_error(out))
        out->error = buf_error(part);
}

void cel_text_words(Buf *out, const Buf *words) {
    cel_text_string(out, buf_str(words));
    fail_with(out, words);
}

void cel_text_part(Buf *out, const char *before, const Buf *part, const char *after) {
    if (part->len > 0) {
        buf_append(out, str_from_c(before));
        buf_append(out, buf_str(part));
        buf_append(out, str_from_c(after));
    }
    fail_with(out, part);
}

void cel_text_strings(Buf *out, const Str *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR("["));
        cel_text_string(out, items[i]);
    }
    buf_append(out, n > 0 ? STR("]") : STR("[]"));
}

void cel_text_double(Buf *out, double value) {
    char text[DOUBLE_TEXT_MAX];

    if (fabs(value) <= EXACT_MAX && value == floor(value))
        buf_printf(out, "%" PRId64 ".0", (int64_t)value);
    else
        buf_append(out, str_of(text, double_print(value, text)));
}

void cel_text_look_up(Buf *out, const char *map, Str key) {
    buf_printf(out, "%s[?", map);
    cel_text_string(out, key);
    buf_append(out, STR("].orValue('')"));
}

/* The commonest names read better as fields; which others could be one is not worth asking. */
void cel_text_amount(Buf *out, const char *map, Str resource) {
    buf_append(out, str_from_c(map));
    if (str_eq(resource, STR("cpu"))) {
        buf_append(out, STR(".milliCPU"));
    } else if (str_eq(resource, STR("memory")) || str_eq(resource, STR("pods"))) {
        buf_printf(out, ".%.*s", STR_FMT(resource));
    } else {
        buf_append_char(out, '[');
        cel_text_string(out, resource);
        buf_append_char(out, ']');
    }
}

/* --- selectors --------------------------------------------------------------- */

/* 'key' in map */
static void append_presence(Buf *out, const char *map, Str key) {
    cel_text_string(out, key);
    buf_printf(out, " in %s", map);
}

/* Where '' is wanted it must be told from a label that is absent. */
static bool wants_empty(const Requirement *requirement) {
    for (size_t i = 0; i < requirement->n_values; i++)
        if (str_is_empty(requirement->values[i]))
            return true;
    return false;
}

static void append_membership(Buf *out, const Requirement *requirement, const char *labels) {
    if (wants_empty(requirement)) {
        append_presence(out, labels, requirement->key);
        buf_append(out, STR(" && "));
    }
    cel_text_look_up(out, labels, requirement->key);
    if (requirement->n_values == 1) {
        buf_append(out, STR(" == "));
        cel_text_string(out, requirement->values[0]);
    } else {
        buf_append(out, STR(" in "));
        cel_text_strings(out, requirement->values, requirement->n_values);
    }
}

static void append_not_in(Buf *out, const Requirement *requirement, const char *labels) {
    if (requirement->n_values == 1 && !wants_empty(requirement)) {
        cel_text_look_up(out, labels, requirement->key);
        buf_append(out, STR(" != "));
        cel_text_string(out, requirement->values[0]);
        return;
    }
    buf_append(out, STR("!("));
    append_membership(out, requirement, labels);
    buf_append_char(out, ')');
}

/* int() is an error for what is no int: the first two conditions are false exactly then. A label
 * has 63 bytes at most, and a quantity room for as many digits. */
static void append_comparison(
    Buf *out, const Requirement *requirement, const char *labels, const char *op) {
    cel_text_look_up(out, labels, requirement->key);
    buf_append(out, STR(".matches('^-?[0-9]{1,63}$') && quantity("));
    cel_text_look_up(out, labels, requirement->key);
    buf_append(out, STR(").isInteger() && int("));
    cel_text_look_up(out, labels, requirement->key);
    buf_printf(out, ") %s %" PRId64, op, requirement->bound);
}

void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels) {
    switch (requirement->op) {
    case SELECTOR_IN:
        append_membership(out, requirement, labels);
        return;
    case SELECTOR_NOT_IN:
        append_not_in(out, requirement, labels);
        return;
    case SELECTOR_EXISTS:
        append_presence(out, labels, requirement->key);
        return;
    case SELECTOR_ABSENT:
        buf_append(out, STR("!("));
        append_presence(out, labels, requirement->key);
        buf_append_char(out, ')');
        return;
    case SELECTOR_GT:
        append_comparison(out, requirement, labels, ">");
        return;
    case SELECTOR_LT:
        append_comparison(out, requirement, labels, "<");
        return;
    }
}

void cel_text_selector(Buf *out, const Selector *selector, const char *labels) {
    for (size_t i = 0; i < selector->n; i++) {
        if (i > 0)
            buf_append(out, STR(" && "));
        cel_text_requirement(out, &selector->items[i], labels);
    }
    if (selector->n == 0)
        buf_append(out, STR("true"));
}

/* --- findings ----------------------------------------------------------------- */

void cel_text_findings_begin(Buf *out) {
    buf_append_char(out, '[');
}

void cel_text_findings_next(Buf *out) {
    if (out->len > 0 && out->data[out->len - 1] != '[')
        buf_append(out, STR(", "));
}

void cel_text_findings_end(Buf *out) {
    buf_append(out, STR("].filter(m, m != '').join('; ')"));
}

static void write_findings(
    Buf *out, const TextPart *part, const char *items, size_t n, size_t size) {
    cel_text_findings_begin(out);
    for (size_t i = 0; i < n; i++) {
        cel_text_findings_next(out);
        part->condition(out, items + i * size);
        buf_append(out, STR(" ? '' : "));
        part->finding(out, items + i * size);
    }
    cel_text_findings_end(out);
}

void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n, size_t size) {
    const char *at = items;

    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_append(&ret->expression, STR(" && "));
        part->condition(&ret->expression, at + i * size);
    }
    if (n == 1) /* a message is for a node that failed: no need to ask again */
        part->finding(&ret->message, items);
    else
        write_findings(&ret->message, part, at, n, size);
}
