/* Strings with a length. */

#include "base/str.h"

#include "base/ascii.h"

/* Words longer than this get no suggestion: the distance table is on the stack. */
#define EDIT_WORD_MAX 64

int str_cmp(Str a, Str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int r = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;

    if (r != 0)
        return r;
    return (a.len > b.len) - (a.len < b.len);
}

/* Without an early exit, so that the compiler can compare many bytes at once. */
bool str_has_control(Str s) {
    unsigned found = 0;

    for (size_t i = 0; i < s.len; i++)
        found |= (unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f;
    return found != 0;
}

bool str_is_token(Str s) {
    for (size_t i = 0; i < s.len; i++)
        if (!ascii_is_alnum(s.ptr[i]) && (s.ptr[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", s.ptr[i])))
            return false;
    return s.len > 0;
}

bool str_eq_nocase(Str a, Str b) {
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
            return false;
    return true;
}

bool str_contains_nocase(Str s, Str part) {
    for (size_t i = 0; i + part.len <= s.len; i++)
        if (str_eq_nocase(str_take(str_skip(s, i), part.len), part))
            return true;
    return false;
}

size_t str_index(Str s, const Str *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], s))
            return i;
    return SIZE_MAX;
}

bool str_has_prefix(Str s, Str prefix) {
    return s.len >= prefix.len && str_eq(str_take(s, prefix.len), prefix);
}

bool str_has_suffix(Str s, Str suffix) {
    return s.len >= suffix.len && str_eq(str_skip(s, s.len - suffix.len), suffix);
}

size_t str_find(Str s, char c) {
    const char *at = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

    return at ? (size_t)(at - s.ptr) : SIZE_MAX;
}

size_t str_find_last(Str s, char c) {
    for (size_t i = s.len; i > 0; i--)
        if (s.ptr[i - 1] == c)
            return i - 1;
    return SIZE_MAX;
}

bool str_cut_char(Str *s, char c) {
    bool is_there = s->len > 0 && s->ptr[0] == c;

    *s = str_skip(*s, is_there);
    return is_there;
}

Str str_skip(Str s, size_t from) {
    if (from >= s.len)
        return (Str){.ptr = s.ptr ? s.ptr + s.len : NULL, .len = 0};
    return (Str){.ptr = s.ptr + from, .len = s.len - from};
}

Str str_take(Str s, size_t len) {
    return (Str){.ptr = s.ptr, .len = len < s.len ? len : s.len};
}

Str str_trim(Str s) {
    while (s.len > 0 && ascii_is_blank(s.ptr[0]))
        s = str_skip(s, 1);
    while (s.len > 0 && ascii_is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool str_split(Str *s, char sep, Str *ret_part) {
    size_t at;

    if (!s->ptr)
        return false;
    at = str_find(*s, sep);
    if (at == SIZE_MAX) {
        *ret_part = *s;
        *s = STR_NULL;
        return true;
    }
    *ret_part = str_take(*s, at);
    *s = str_skip(*s, at + 1);
    return true;
}

bool str_to_int64(Str s, int64_t *ret) {
    bool negative = s.len > 0 && s.ptr[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;

    if (negative)
        s = str_skip(s, 1);
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned char)s.ptr[i] - (unsigned)'0';

        if (digit > 9 || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static size_t min3(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

size_t str_edit_distance(Str a, Str b, size_t limit) {
    size_t rows[3][EDIT_WORD_MAX + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];

    if (a.len > EDIT_WORD_MAX || b.len > EDIT_WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.len; j++)
        previous[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *recycled = before;

        current[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = ascii_lower(a.ptr[i - 1]) == ascii_lower(b.ptr[j - 1]) ? 0 : 1;

            current[j] = min3(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                before[j - 2] + 1 < current[j])
                current[j] = before[j - 2] + 1;
        }
        before = previous;
        previous = current;
        current = recycled;
    }
    return previous[b.len] > limit ? limit + 1 : previous[b.len];
}

Str str_nearest(Str word, const Str *known, size_t n_known) {
    /* A third of the letters may be wrong, but at least one and at most three. */
    size_t limit = word.len / 3;
    size_t best_distance;
    Str best = STR_NULL;

    limit = limit < 1 ? 1 : limit > 3 ? 3 : limit;
    best_distance = limit + 1;
    for (size_t i = 0; i < n_known; i++) {
        size_t distance = str_edit_distance(word, known[i], limit);

        if (distance < best_distance) {
            best_distance = distance;
            best = known[i];
        }
    }
    return best;
}

Str str_line(Str text, size_t number) {
    while (number > 1 && text.len > 0) {
        size_t end = str_find(text, '\n');

        text = end < text.len ? str_skip(text, end + 1) : STR_NULL;
        number--;
    }
    return str_take(text, str_find(text, '\n'));
}
