/* Warns of words that the API never uses, and of reasons that look like templates. For some fields
 * the table is complete (the API rejects other words); for others it has the common words, and only
 * a word that is nearly one of these gives a warning. */

#include "base/ascii.h"
#include "policy/lint-internal.h"
#include "schema/amounts.h"

#define WORDS_MAX 7u

typedef struct ApiWords {
    const char *record, *field;
    bool is_complete;
    size_t n;
    Str words[WORDS_MAX];
} ApiWords;

static const ApiWords table[] = {
    {"Taint", "effect", true, 4,
        {STR("NoSchedule"), STR("PreferNoSchedule"), STR("NoExecute"), STR("Unknown")}},
    {"Toleration", "effect", true, 5,
        {STR("NoSchedule"), STR("PreferNoSchedule"), STR("NoExecute"), STR("Unknown"), STR("")}},
    {"Toleration", "operator", true, 2, {STR("Equal"), STR("Exists")}},
    {"Condition", "status", true, 3, {STR("True"), STR("False"), STR("Unknown")}},
    {"Condition", "type", false, 5,
        {STR("Ready"), STR("MemoryPressure"), STR("DiskPressure"), STR("PIDPressure"),
            STR("NetworkUnavailable")}},
    {"OwnerReference", "kind", false, 7,
        {STR("ReplicaSet"), STR("StatefulSet"), STR("DaemonSet"), STR("Job"), STR("CronJob"),
            STR("ReplicationController"), STR("Node")}},
};

/* The words of the field that node @i selects; NULL: any text. */
static const ApiWords *find_words(const LintExpression *x, uint32_t i) {
    const CelRecordType *record = NULL;
    Str field = lint_field(x, i, &record);

    for (size_t k = 0; field.ptr && k < ELEMENTS_OF(table); k++)
        if (str_is(record->name, table[k].record) && str_is(field, table[k].field))
            return &table[k];
    return NULL;
}

/* "it is a, b or c", without the empty word, which is last. */
static Str list_words(const LintExpression *x, const ApiWords *words) {
    size_t n = words->n - str_is_empty(words->words[words->n - 1]);
    Str any = reader_any_of(x->lint->scratch, words->words, n);

    return arena_printf(x->lint->scratch, "it is %.*s", STR_FMT(any));
}

static void check_word(
    const LintExpression *x, const ApiWords *words, uint32_t field, uint32_t literal) {
    Str word = lint_string(x, literal);
    Str meant = str_nearest(word, words->words, words->n);

    if (!word.ptr || str_is_one_of(word, words->words, words->n) ||
        (!words->is_complete && str_is_empty(meant)))
        return;
    lint_warn(x, literal,
        str_is_empty(meant)
            ? LINT_HINT(list_words(x, words))
            : lint_instead(x, literal, arena_printf(x->lint->scratch, "'%.*s'", STR_FMT(meant)),
                  arena_printf(x->lint->scratch, "did you mean \"%.*s\"?", STR_FMT(meant))),
        words->is_complete ? "%.*s is never \"%.*s\"" : "%.*s is unlikely to be \"%.*s\"",
        STR_FMT(lint_text(x, field)), STR_FMT(word));
}

/* Checks x.effect == 'word', 'word' != x.effect, x.effect in ['word', 'word']. */
static void check_comparison(const LintExpression *x, uint32_t i) {
    uint32_t left = lint_child(x->tree, i, 0), right = lint_child(x->tree, i, 1);
    const ApiWords *words = find_words(x, left);

    if (lint_is_call(x->tree, i, "@in")) {
        if (!words || x->tree->nodes[right].kind != CEL_NODE_LIST)
            return;
        for (uint32_t k = 0; k < x->tree->nodes[right].n_children; k++)
            check_word(x, words, left, lint_child(x->tree, right, k));
        return;
    }
    if (words)
        check_word(x, words, left, right);
    else if ((words = find_words(x, right)))
        check_word(x, words, right, left);
}

bool lint_is_amounts(const LintExpression *x, uint32_t map) {
    static const Str fields[] = {
        STR("free"), STR("requested"), STR("allocatable"), STR("requests")};

    return x->notes[map].type->kind == CEL_T_MAP &&
           cel_type_param(x->notes[map].type, 1)->kind == CEL_T_DOUBLE &&
           str_is_one_of(lint_field(x, map, NULL), fields, ELEMENTS_OF(fields));
}

static LintHint suggest_resource(const LintExpression *x, uint32_t i, uint32_t map, Str key) {
    Str meant = str_eq_nocase(key, STR(AMOUNT_MILLI_CPU)) ? STR(AMOUNT_MILLI_CPU)
                                                          : resource_name_meant(key);
    Str from = lint_text(x, map), text;
    Arena *arena = x->lint->scratch;
    bool is_name = str_find(meant, '/') == SIZE_MAX && str_find(meant, '-') == SIZE_MAX;

    if (str_is_empty(meant))
        return LINT_HINT(STR("extended resources have a domain, like nvidia.com/gpu"));
    text =
        arena_printf(arena, is_name ? "%.*s.%.*s" : "%.*s['%.*s']", STR_FMT(from), STR_FMT(meant));
    return lint_instead(x, i, text, arena_printf(arena, "did you mean %.*s?", STR_FMT(text)));
}

/* Reports a resource that cannot exist: node.free.cpus. */
static void check_resource(const LintExpression *x, uint32_t i) {
    Str key = STR_NULL;
    uint32_t map = lint_look_up(x, i, &key);

    if (map == UINT32_MAX || !key.ptr || !lint_is_amounts(x, map) ||
        str_is(key, AMOUNT_MILLI_CPU) || resource_name_is_possible(key))
        return;
    lint_report(x, DIAG_ERROR, i, suggest_resource(x, i, map, key),
        "there is no resource \"%.*s\": this is always 0.0", STR_FMT(key));
}

void lint_words(const LintExpression *x) {
    for (uint32_t i = 0; i < x->tree->n_nodes; i++) {
        if (lint_is_call(x->tree, i, "_==_") || lint_is_call(x->tree, i, "_!=_") ||
            lint_is_call(x->tree, i, "@in"))
            check_comparison(x, i);
        else
            check_resource(x, i);
    }
}

/* All reasons of a pod share 1,024 bytes of an event. */
#define REASON_LONG 120u

/* Whether text[i] begins a conversion of printf: %s, %d …, not followed by a letter. */
static bool is_verb(Str text, size_t i) {
    return text.ptr[i] == '%' && i + 1 < text.len &&
           str_find(STR("sdvfiuxq"), text.ptr[i + 1]) != SIZE_MAX &&
           (i + 2 == text.len || !ascii_is_letter(text.ptr[i + 2]));
}

/* Whether text[i] is the first '-' of a date: 2026-01-02. */
static bool is_date(Str text, size_t i) {
    if (i < 4 || i + 2 >= text.len || text.ptr[i] != '-')
        return false;
    for (size_t k = i - 4; k <= i + 2; k++)
        if (k != i && !ascii_is_digit(text.ptr[k]))
            return false;
    return true;
}

static bool looks_varying(Str reason) {
    static const Str parts[] = {STR("node.metadata"), STR("pod.metadata"), STR("params."),
        STR("variables."), STR("metrics."), STR("string("), STR("' +")};

    for (size_t i = 0; i < reason.len; i++)
        if (is_verb(reason, i) || is_date(reason, i) ||
            (reason.ptr[i] == '{' && str_find(str_skip(reason, i), '}') != SIZE_MAX))
            return true;
    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        if (memmem(reason.ptr, reason.len, parts[i].ptr, parts[i].len))
            return true;
    return false;
}

void lint_reason(const Lint *lint, const YamlNode *reason) {
    if (!reason)
        return;
    if (looks_varying(reason->text))
        reader_warning(lint->reader, reason,
            STR("kube-scheduler groups nodes by it; messageExpression is for values"),
            "a reason is a fixed text: nothing is substituted");
    else if (reason->text.len > REASON_LONG)
        reader_warning(lint->reader, reason,
            STR("all reasons of a pod share 1,024 bytes of its event; messageExpression is for "
                "more"),
            "the reason is long: %zu bytes", reason->text.len);
}
