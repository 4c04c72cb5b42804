/* Reads values and mappings of policy files by their shapes, and defines the shared shapes. */

#include "policy/reader.h"

#include <assert.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/label.h"
#include "base/nsec.h"
#include "cel/time.h"
#include "policy/kind.h"

#define NAMES_MAX 64u /* names in one mapping: fields and kinds */
#define WORDS_MAX 8u  /* accepted by one field */
#define DAY_NS (INT64_C(24) * 60 * 60 * 1000 * 1000 * 1000)

/* --- fields ---------------------------------------------------------------- */

typedef struct Names {
    Str items[NAMES_MAX];
    size_t n;
} Names;

static Names names_of(const Shape *shape) {
    size_t n_kinds = shape->kinds ? *shape->n_kinds : 0;
    Names names = {.n = shape->n_fields + n_kinds + (shape->or_field != NULL)};

    assert(names.n <= NAMES_MAX); /* the tables are constant */
    for (size_t i = 0; i < shape->n_fields; i++)
        names.items[i] = shape->fields[i].name;
    for (size_t i = 0; i < n_kinds; i++)
        names.items[shape->n_fields + i] = shape->kinds[i]->field;
    if (shape->or_field)
        names.items[names.n - 1] = str_from_c(shape->or_field);
    return names;
}

/* Whether an unknown field is probably a misspelt @name, so that its absence needs no second
 * error. */
static bool is_misspelt(const YamlNode *mapping, Str name, const Names *names) {
    for (size_t i = 0; i < mapping->n; i++) {
        Str key = mapping->pairs[i].key->text;

        if (!str_is_one_of(key, names->items, names->n) &&
            str_eq(str_nearest(key, names->items, names->n), name))
            return true;
    }
    return false;
}

static bool read_field(YamlReader *reader, const YamlPair *pair, const Shape *shape, void *into) {
    for (size_t i = 0; i < shape->n_fields; i++) {
        const Field *field = &shape->fields[i];
        const char *what = field->what ? field->what : field->name.ptr;

        if (!str_eq(field->name, pair->key->text))
            continue;
        if (!field->read)
            (void)reader_value(
                reader, pair->value, what, field->shape, (char *)into + field->offset);
        else if (reader_entries(reader, pair->value, what, field->shape))
            field->read(reader, pair->value, into);
        return true;
    }
    return false;
}

bool reader_fields(
    YamlReader *reader, const YamlNode *mapping, const char *what, const Shape *shape, void *into) {
    size_t n_errors = reader->diags->n_errors;
    Names names = names_of(shape);

    if (!reader_mapping(reader, mapping, what))
        return false;
    for (size_t i = 0; i < mapping->n; i++) {
        const YamlNode *key = mapping->pairs[i].key;

        if (!read_field(reader, &mapping->pairs[i], shape, into) &&
            !str_is_one_of(key->text, names.items, names.n))
            reader_unknown_field(reader, DIAG_ERROR, key, what, names.items, names.n);
    }
    for (size_t i = 0; i < shape->n_fields; i++) {
        const Field *field = &shape->fields[i];

        if (field->is_required && !yaml_find(mapping, field->name) &&
            !is_misspelt(mapping, field->name, &names))
            reader_error(
                reader, mapping, "%s needs the field \"%.*s\"", what, STR_FMT(field->name));
    }
    return reader->diags->n_errors == n_errors;
}

bool reader_entries(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape) {
    if (shape->kind != SHAPE_LIST && shape->kind != SHAPE_MAP)
        return true;
    if (!(shape->kind == SHAPE_LIST ? reader_sequence : reader_mapping)(reader, value, what))
        return false;
    if ((double)value->n < shape->min)
        return reader_error(reader, value,
            shape->min == 1 ? "%s must not be empty" : "%s must have at least %g entries", what,
            shape->min);
    return shape->max == 0 || (double)value->n <= shape->max ||
           reader_error(reader, value, "%s must have at most %g entries, not %zu", what, shape->max,
               value->n);
}

bool shape_choice(const Shape *shape, size_t number, ShapeChoice *ret) {
    if (shape->kinds && number == 0)
        *ret = (ShapeChoice){str_from_c(shape->or_field), &shape_expression};
    else if (shape->kinds && number <= *shape->n_kinds)
        *ret = (ShapeChoice){shape->kinds[number - 1]->field, shape->kinds[number - 1]->shape};
    else if (!shape->kinds && shape->one_of[number])
        *ret = (ShapeChoice){.name = str_from_c(shape->one_of[number])};
    else
        return false;
    for (size_t i = 0; !ret->shape && i < shape->n_fields; i++)
        if (str_eq(shape->fields[i].name, ret->name))
            ret->shape = shape->fields[i].shape;
    return true;
}

static void report_no_choice(
    YamlReader *reader, const YamlNode *mapping, const char *what, const Shape *shape) {
    Str hint = STR("one of");
    ShapeChoice choice;

    for (size_t i = 0; shape_choice(shape, i, &choice); i++)
        hint = arena_printf(
            reader->arena, "%.*s%s %.*s", STR_FMT(hint), i > 0 ? "," : "", STR_FMT(choice.name));
    reader_error_hint(reader, mapping, hint, "%s needs a %s", what, shape->choice);
}

const YamlPair *reader_choice(YamlReader *reader, const YamlNode *mapping, const char *what,
    const Shape *shape, size_t *ret_number) {
    Names names = names_of(shape);
    const YamlPair *first = NULL;
    bool has_unknown =
        false; /* then a missing kind was probably misspelt, and needs no second error */

    for (size_t i = 0; i < mapping->n; i++) {
        const YamlNode *key = mapping->pairs[i].key;
        ShapeChoice choice;

        has_unknown |= !str_is_one_of(key->text, names.items, names.n);
        for (size_t k = 0; shape_choice(shape, k, &choice); k++) {
            if (!str_eq(choice.name, key->text))
                continue;
            if (first)
                reader_error_hint(reader, key, STR("write one for each"),
                    "%s has one %s, and \"%.*s\" is given already", what, shape->choice,
                    STR_FMT(first->key->text));
            else
                *ret_number = k;
            first = first ? first : &mapping->pairs[i];
        }
    }
    if (!first && !has_unknown)
        report_no_choice(reader, mapping, what, shape);
    return first;
}

/* --- values ---------------------------------------------------------------- */

bool reader_label_value(YamlReader *reader, const YamlNode *value, const char *what, Str *ret) {
    if (!yaml_is_scalar(value) || value->kind == YAML_NULL)
        return reader_wrong_kind(reader, value, what, "a string", STR_NULL);
    *ret = value->text;
    return true;
}

Str reader_any_of(Arena *arena, const Str *words, size_t n) {
    Str list = words[0];

    for (size_t i = 1; i < n; i++)
        list = arena_printf(
            arena, i + 1 < n ? "%.*s, %.*s" : "%.*s or %.*s", STR_FMT(list), STR_FMT(words[i]));
    return list;
}

/* Reports "WHAT must be a, b or c, not FOUND". */
static void report_word(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, size_t n) {
    Str words[WORDS_MAX] = {STR_NULL}, meant, any;

    for (size_t i = 0; i < n; i++)
        words[i] = str_from_c(shape->words[i]);
    meant = n > 1 ? str_nearest(value->text, words, n) : STR_NULL;
    any = reader_any_of(reader->arena, words, n);
    reader_error_hint(reader, value,
        str_is_empty(meant) ? str_from_c(shape->hint)
                            : arena_printf(reader->arena, "did you mean \"%.*s\"?", STR_FMT(meant)),
        "%s must be %.*s, not \"%.*s\"", what, STR_FMT(any), STR_FMT(value->text));
}

static bool read_word(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, void *ret) {
    unsigned n = 0;
    Str word;

    if (!reader_string(reader, value, what, &word))
        return false;
    for (; shape->words[n]; n++) {
        assert(n < WORDS_MAX);
        if (!str_is(word, shape->words[n]))
            continue;
        if (shape->is_text)
            *(Str *)ret = word;
        else
            *(unsigned *)ret = n + (unsigned)shape->min;
        return true;
    }
    report_word(reader, value, what, shape, n);
    return false;
}

static bool read_number(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, double *ret) {
    double number;

    if (!reader_number(reader, value, what, shape->min, shape->max, &number))
        return false;
    if (shape->is_above && number <= shape->min)
        return reader_error_hint(
            reader, value, str_from_c(shape->hint), "%s must be greater than %g", what, shape->min);
    *ret = number;
    return true;
}

/* Reads a field that can only be true: to disable it, users leave it out. */
static bool read_true(YamlReader *reader, const YamlNode *value, const char *what, bool *ret) {
    return reader_bool(reader, value, what, ret) &&
           (*ret || reader_error_hint(reader, value,
                        arena_printf(reader->arena, "write %s: true, or leave it out", what),
                        "%s: false has no effect", what));
}

static bool read_text(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, void *ret) {
    Str text;

    if (!(shape->kind == SHAPE_STRING ? reader_string(reader, value, what, &text)
                                      : reader_label_value(reader, value, what, &text)) ||
        (shape->check && !shape->check(reader, value)))
        return false;
    if (shape->is_c)
        *(const char **)ret = text.ptr; /* texts in a YAML tree end with a NUL */
    else
        *(Str *)ret = text;
    return true;
}

static bool read_list(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, StrList *ret) {
    bool is_right = reader_string_list(reader, value, what, ret);

    for (size_t i = 0; is_right && shape->of->check && i < value->n; i++)
        (void)shape->of->check(reader, value->items[i]);
    return is_right;
}

static bool read_duration(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, int64_t *ret) {
    int64_t ns;

    if (!reader_duration(reader, value, what, &ns))
        return false;
    if (shape->max > 0 && ((double)ns < shape->min || (double)ns > shape->max))
        return reader_error(reader, value, "%s must be from %.0fs to %.0fs, not \"%.*s\"", what,
            shape->min / NSEC_PER_SEC, shape->max / NSEC_PER_SEC, STR_FMT(value->text));
    *ret = ns;
    return true;
}

static bool read_selector(YamlReader *reader, const YamlNode *value, Selector *ret);

bool reader_value(
    YamlReader *reader, const YamlNode *value, const char *what, const Shape *shape, void *ret) {
    switch (shape->kind) {
    case SHAPE_ANY:
    case SHAPE_EXPRESSION:
        *(const YamlNode **)ret = value;
        return true;
    case SHAPE_STRING:
    case SHAPE_SCALAR:
        return read_text(reader, value, what, shape, ret);
    case SHAPE_BOOL:
        return reader_bool(reader, value, what, ret);
    case SHAPE_TRUE:
        return read_true(reader, value, what, ret);
    case SHAPE_INT:
        return reader_int(reader, value, what,
            shape->min <= -0x1p63 ? INT64_MIN : (int64_t)shape->min,
            shape->max >= 0x1p63 ? INT64_MAX : (int64_t)shape->max, ret);
    case SHAPE_NUMBER:
        return read_number(reader, value, what, shape, ret);
    case SHAPE_DURATION:
        return read_duration(reader, value, what, shape, ret);
    case SHAPE_WORD:
        return read_word(reader, value, what, shape, ret);
    case SHAPE_LIST:
        return shape->of->kind != SHAPE_SCALAR || read_list(reader, value, what, shape, ret);
    case SHAPE_OBJECT:
        return shape == &shape_selector ? read_selector(reader, value, ret)
                                        : reader_fields(reader, value, what, shape, ret);
    case SHAPE_MAP:
        if (shape->is_kept)
            *(const YamlNode **)ret = value;
        return true;
    case SHAPE_AMOUNT:
    case SHAPE_EITHER:
        return true;
    }
    return false;
}

bool reader_string_list(YamlReader *reader, const YamlNode *value, const char *what, StrList *ret) {
    Str *list;

    if (!reader_sequence(reader, value, what))
        return false;
    if (value->n == 0)
        return reader_error(reader, value, "%s must not be empty", what);
    list = ARENA_ARRAY(reader->arena, Str, value->n);
    if (!list)
        return false;
    for (size_t i = 0; i < value->n; i++) {
        char each[64];

        (void)snprintf(each, sizeof(each), "each of %s", what);
        if (!reader_label_value(reader, value->items[i], each, &list[i]))
            return false;
    }
    *ret = (StrList){.items = list, .n = value->n};
    return true;
}

/* --- durations ------------------------------------------------------------- */

/* Parses a duration of CEL, but without a sign. A bare 0 is valid only if it is the whole text. */
static bool parse_rest(Str text, bool is_whole, int64_t *ret_ns) {
    bool has_sign = !str_is_empty(text) && (text.ptr[0] == '+' || text.ptr[0] == '-');

    return !has_sign && (is_whole || !str_is(text, "0")) && cel_duration_parse(text, ret_ns);
}

/* Parses durations like CEL (and Go), and also days: "30d", "1d12h", "90s". */
static bool parse_duration(Str text, int64_t *ret_ns) {
    size_t d = str_find(text, 'd');
    int64_t days = 0, rest = 0;

    if (d != SIZE_MAX) {
        if (!str_to_int64(str_take(text, d), &days) || days < 0 ||
            days > READER_DURATION_MAX / DAY_NS)
            return false;
        text = str_skip(text, d + 1);
    }
    if ((d == SIZE_MAX || !str_is_empty(text)) && !parse_rest(text, d == SIZE_MAX, &rest))
        return false;
    if (rest > READER_DURATION_MAX - days * DAY_NS)
        return false;
    *ret_ns = days * DAY_NS + rest;
    return true;
}

bool reader_duration(YamlReader *reader, const YamlNode *value, const char *what, int64_t *ret_ns) {
    static const Str hint = STR("a number and a unit, like 90s, 5m, 2h30m or 30d");
    Str text;

    if (value->kind != YAML_STRING && value->kind != YAML_INT && value->kind != YAML_FLOAT)
        return reader_string(reader, value, what, &text);
    return (value->kind == YAML_STRING && parse_duration(value->text, ret_ns)) ||
           reader_error_hint(reader, value, hint,
               value->kind == YAML_STRING ? "%s must be a duration up to 36500d, not \"%.*s\""
                                          : "%s must be a duration up to 36500d, not %.*s",
               what, STR_FMT(value->text));
}

/* --- names ------------------------------------------------------------------ */

static bool check_key(YamlReader *reader, const YamlNode *key, const char *what) {
    static const Str hint =
        STR("name or prefix/name: letters, digits, '-', '_' and '.', a letter or digit at both "
            "ends, at most 63 characters");

    return label_is_key(key->text) ||
           reader_error_hint(reader, key, hint, "\"%.*s\" is not %s", STR_FMT(key->text), what);
}

bool reader_label_key(YamlReader *reader, const YamlNode *key) {
    return check_key(reader, key, "a label key");
}

bool reader_annotation_key(YamlReader *reader, const YamlNode *key) {
    return check_key(reader, key, "an annotation key");
}

/* Shorter names would be similar to too many others: gpu is not a misspelt cpu. */
#define MEANT_MIN 4u

static const Str resource_names[] = {
    STR("cpu"), STR("memory"), STR("ephemeral-storage"), STR("pods")};
static const Str resource_prefixes[] = {STR("hugepages-"), STR("attachable-volumes-")};

static const struct {
    Str word, meant;
} resource_words[] = {
    {STR("cpu"), STR("cpu")}, /* also CPU and Cpu */
    {STR("cores"), STR("cpu")},
    {STR("vcpu"), STR("cpu")},
    {STR("mem"), STR("memory")},
    {STR("ram"), STR("memory")},
    {STR("storage"), STR("ephemeral-storage")},
    {STR("disk"), STR("ephemeral-storage")},
    {STR("pod"), STR("pods")},
    {STR("gpu"), STR("nvidia.com/gpu")},
    {STR("gpus"), STR("nvidia.com/gpu")},
};

bool resource_name_is_possible(Str name) {
    if (str_find(name, '/') != SIZE_MAX ||
        str_is_one_of(name, resource_names, ELEMENTS_OF(resource_names)))
        return true;
    for (size_t i = 0; i < ELEMENTS_OF(resource_prefixes); i++)
        if (str_has_prefix(name, resource_prefixes[i]))
            return true;
    return false;
}

Str resource_name_meant(Str name) {
    for (size_t i = 0; i < ELEMENTS_OF(resource_words); i++)
        if (str_eq_nocase(name, resource_words[i].word))
            return resource_words[i].meant;
    return name.len >= MEANT_MIN ? str_nearest(name, resource_names, ELEMENTS_OF(resource_names))
                                 : STR_NULL;
}

bool reader_resource_name(YamlReader *reader, const YamlNode *name) {
    Str meant;

    if (!check_key(reader, name, "the name of a resource"))
        return false;
    if (resource_name_is_possible(name->text))
        return true;
    meant = resource_name_meant(name->text);
    reader_error_hint(reader, name,
        str_is_empty(meant) ? STR("extended resources have a domain, like nvidia.com/gpu")
                            : arena_printf(reader->arena, "did you mean \"%.*s\"?", STR_FMT(meant)),
        "there is no resource \"%.*s\": no pod can request it", STR_FMT(name->text));
    if (meant.len > 0 && name->is_plain)
        diag_fix(reader->diags, name->place, meant);
    return false;
}

bool reader_namespace(YamlReader *reader, const YamlNode *name) {
    return label_is_namespace(name->text) ||
           reader_error_hint(reader, name,
               STR("lowercase letters, digits and '-', at most 63 characters; leave namespaces out "
                   "for all"),
               "\"%.*s\" is not a namespace", STR_FMT(name->text));
}

static bool check_name(YamlReader *reader, const YamlNode *name) {
    return rule_name_is_valid(name->text) ||
           reader_error_hint(reader, name,
               STR("letters, digits, '-', '_' and '.', at most 63 characters"),
               "\"%.*s\" is not a name", STR_FMT(name->text));
}

bool rule_name_is_valid(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!(ascii_is_alnum(c) || c == '-' || c == '_' || c == '.'))
            return false;
    }
    return name.len > 0 && name.len <= RULE_NAME_MAX;
}

/* --- selectors ------------------------------------------------------------ */

typedef VEC(Requirement) Requirements;

static void read_match_labels(YamlReader *reader, const YamlNode *value, void *into) {
    for (size_t i = 0; i < value->n; i++) {
        const YamlPair *pair = &value->pairs[i];
        Str text;

        if (reader_label_key(reader, pair->key) &&
            reader_label_value(reader, pair->value, "a label's value", &text))
            (void)VEC_ADD((Requirements *)into, reader->arena,
                (Requirement){.key = pair->key->text,
                    .op = SELECTOR_IN,
                    .values = &pair->value->text,
                    .n_values = 1});
    }
}

/* An entry of matchExpressions. */
typedef struct LabelExpression {
    Str key;
    unsigned op; /* SelectorOp */
    StrList values;
} LabelExpression;

/* In the order of SelectorOp, which begins with these four. */
static const Shape operator_shape = {SHAPE_WORDS("In", "NotIn", "Exists", "DoesNotExist")};

static const Field expression_fields[] = {
    {REQUIRED("key"), INTO(LabelExpression, key, shape_label_key), "label key"},
    {REQUIRED("operator"), INTO(LabelExpression, op, operator_shape),
        "how the label's value is compared with `values`"},
    {OPTIONAL("values"), INTO(LabelExpression, values, shape_scalars), "for In and NotIn"},
};
static const Shape expression_shape = {SHAPE_OF(expression_fields)};

static void check_values(YamlReader *reader, const YamlNode *expression, unsigned op) {
    const YamlNode *values = yaml_find(expression, STR("values"));
    bool needs_values = op == SELECTOR_IN || op == SELECTOR_NOT_IN;

    if (needs_values && !values)
        reader_error(reader, expression, "In and NotIn need the field \"values\"");
    if (!needs_values && values && op != UINT32_MAX)
        reader_error(reader, values, "Exists and DoesNotExist take no \"values\"");
}

static void read_match_expressions(YamlReader *reader, const YamlNode *value, void *into) {
    for (size_t i = 0; i < value->n; i++) {
        LabelExpression expression = {.op = UINT32_MAX};

        reader_fields(
            reader, value->items[i], "a matchExpressions entry", &expression_shape, &expression);
        check_values(reader, value->items[i], expression.op);
        (void)VEC_ADD((Requirements *)into, reader->arena,
            (Requirement){.key = expression.key,
                .op = (SelectorOp)expression.op,
                .values = expression.values.items,
                .n_values = expression.values.n});
    }
}

static const Shape match_labels_shape = {.kind = SHAPE_MAP, .of = &shape_scalar};
static const Shape match_expressions_shape = {.kind = SHAPE_LIST, .of = &expression_shape};

static const Field selector_fields[] = {
    {OPTIONAL("matchLabels"), .shape = &match_labels_shape,
        .about = "labels and the values they must have", .read = read_match_labels},
    {OPTIONAL("matchExpressions"), .shape = &match_expressions_shape,
        .about = "conditions that must all hold", .read = read_match_expressions},
};

static bool read_selector(YamlReader *reader, const YamlNode *value, Selector *ret) {
    Requirements requirements = {0};
    bool is_right = reader_fields(reader, value, "a selector", &shape_selector, &requirements);

    *ret = (Selector){.items = requirements.items, .n = requirements.n};
    return is_right;
}

static const Shape shape_scalar_key = {.kind = SHAPE_SCALAR, .check = reader_label_key};
static const Shape shape_namespace = {.kind = SHAPE_SCALAR, .check = reader_namespace};

const Shape shape_any = {.kind = SHAPE_ANY};
const Shape shape_string = {.kind = SHAPE_STRING};
const Shape shape_name = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z0-9_.-]{1,63}$", .check = check_name};
const Shape shape_label_key = {.kind = SHAPE_STRING, .check = reader_label_key};
const Shape shape_bool = {.kind = SHAPE_BOOL};
const Shape shape_true = {.kind = SHAPE_TRUE};
const Shape shape_scalar = {.kind = SHAPE_SCALAR};
const Shape shape_duration = {.kind = SHAPE_DURATION};
const Shape shape_expression = {.kind = SHAPE_EXPRESSION};
const Shape shape_points = {.kind = SHAPE_NUMBER, .min = 0, .max = 100};
const Shape shape_scalars = {.kind = SHAPE_LIST, .of = &shape_scalar, .min = 1};
const Shape shape_label_keys = {.kind = SHAPE_LIST, .of = &shape_scalar_key, .min = 1};
const Shape shape_namespaces = {.kind = SHAPE_LIST, .of = &shape_namespace, .min = 1};
const Shape shape_selector = {SHAPE_OF(selector_fields)};
