/*
 * nodeConditions: what the node's conditions must say.
 *
 *     nodeConditions: {DiskPressure: "False", MemoryPressure: ["False", Unknown]}
 *
 * A condition that the node does not have counts as Unknown, which is what Kubernetes makes of
 * one that nobody has reported for a while.
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

static const Str statuses[] = {STR("True"), STR("False"), STR("Unknown")};
#define UNKNOWN 2u

/* One condition and the statuses it may have. */
typedef struct Wanted {
    Str type;
    bool status[ELEMENTS_OF(statuses)];
} Wanted;

/* --- reading ------------------------------------------------------------------ */

/* YAML takes an unquoted False for a boolean; what is meant is plain all the same. */
static void read_status(PolicyReader *reader, const YamlNode *value, Wanted *ret) {
    Str text;

    if (!reader_label_value(reader, value, "a condition's status", &text))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(statuses); i++)
        if (str_eq_nocase(statuses[i], text)) {
            ret->status[i] = true;
            return;
        }
    reader_error_hint(reader,
        value,
        STR("one of True, False and Unknown"),
        "\"%.*s\" is not a condition's status",
        STR_FMT(text));
}

#define CONDITION_TYPE_MAX 316u /* as Kubernetes: prefix/name */

static bool check_type(PolicyReader *reader, const YamlNode *key) {
    if (key->text.len > 0 && key->text.len <= CONDITION_TYPE_MAX)
        return true;
    reader_error(reader, key, "a condition's type has 1 to %u bytes", CONDITION_TYPE_MAX);
    return false;
}

static void read_wanted(PolicyReader *reader, const YamlPair *pair, Wanted *ret) {
    const YamlNode *value = pair->value;

    ret->type = pair->key->text;
    if (!check_type(reader, pair->key))
        return;
    if (value->kind != YAML_SEQUENCE) {
        read_status(reader, value, ret);
        return;
    }
    if (value->n == 0)
        reader_error(reader, value, "a condition's statuses must not be empty");
    for (size_t i = 0; i < value->n; i++)
        read_status(reader, value->items[i], ret);
}

/* --- writing ------------------------------------------------------------------ */

/* Those that are wanted, or those that are not. */
static size_t select_statuses(const Wanted *wanted, bool are_wanted, Str *ret) {
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS_OF(statuses); i++)
        if (wanted->status[i] == are_wanted)
            ret[n++] = statuses[i];
    return n;
}

/* conditions.exists(c, c.type == TYPE && c.status in […]); where Unknown will do, that none is
 * there with another. */
static void write_condition(Buf *out, const void *item) {
    const Wanted *wanted = item;
    Str list[ELEMENTS_OF(statuses)];
    bool may_lack = wanted->status[UNKNOWN];
    size_t n = select_statuses(wanted, !may_lack, list);

    if (n == 0) {
        buf_append(out, STR("true"));
        return;
    }
    buf_append(out, may_lack ? STR("!") : STR_NULL);
    buf_append(out, STR("node.status.conditions.exists(c, c.type == "));
    cel_text_string(out, wanted->type);
    buf_append(out, STR(" && c.status "));
    if (n == 1) {
        buf_append(out, STR("== "));
        cel_text_string(out, list[0]);
    } else {
        buf_append(out, STR("in "));
        cel_text_strings(out, list, n);
    }
    buf_append_char(out, ')');
}

static void describe(Buf *out, const Wanted *wanted) {
    Str list[ELEMENTS_OF(statuses)];
    size_t n = select_statuses(wanted, /* are_wanted= */ true, list);

    buf_append(out, STR(", must be "));
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? " or " : "", STR_FMT(list[i]));
}

/* 'condition DiskPressure is ' + STATUS + ', must be False' */
static void write_finding(Buf *out, const void *item) {
    const Wanted *wanted = item;
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_append(&words, STR("condition "));
    buf_append(&words, wanted->type);
    buf_append(&words, STR(" is "));
    cel_text_words(out, &words);
    buf_append(out, STR(" + node.status.conditions.filter(c, c.type == "));
    cel_text_string(out, wanted->type);
    buf_append(out, STR(").map(c, c.status).first().orValue('absent') + "));
    buf_reset(&words);
    describe(&words, wanted);
    cel_text_words(out, &words);
}

static const TextPart part = {.condition = write_condition, .finding = write_finding};

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Wanted *items;

    if (!reader_mapping(reader, value, "nodeConditions"))
        return;
    if (value->n == 0)
        reader_error(reader, value, "nodeConditions must name at least one condition");
    items = ARENA_ARRAY(reader->arena, Wanted, value->n);
    for (size_t i = 0; items && i < value->n; i++)
        read_wanted(reader, &value->pairs[i], &items[i]);
    cel_text_all(ret, &part, items, items ? value->n : 0, sizeof(*items));
}

static const Shape either_shape = {
    .kind = SHAPE_EITHER, .of = &shape_scalar, .other = &shape_scalars};
static const Shape shape = {.kind = SHAPE_MAP, .of = &either_shape, .min = 1};

const RuleKind kind_node_conditions = {
    .field = STR("nodeConditions"),
    .summary = "the node's conditions are as required",
    .shape = &shape,
    .write = write,
};
