/*
 * Lengths of time in policies: those of CEL, which are Go's, and days, since nobody counts the age
 * of a node in hours.
 */

#include "cel/duration.h"
#include "policy/reader.h"

#define DAY_NS (INT64_C(24) * 60 * 60 * 1000 * 1000 * 1000)

/* CEL's has a sign, which means nothing here, and a bare 0, which is a whole text only. */
static bool parse_rest(Str text, bool is_whole, int64_t *ret_ns) {
    bool has_sign = !str_is_empty(text) && (text.ptr[0] == '+' || text.ptr[0] == '-');

    return !has_sign && (is_whole || !str_is(text, "0")) && cel_duration_parse(text, ret_ns);
}

/* "30d", "1d12h", "90s". */
static bool parse(Str text, int64_t *ret_ns) {
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

bool reader_duration(
    PolicyReader *reader, const YamlNode *value, const char *what, int64_t *ret_ns) {
    static const Str hint = STR("a number and a unit, like 90s, 5m, 2h30m or 30d");
    Str text;

    if (value->kind != YAML_STRING && value->kind != YAML_INT && value->kind != YAML_FLOAT)
        return reader_string(reader, value, what, &text);
    if (value->kind == YAML_STRING && parse(value->text, ret_ns))
        return true;
    reader_error_hint(reader,
        value,
        hint,
        value->kind == YAML_STRING ? "%s must be a length of time up to 36500d, not \"%.*s\""
                                   : "%s must be a length of time up to 36500d, not %.*s",
        what,
        STR_FMT(value->text));
    return false;
}
