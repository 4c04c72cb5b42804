/* What every rule may say besides its kind: its name, its reason, what counts where it fails. */

#include "policy/rule-fields.h"

#include "base/ascii.h"

#define NAME_MAX_BYTES 63u

/* Goes into kube-scheduler's events, which are cut at 1,024 bytes for all nodes
 * together. */
#define REASON_MAX 200u

/* --- names ---------------------------------------------------------------- */

bool rule_name_is_valid(Str name) {
    if (name.len == 0 || name.len > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!(ascii_is_alnum(c) || c == '-' || c == '_' || c == '.'))
            return false;
    }
    return true;
}

bool reader_name(PolicyReader *reader, const YamlNode *value, Str *ret) {
    Str name;

    if (!reader_string(reader, value, "name", &name))
        return false;
    if (rule_name_is_valid(name)) {
        *ret = name;
        return true;
    }
    reader_error_hint(reader,
        value,
        STR("letters, digits, '-', '_' and '.', at most 63 characters"),
        "\"%.*s\" is not a name",
        STR_FMT(name));
    return false;
}

void reader_fallback(
    PolicyReader *reader, const YamlNode *value, const char *what, Str hint, Fallback *ret) {
    Str word;

    if (!reader_string(reader, value, what, &word))
        return;
    if (str_is(word, "allow"))
        *ret = FALLBACK_ALLOW;
    else if (str_is(word, "reject"))
        *ret = FALLBACK_REJECT;
    else
        reader_error_hint(
            reader, value, hint, "%s must be allow or reject, not \"%.*s\"", what, STR_FMT(word));
}

/* --- common fields ----------------------------------------------------------- */

static void read_rule_name(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_name(reader, value, &((RuleFields *)into)->name);
}

static bool is_one_line(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return false;
    return true;
}

static void read_reason(PolicyReader *reader, const YamlNode *value, void *into) {
    RuleFields *fields = into;

    if (!reader_string(reader, value, "reason", &fields->reason))
        return;
    if (str_is_empty(fields->reason) || fields->reason.len > REASON_MAX ||
        !is_one_line(fields->reason))
        reader_error_hint(reader,
            value,
            STR("kube-scheduler groups nodes by this text and shows it in events"),
            "reason must be one line of 1 to %u bytes",
            REASON_MAX);
}

static void read_unresolvable(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_bool(reader, value, "unresolvable", &((RuleFields *)into)->is_unresolvable);
}

static void read_message(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader;
    ((RuleFields *)into)->message = value;
}

static void read_filter_on_error(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fallback(reader, value, "onError", FALLBACK_HINT, &((RuleFields *)into)->on_error);
}

static void read_score_on_error(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_number(reader, value, "onError", 0, 100, &((RuleFields *)into)->score_on_error);
}

static void read_filter_on_missing(PolicyReader *reader, const YamlNode *value, void *into) {
    RuleFields *fields = into;

    fields->has_on_missing = true;
    reader_fallback(reader,
        value,
        "onMissing",
        STR("reject, or allow: as if the node had passed; unless given, what onError says"),
        &fields->on_missing);
}

static void read_score_on_missing(PolicyReader *reader, const YamlNode *value, void *into) {
    RuleFields *fields = into;

    fields->has_on_missing = true;
    (void)reader_number(reader, value, "onMissing", 0, 100, &fields->score_on_missing);
}

static void read_weight(PolicyReader *reader, const YamlNode *value, void *into) {
    double weight;

    if (!reader_number(reader, value, "weight", 0, 1000000, &weight))
        return;
    if (weight == 0)
        reader_error_hint(
            reader, value, STR("leave the rule out instead"), "weight must be greater than 0");
    else
        ((RuleFields *)into)->weight = weight;
}

static const char *const normalize_words[] = {"none", "minMax", "rank", NULL};

static void read_normalize(PolicyReader *reader, const YamlNode *value, void *into) {
    RuleFields *fields = into;
    Str word;

    if (!reader_string(reader, value, "normalize", &word))
        return;
    for (unsigned i = 0; normalize_words[i]; i++) {
        if (str_is(word, normalize_words[i])) {
            fields->normalize = (Normalize)i;
            return;
        }
    }
    reader_error_hint(reader,
        value,
        STR("none (the default), minMax or rank: over the candidates of a request"),
        "unknown normalize \"%.*s\"",
        STR_FMT(word));
}

static const char *const fallback_words[] = {"reject", "allow", NULL};
const Shape fallback_shape = {.kind = SHAPE_WORD, .words = fallback_words};
static const Shape weight_shape = {
    .kind = SHAPE_NUMBER, .min = 0, .max = 1000000, .is_above = true};
static const Shape normalize_shape = {.kind = SHAPE_WORD, .words = normalize_words};

const Field rule_filter_fields[RULE_FILTER_FIELDS] = {
    {.name = STR("name"),
        .is_required = true,
        .shape = &shape_name,
        .about = "how metrics and explanations call it",
        .read = read_rule_name},
    {.name = STR("reason"),
        .shape = &shape_string,
        .about = "what kube-scheduler is told of a node that fails; fixed text",
        .read = read_reason},
    {.name = STR("messageExpression"),
        .shape = &shape_expression,
        .about = "a string for explain: which value met which limit",
        .read = read_message},
    {.name = STR("unresolvable"),
        .shape = &shape_bool,
        .about = "preemption cannot help",
        .read = read_unresolvable},
    {.name = STR("onError"),
        .shape = &fallback_shape,
        .about = "what counts for a node on which the expression fails",
        .read = read_filter_on_error},
    {.name = STR("onMissing"),
        .shape = &fallback_shape,
        .about = "the same where a metric that it reads is absent; as onError unless given",
        .read = read_filter_on_missing},
};

const Field rule_score_fields[RULE_SCORE_FIELDS] = {
    {.name = STR("name"),
        .is_required = true,
        .shape = &shape_name,
        .about = "how metrics and explanations call it",
        .read = read_rule_name},
    {.name = STR("weight"),
        .shape = &weight_shape,
        .about = "its share among all scores that apply; 1 unless given",
        .read = read_weight},
    {.name = STR("onError"),
        .shape = &shape_points,
        .about = "the score of a node on which the expression fails; 0 unless given",
        .read = read_score_on_error},
    {.name = STR("onMissing"),
        .shape = &shape_points,
        .about = "the same where a metric that it reads is absent; as onError unless given",
        .read = read_score_on_missing},
    {.name = STR("normalize"),
        .shape = &normalize_shape,
        .about = "how values become 0 to 100 over the candidates",
        .read = read_normalize},
};
