/* Values that several fields of a metric have: resources, labels of Prometheus, lengths of time. */

#include "base/ascii.h"
#include "base/nsec.h"
#include "policy/metric-part.h"

static const char *const resource_words[] = {"cpu", "memory", NULL};

const Shape metric_resource_shape = {.kind = SHAPE_WORD, .words = resource_words};

void metric_read_resource(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    unsigned number;

    if (reader_word(reader, value, what, resource_words, &number))
        *ret = str_from_c(resource_words[number]);
}

void metric_read_label(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    Str name;
    bool is_label;

    if (!reader_string(reader, value, what, &name))
        return;
    is_label = name.len > 0 && name.len <= METRIC_TEXT_MAX && !ascii_is_digit(name.ptr[0]);
    for (size_t i = 0; is_label && i < name.len; i++) {
        char c = name.ptr[i];

        is_label = ascii_is_alnum(c) || c == '_';
    }
    if (is_label)
        *ret = name;
    else
        reader_error_hint(reader,
            value,
            STR("a label of the series: letters, digits and '_', no digit at the beginning"),
            "\"%.*s\" is not a label of Prometheus",
            STR_FMT(name));
}

const Shape metric_label_shape = {.kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]*$"};

bool metric_read_time(PolicyReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret) {
    int64_t given;

    if (!reader_duration(reader, value, what, &given))
        return false;
    if (given < min || given > max) {
        reader_error(reader,
            value,
            "%s must be from %llds to %llds, not \"%.*s\"",
            what,
            (long long)(min / NSEC_PER_SEC),
            (long long)(max / NSEC_PER_SEC),
            STR_FMT(value->text));
        return false;
    }
    *ret = given;
    return true;
}
