/*
 * A version stays the text it was: only the three numbers are read out of it. What comes
 * behind them is checked once and compared where it stands, identifier by identifier.
 */
#include "cel/semver.h"

#include <inttypes.h>

#include "base/ascii.h"

static bool refuse(const char **ret_why, const char *why) {
    if (ret_why)
        *ret_why = why;
    return false;
}

static bool is_number(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.ptr[i]))
            return false;
    }
    return text.len > 0;
}

static bool number_parse(Str text, uint64_t *ret, const char **ret_why) {
    uint64_t value = 0;

    if (!is_number(text))
        return refuse(ret_why, "what should be a number is none");
    if (text.len > 1 && text.ptr[0] == '0')
        return refuse(ret_why, "a number has a leading zero");
    for (size_t i = 0; i < text.len; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.ptr[i] - '0'), &value))
            return refuse(ret_why, "a number needs more than 64 bits");
    }
    *ret = value;
    return true;
}

static bool is_identifier(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!ascii_is_digit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-')
            return false;
    }
    return text.len > 0;
}

/* Identifiers with dots between them; numbers among them are checked as such if asked. */
static bool check_identifiers(Str text, bool check_numbers, const char **ret_why) {
    Str identifier;
    uint64_t ignored;

    if (text.len == 0)
        return refuse(ret_why, "nothing follows the hyphen or the plus");
    while (str_split(&text, '.', &identifier)) {
        if (!is_identifier(identifier))
            return refuse(ret_why,
                identifier.len == 0 ? "an identifier is empty"
                                    : "an identifier has only letters, digits and hyphens");
        if (check_numbers && is_number(identifier) && !number_parse(identifier, &ignored, ret_why))
            return false;
    }
    return true;
}

/* Cuts what follows the first @mark off the end of @text. False: there is no mark. */
static bool cut_behind(Str *text, char mark, Str *ret) {
    size_t at = str_find(*text, mark);

    if (at == SIZE_MAX)
        return false;
    *ret = str_skip(*text, at + 1);
    *text = str_take(*text, at);
    return true;
}

/* "3-rc.1+build.5" without what follows the number. */
static bool cut_patch(Str *text, CelSemver *version, const char **ret_why) {
    if (cut_behind(text, '+', &version->build) &&
        !check_identifiers(version->build, false, ret_why))
        return false;
    return !cut_behind(text, '-', &version->pre) || check_identifiers(version->pre, true, ret_why);
}

/* Without zeros in front. "-rc" without a number counts as "0-rc", but "" does not as "0":
 * Kubernetes looks at more than one character only (@is_short says there are no more). */
static Str normalise_number(Str text, bool is_short) {
    if (is_short)
        return text;
    while (text.len > 0 && text.ptr[0] == '0')
        text = str_skip(text, 1);
    return text.len > 0 ? text : STR("0");
}

/* Cuts @text at its first two dots. Returns how many parts there are. */
static size_t cut_parts(Str text, Str parts[3]) {
    size_t n = 0;

    while (n < 2) {
        size_t dot = str_find(text, '.');

        if (dot == SIZE_MAX)
            break;
        parts[n++] = str_take(text, dot);
        text = str_skip(text, dot + 1);
    }
    parts[n++] = text;
    return n;
}

bool cel_semver_parse(Str text, bool normalise, CelSemver *ret, const char **ret_why) {
    CelSemver version = {0};
    Str parts[3] = {STR("0"), STR("0"), STR("0")};
    size_t n;

    if (normalise && str_has_prefix(text, STR("v")))
        text = str_skip(text, 1);
    n = cut_parts(text, parts);
    if (n < 3 && !normalise)
        return refuse(ret_why, "three numbers are needed, as in 1.2.3");
    for (size_t i = 0; i < 3; i++) {
        bool is_short = parts[i].len < 2;

        /* A shortened version is followed by nothing: there the marks are no digits. */
        if (i == 2 && n == 3 && !cut_patch(&parts[i], &version, ret_why))
            return false;
        if (normalise)
            parts[i] = normalise_number(parts[i], is_short);
        if (!number_parse(parts[i], &version.numbers[i], ret_why))
            return false;
    }
    *ret = version;
    return true;
}

/* A number is below any other identifier; numbers by value, the others bytewise. */
static int identifier_cmp(Str a, Str b) {
    bool a_is_number = is_number(a), b_is_number = is_number(b);

    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    if (a_is_number && a.len != b.len) /* no leading zeros: the longer one is greater */
        return a.len < b.len ? -1 : 1;
    return str_cmp(a, b);
}

static int pre_cmp(Str a, Str b) {
    Str identifier_a, identifier_b;

    if (a.len == 0 || b.len == 0) /* a release is above all its pre-releases */
        return (a.len == 0) - (b.len == 0);
    for (;;) {
        bool a_has = str_split(&a, '.', &identifier_a), b_has = str_split(&b, '.', &identifier_b);
        int order;

        if (!a_has || !b_has)
            return (int)a_has - (int)b_has;
        order = identifier_cmp(identifier_a, identifier_b);
        if (order != 0)
            return order < 0 ? -1 : 1;
    }
}

int cel_semver_cmp(const CelSemver *a, const CelSemver *b) {
    for (size_t i = 0; i < 3; i++) {
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    }
    return pre_cmp(a->pre, b->pre);
}

void cel_semver_print(const CelSemver *version, Buf *out) {
    buf_printf(out,
        "%" PRIu64 ".%" PRIu64 ".%" PRIu64,
        version->numbers[0],
        version->numbers[1],
        version->numbers[2]);
    if (version->pre.len > 0)
        buf_printf(out, "-%.*s", STR_FMT(version->pre));
    if (version->build.len > 0)
        buf_printf(out, "+%.*s", STR_FMT(version->build));
}
