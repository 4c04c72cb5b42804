/* Writes CEL text: templates with arguments, selectors, and rules of several conditions. */

#include "policy/cel-text.h"

#include <inttypes.h>
#include <math.h>

#include "base/double.h"
#include "cel/time.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53: up to it doubles represent whole numbers exactly */

static void append_escaped(Buf *out, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\'' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_append(out, STR("\\n"));
        else if (c == '\t')
            buf_append(out, STR("\\t"));
        else if ((unsigned char)c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", (unsigned)(unsigned char)c);
        else
            buf_append_char(out, c);
    }
}

static void append_string(Buf *out, Str text) {
    buf_append_char(out, '\'');
    append_escaped(out, text);
    buf_append_char(out, '\'');
}

static void append_strings(Buf *out, const Str *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR("["));
        append_string(out, items[i]);
    }
    buf_append(out, n > 0 ? STR("]") : STR("[]"));
}

static void append_double(Buf *out, double value) {
    char text[DOUBLE_TEXT_MAX];

    if (fabs(value) <= EXACT_MAX && value == floor(value))
        buf_printf(out, "%" PRId64 ".0", (int64_t)value);
    else
        buf_append(out, str_of(text, double_print(value, text)));
}

/* Frequent names are fields, which read better. */
static void append_resource(Buf *out, Str resource) {
    if (str_is(resource, "cpu"))
        buf_append(out, STR(".milliCPU"));
    else if (str_is(resource, "memory") || str_is(resource, "pods"))
        buf_printf(out, ".%.*s", STR_FMT(resource));
    else
        cel_text(out, "[$1]", TEXT_QUOTED(resource));
}

static void append_argument(Buf *out, const TextArg *arg) {
    switch (arg->kind) {
    case TEXT_ARG_RAW:
        buf_append(out, arg->text);
        return;
    case TEXT_ARG_STRING:
        append_string(out, arg->text);
        return;
    case TEXT_ARG_ESCAPED:
        append_escaped(out, arg->text);
        return;
    case TEXT_ARG_LABEL:
        cel_text(out, "[?$1].orValue('')", TEXT_QUOTED(arg->text));
        return;
    case TEXT_ARG_RESOURCE:
        append_resource(out, arg->text);
        return;
    case TEXT_ARG_NUMBER:
        append_double(out, arg->number);
        return;
    case TEXT_ARG_INT:
        buf_printf(out, "%" PRId64, arg->integer);
        return;
    case TEXT_ARG_DURATION:
        cel_duration_print(arg->integer, out);
        return;
    case TEXT_ARG_STRINGS:
        append_strings(out, arg->strings->items, arg->strings->n);
        return;
    case TEXT_ARG_BUF:
        buf_append(out, buf_str(arg->buf));
        if (!buf_error(out))
            out->error = buf_error(arg->buf); /* an incomplete condition has another meaning */
        return;
    }
}

void cel_text_write(Buf *out, const char *template, const TextArg *args) {
    for (const char *at = template; *at;) {
        size_t n = strcspn(at, "$");

        buf_append(out, str_of(at, n));
        at += n;
        if (at[0] == '$' && at[1] >= '1' && at[1] <= '9') {
            append_argument(out, &args[at[1] - '1']);
            at += 2;
        } else if (at[0] == '$') {
            buf_append_char(out, *at++);
        }
    }
}

void cel_text_part(Buf *out, const char *template, const Buf *part) {
    if (part->len > 0 || buf_error(part))
        cel_text(out, template, TEXT_BUF(part));
}

/* Whether "" is one of the values: then an absent label must be told from an empty one. */
static bool has_empty(const Requirement *requirement) {
    return str_is_one_of(STR(""), requirement->values, requirement->n_values);
}

static void append_membership(Buf *out, const Requirement *requirement, const char *labels) {
    TextArg key = TEXT_QUOTED(requirement->key), map = TEXT_RAW(labels);
    StrList values = {requirement->values, requirement->n_values};

    if (has_empty(requirement))
        cel_text(out, "$1 in $2 && ", key, map);
    cel_text(out, "$1$2", map, TEXT_LABEL(requirement->key));
    if (requirement->n_values == 1)
        cel_text(out, " == $1", TEXT_QUOTED(requirement->values[0]));
    else
        cel_text(out, " in $1", TEXT_STRINGS(&values));
}

static void append_not_in(Buf *out, const Requirement *requirement, const char *labels) {
    if (requirement->n_values == 1 && !has_empty(requirement)) {
        cel_text(out, "$1$2 != $3", TEXT_RAW(labels), TEXT_LABEL(requirement->key),
            TEXT_QUOTED(requirement->values[0]));
        return;
    }
    buf_append(out, STR("!("));
    append_membership(out, requirement, labels);
    buf_append_char(out, ')');
}

void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels) {
    TextArg key = TEXT_QUOTED(requirement->key), map = TEXT_RAW(labels);

    switch (requirement->op) {
    case SELECTOR_IN:
        append_membership(out, requirement, labels);
        return;
    case SELECTOR_NOT_IN:
        append_not_in(out, requirement, labels);
        return;
    case SELECTOR_EXISTS:
        cel_text(out, "$1 in $2", key, map);
        return;
    case SELECTOR_ABSENT:
        cel_text(out, "!($1 in $2)", key, map);
        return;
    case SELECTOR_GT:
    case SELECTOR_LT:
        /* The first two conditions prevent int() from failing. A label has at most 63 bytes, and a
         * quantity allows that many digits. */
        cel_text(out,
            "$1$2.matches('^-?[0-9]{1,63}$') && quantity($1$2).isInteger() && int($1$2) $3 $4", map,
            TEXT_LABEL(requirement->key), TEXT_RAW(requirement->op == SELECTOR_GT ? ">" : "<"),
            TEXT_INT(requirement->bound));
        return;
    }
}

void cel_text_separate(Buf *out, size_t begin, const char *separator) {
    if (out->len > begin)
        buf_append(out, str_from_c(separator));
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

void cel_text_messages(Buf *out, const TextPart *part, const void *items, size_t n) {
    const char *at = items;

    for (size_t i = 0; i < n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR("["));
        part->condition(out, at + i * part->size);
        buf_append(out, STR(" ? '' : "));
        part->message(out, at + i * part->size);
    }
    buf_append(out, STR("].filter(m, m != '').join('; ')"));
}

void cel_text_entries(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    const TextPart *part = kind->part;
    char *items;

    if (!reader_entries(reader, value, kind->field.ptr, kind->shape))
        return;
    items = arena_zalloc(reader->arena, value->n, part->size);
    for (size_t i = 0; items && i < value->n; i++)
        part->read(reader, &value->pairs[i], items + i * part->size);
    cel_text_all(ret, part, items, items ? value->n : 0);
}

void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n) {
    const char *at = items;

    for (size_t i = 0; i < n; i++) {
        cel_text_separate(&ret->expression, 0, " && ");
        part->condition(&ret->expression, at + i * part->size);
    }
    if (n == 1) /* messages are only for failed nodes: no need to check */
        part->message(&ret->message, items);
    else if (n > 1)
        cel_text_messages(&ret->message, part, items, n);
}
