/* cel-go's strings extension. Indices count code points, but searches go over UTF-8 bytes: only the
 * index given and the index found are translated. A part of an argument (substring, trim, split)
 * points into it. */

#include <inttypes.h>

#include "base/utf8.h"
#include "cel/elements.h"
#include "cel/library.h"

#define NOWHERE SIZE_MAX

/* The offset at which code point @index starts; s.len for the index after the last one, NOWHERE
 * beyond that. */
static size_t offset_of(Str s, int64_t index) {
    uint64_t left = (uint64_t)index;

    if (index < 0 || left > s.len)
        return NOWHERE;
    for (size_t i = 0; i < s.len; i++) {
        if (utf8_is_start(s.ptr[i]) && left-- == 0)
            return i;
    }
    return left == 0 ? s.len : NOWHERE;
}

/* Bytes of the first code point of @s, which is not empty. */
static size_t point_length(Str s) {
    size_t n = 1;

    while (n < s.len && !utf8_is_start(s.ptr[n]))
        n++;
    return n;
}

static size_t find_bytes(Str s, Str part) {
    const char *found;

    if (part.len == 0 || part.len > s.len)
        return part.len == 0 ? 0 : NOWHERE;
    found = memmem(s.ptr, s.len, part.ptr, part.len);
    return found ? (size_t)(found - s.ptr) : NOWHERE;
}

static CelValue part_of(Str s, size_t from, size_t to) {
    return cel_string(from < to ? str_of(s.ptr + from, to - from) : STR(""));
}

static CelValue out_of_range(CelRun *run, int64_t index) {
    return cel_fail(run, "index out of range: %" PRId64, index);
}

static char *put(char *at, Str s) {
    return s.len > 0 ? (char *)memcpy(at, s.ptr, s.len) + s.len : at;
}

CEL_CHARGED(char_at, args[0].len) {
    Str s = cel_str(args[0]);
    size_t from = offset_of(s, args[1].i);

    if (from == NOWHERE)
        return out_of_range(run, args[1].i);
    return part_of(s, from, from < s.len ? from + point_length(str_skip(s, from)) : from);
}

CEL_CHARGED(substring_from, args[0].len) {
    Str s = cel_str(args[0]);
    size_t from = offset_of(s, args[1].i);

    return from != NOWHERE ? part_of(s, from, s.len) : out_of_range(run, args[1].i);
}

CEL_FUNCTION(substring_range) {
    Str s = cel_str(args[0]);
    int64_t start = args[1].i, end = args[2].i;
    size_t from, length;

    if (start > end)
        return cel_fail(
            run, "invalid substring range. start: %" PRId64 ", end: %" PRId64, start, end);
    if (!cel_charge_bytes(run, s.len))
        return cel_exhausted(run);
    from = offset_of(s, start);
    if (from == NOWHERE)
        return out_of_range(run, start);
    length = offset_of(str_skip(s, from), end - start);
    return length != NOWHERE ? part_of(s, from, from + length) : out_of_range(run, end);
}

/* Unicode's White_Space, which U+180E and U+200B are not (string_ext/trim/unicode_no_trim). */
static bool is_space(uint32_t c) {
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static bool starts_with_space(Str s) {
    uint32_t c;

    return utf8_decode(s, &c) > 0 && is_space(c);
}

CEL_CHARGED(trim, args[0].len) {
    Str s = cel_str(args[0]);

    while (s.len > 0 && starts_with_space(s))
        s = str_skip(s, point_length(s));
    while (s.len > 0) {
        size_t last = s.len - 1;

        while (last > 0 && !utf8_is_start(s.ptr[last]))
            last--;
        if (!starts_with_space(str_skip(s, last)))
            break;
        s.len = last;
    }
    return part_of(s, 0, s.len);
}

/* Searching. An empty text is found at the start of the search, even at the very end
 * (string_ext/last_index_of/empty_index). */

CEL_CHARGED(index_of_from, (size_t)args[0].len + args[1].len) {
    Str s = cel_str(args[0]), part = cel_str(args[1]), rest;
    size_t from = offset_of(s, args[2].i), found;

    if (from == NOWHERE) /* string_ext/value_errors/indexof_out_of_range; -1 in new cel-go */
        return out_of_range(run, args[2].i);
    if (part.len == 0)
        return args[2];
    rest = str_skip(s, from);
    found = find_bytes(rest, part);
    return cel_int(found != NOWHERE ? args[2].i + (int64_t)utf8_count(str_take(rest, found)) : -1);
}

CEL_FUNCTION(index_of) {
    const CelValue from_start[] = {args[0], args[1], cel_int(0)};

    return index_of_from(run, from_start, prepared);
}

/* The last @part that starts at @from or before. Each place with the first byte of @part is
 * charged, since it is compared in full. */
static CelValue find_last(CelRun *run, Str s, Str part, size_t from) {
    const char *at;
    size_t n;

    if (part.len > s.len)
        return cel_int(-1);
    n = (from < s.len - part.len ? from : s.len - part.len) + 1;
    while ((at = memrchr(s.ptr, part.ptr[0], n))) {
        n = (size_t)(at - s.ptr);
        if (!cel_charge_bytes(run, part.len))
            return cel_exhausted(run);
        if (memcmp(at, part.ptr, part.len) == 0)
            return cel_int((int64_t)utf8_count(str_take(s, n)));
    }
    return cel_int(-1);
}

CEL_CHARGED(last_index_of, args[0].len) {
    Str s = cel_str(args[0]), part = cel_str(args[1]);

    return part.len > 0 ? find_last(run, s, part, s.len) : cel_int((int64_t)utf8_count(s));
}

CEL_CHARGED(last_index_of_from, args[0].len) {
    Str s = cel_str(args[0]), part = cel_str(args[1]);
    size_t from = offset_of(s, args[2].i);

    if (from == NOWHERE) /* string_ext/value_errors/lastindexof_out_of_range */
        return out_of_range(run, args[2].i);
    if (part.len == 0)
        return args[2];
    return from < s.len ? find_last(run, s, part, from) : cel_int(-1);
}

static CelValue change_case(CelRun *run, CelValue v, char first, char last) {
    Str s = cel_str(v);
    CelValue error;
    char *text = cel_text_begin(run, s.len, &error);

    if (!text)
        return error;
    for (size_t i = 0; i < s.len; i++)
        text[i] = s.ptr[i] >= first && s.ptr[i] <= last ? (char)(s.ptr[i] ^ 0x20) : s.ptr[i];
    return cel_string(str_of(text, s.len));
}

CEL_RETURNS(lower_ascii, change_case(run, args[0], 'A', 'Z'))
CEL_RETURNS(upper_ascii, change_case(run, args[0], 'a', 'z'))

CEL_FUNCTION(reverse) {
    Str s = cel_str(args[0]);
    CelValue error;
    char *text = cel_text_begin(run, s.len, &error);

    if (!text)
        return error;
    for (size_t i = 0, n; i < s.len; i += n) {
        n = point_length(str_skip(s, i));
        memcpy(text + s.len - i - n, s.ptr + i, n);
    }
    return cel_string(str_of(text, s.len));
}

/* The letter for @c after a backslash, or 0. */
static char escape_of(char c) {
    static const char escaped[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    const char *at = c != '\0' ? strchr(escaped, c) : NULL;

    return at ? letters[at - escaped] : '\0';
}

CEL_FUNCTION(quote) {
    Str s = cel_str(args[0]);
    size_t len = s.len + 2;
    CelValue error;
    char *text, *at;

    for (size_t i = 0; i < s.len; i++)
        len += escape_of(s.ptr[i]) != 0;
    text = at = cel_text_begin(run, len, &error);
    if (!text)
        return error;
    *at++ = '"';
    for (size_t i = 0; i < s.len; i++) {
        char escape = escape_of(s.ptr[i]);

        if (escape)
            *at++ = '\\';
        *at++ = escape ? escape : s.ptr[i];
    }
    *at = '"';
    return cel_string(str_of(text, len));
}

/* The offset of the next @part in @rest, or NOWHERE. An empty @part is found between code points;
 * when it is replaced, not split at, also at both ends. */
static size_t next_hit(Str rest, Str part, bool is_split, bool is_first) {
    size_t end;

    if (part.len > 0)
        return find_bytes(rest, part);
    end = rest.len > 0 ? point_length(rest) : 0;
    if (is_split)
        return end < rest.len ? end : NOWHERE;
    return is_first ? 0 : end > 0 ? end : NOWHERE;
}

/* Counts hits, up to @limit (negative: all). Each is charged, as a search of its own. Returns false
 * if out of fuel. */
static bool count_hits(CelRun *run, Str s, Str part, bool is_split, int64_t limit, uint64_t *ret) {
    uint64_t n = 0;

    while (limit < 0 || n < (uint64_t)limit) {
        size_t hit = next_hit(s, part, is_split, n == 0);

        if (hit == NOWHERE)
            break;
        if (!cel_charge(run, 1))
            return false;
        s = str_skip(s, hit + part.len);
        n++;
    }
    *ret = n;
    return true;
}

static CelValue replace_up_to(CelRun *run, const CelValue *args, int64_t limit) {
    Str s = cel_str(args[0]), old = cel_str(args[1]), new = cel_str(args[2]);
    uint64_t n_hits;
    size_t len;
    CelValue error;
    char *text, *at;

    if (!cel_charge_bytes(run, s.len + old.len) || !count_hits(run, s, old, false, limit, &n_hits))
        return cel_exhausted(run);
    if (n_hits == 0)
        return args[0];
    /* Up to 2^32 hits of up to 2^32 bytes may overflow. The bytes taken out were in @s. */
    if (__builtin_mul_overflow(n_hits, new.len, &len) ||
        __builtin_add_overflow(len, s.len - n_hits * old.len, &len))
        return cel_no_memory(run);
    text = at = cel_text_begin(run, len, &error);
    if (!text)
        return error;
    for (uint64_t i = 0; i < n_hits; i++) {
        size_t hit = next_hit(s, old, false, i == 0);

        at = put(put(at, str_take(s, hit)), new);
        s = str_skip(s, hit + old.len);
    }
    (void)put(at, s);
    return cel_string(str_of(text, len));
}

CEL_RETURNS(replace, replace_up_to(run, args, -1))
CEL_RETURNS(replace_some, replace_up_to(run, args, args[3].i))

/* At most @limit pieces (negative: any number); the last one is the rest. */
static CelValue split_up_to(CelRun *run, const CelValue *args, int64_t limit) {
    Str s = cel_str(args[0]), separator = cel_str(args[1]);
    static const CelValue nothing;
    CelValue *pieces;
    uint64_t n;

    if (limit == 0 || (s.len == 0 && separator.len == 0)) /* string_ext/split/zero_limit */
        return cel_list_end(run, &nothing, 0);
    if (!cel_charge_bytes(run, s.len + separator.len) ||
        !count_hits(run, s, separator, true, limit < 0 ? limit : limit - 1, &n))
        return cel_exhausted(run);
    pieces = cel_list_begin(run, n + 1);
    if (!pieces)
        return cel_no_memory(run);
    for (size_t i = 0; i < n; i++) {
        size_t end = next_hit(s, separator, true, i == 0);

        pieces[i] = part_of(s, 0, end);
        s = str_skip(s, end + separator.len);
    }
    pieces[n] = part_of(s, 0, s.len);
    return cel_list_end(run, pieces, n + 1);
}

CEL_RETURNS(split, split_up_to(run, args, -1))
CEL_RETURNS(split_some, split_up_to(run, args, args[2].i))

static CelValue join_with(CelRun *run, CelValue list, Str separator) {
    CelValue error;
    const CelValue *items = cel_items(run, list.list, &error);
    uint32_t n = list.list->n;
    size_t len = n > 0 ? (n - 1) * separator.len : 0; /* both below 2^32 */
    char *text, *at;

    if (!items)
        return error;
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].kind != CEL_STRING)
            return cel_fail(run, "join: invalid input: an element is not a string");
        if (__builtin_add_overflow(len, items[i].len, &len))
            return cel_no_memory(run);
    }
    text = at = cel_text_begin(run, len, &error);
    if (!text)
        return error;
    for (uint32_t i = 0; i < n; i++)
        at = put(i > 0 ? put(at, separator) : at, cel_str(items[i]));
    return cel_string(str_of(text, len));
}

CEL_RETURNS(join, join_with(run, args[0], STR("")))
CEL_RETURNS(join_separated, join_with(run, args[0], cel_str(args[1])))

#define ROW(name, signature, fn, cost_class, size)                                                 \
    { name, signature, fn, CEL_SIZED(cost_class, size), .reads_text = true }

static const CelOverloadSpec overloads[] = {
    ROW("charAt", "string.(int) -> string", char_at, BYTES, FIRST),
    ROW("indexOf", "string.(string) -> int", index_of, BYTES, TYPE),
    ROW("indexOf", "string.(string, int) -> int", index_of_from, BYTES, TYPE),
    ROW("lastIndexOf", "string.(string) -> int", last_index_of, BYTES, TYPE),
    ROW("lastIndexOf", "string.(string, int) -> int", last_index_of_from, BYTES, TYPE),
    ROW("lowerAscii", "string.() -> string", lower_ascii, BYTES, FIRST),
    ROW("upperAscii", "string.() -> string", upper_ascii, BYTES, FIRST),
    ROW("replace", "string.(string, string) -> string", replace, BYTES, PRODUCT),
    ROW("replace", "string.(string, string, int) -> string", replace_some, BYTES, PRODUCT),
    ROW("split", "string.(string) -> list(string)", split, BYTES, FIRST),
    ROW("split", "string.(string, int) -> list(string)", split_some, BYTES, FIRST),
    ROW("substring", "string.(int) -> string", substring_from, BYTES, FIRST),
    ROW("substring", "string.(int, int) -> string", substring_range, BYTES, FIRST),
    ROW("trim", "string.() -> string", trim, BYTES, FIRST),
    ROW("reverse", "string.() -> string", reverse, BYTES, FIRST),
    ROW("strings.quote", "(string) -> string", quote, BYTES, TWICE),
    ROW("join", "list(string).() -> string", join, ELEMENTS, TYPE),
    ROW("join", "list(string).(string) -> string", join_separated, BOTH, PRODUCT),
};

CEL_LIBRARY(cel_strings_library, "strings", overloads);
