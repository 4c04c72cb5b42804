/* Reads PromQL text from its front. Any text is accepted: nothing past its end is read. */

#include "policy/promql-internal.h"

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/nsec.h"

#define MINUTE (60 * NSEC_PER_SEC)

bool promql_is_letter(char c) {
    return ascii_is_letter(c) || c == '_' || c == ':';
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Str promql_cut(Str *text, size_t n) {
    Str part = str_take(*text, n);

    *text = str_skip(*text, n);
    return part;
}

void promql_skip_space(Str *text) {
    while (text->len > 0 && (is_space(text->ptr[0]) || text->ptr[0] == '#')) {
        size_t end = text->ptr[0] == '#' ? str_find(*text, '\n') : 0;

        (void)promql_cut(text, end == SIZE_MAX ? text->len : end + 1);
    }
}

Str promql_cut_word(Str *text) {
    size_t n = 0;

    while (n < text->len &&
           (promql_is_letter(text->ptr[n]) || (n > 0 && ascii_is_digit(text->ptr[n]))))
        n++;
    return promql_cut(text, n);
}

bool promql_cut_string(Str *text, Str *ret) {
    char quote = text->ptr[0];
    size_t n = 1;

    while (n < text->len && text->ptr[n] != quote)
        n += quote != '`' && text->ptr[n] == '\\' ? 2 : 1;
    if (n >= text->len)
        return false;
    *ret = str_of(text->ptr + 1, n - 1);
    (void)promql_cut(text, n + 1);
    return true;
}

bool promql_is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
}

bool promql_skip_labels(Str *text) {
    size_t end = str_find(*text, ')');

    if (end == SIZE_MAX)
        return false;
    (void)promql_cut(text, end + 1);
    return true;
}

int64_t promql_cut_duration(Str *text) {
    static const struct {
        Str unit;
        int64_t nsec;
    } units[] = {
        {STR("ms"), NSEC_PER_MSEC},
        {STR("s"), NSEC_PER_SEC},
        {STR("m"), MINUTE},
        {STR("h"), 60 * MINUTE},
        {STR("d"), 24 * 60 * MINUTE},
        {STR("w"), 24 * 60 * MINUTE},
        {STR("y"), 24 * 60 * MINUTE},
    };
    int64_t sum = 0, most = 24 * 60 * MINUTE;

    while (text->len > 0 && ascii_is_digit(text->ptr[0])) {
        int64_t number = 0, factor = 0;

        while (text->len > 0 && ascii_is_digit(text->ptr[0])) {
            number = number < most ? number * 10 + (text->ptr[0] - '0') : most;
            (void)promql_cut(text, 1);
        }
        for (size_t i = 0; i < ELEMENTS_OF(units) && factor == 0; i++) {
            if (str_has_prefix(*text, units[i].unit)) {
                factor = units[i].nsec;
                (void)promql_cut(text, units[i].unit.len);
            }
        }
        if (factor == 0 || number > most / factor)
            return factor == 0 ? sum : most;
        sum += number * factor;
        if (sum > most)
            return most;
    }
    return sum;
}

bool promql_cut_matcher(Str *text, PromqlMatcher *ret) {
    size_t n = 0;

    ret->label = promql_cut_word(text);
    promql_skip_space(text);
    while (n < text->len && n < 2 &&
           (text->ptr[n] == '=' || text->ptr[n] == '!' || text->ptr[n] == '~'))
        n++;
    ret->op = promql_cut(text, n);
    promql_skip_space(text);
    return !str_is_empty(ret->label) && n > 0 && text->len > 0 && promql_is_quote(text->ptr[0]) &&
           promql_cut_string(text, &ret->value);
}

int64_t promql_longest_range(Str query) {
    int64_t longest = 0;

    while (query.len > 0) {
        Str ignored;

        if (query.ptr[0] == '#') {
            promql_skip_space(&query);
        } else if (promql_is_quote(query.ptr[0])) {
            if (!promql_cut_string(&query, &ignored))
                return longest;
        } else if (promql_cut(&query, 1).ptr[0] == '[') {
            int64_t range;

            promql_skip_space(&query);
            range = promql_cut_duration(&query);
            longest = range > longest ? range : longest;
        }
    }
    return longest;
}
