/* Strict parser of a URL's query. */

#include "api/query.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/visible.h"

#define SHOWN_MAX 64u /* bytes of the request in a message */

/* ptr NULL: an escape is broken, or out of memory. */
static Str decode(Str text, Arena *arena) {
    char *out = arena_alloc(arena, text.len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        int high, low;

        if (text.ptr[i] != '%') {
            out[n++] = text.ptr[i] == '+' ? ' ' : text.ptr[i];
            continue;
        }
        high = text.len - i > 2 ? ascii_hex_value(text.ptr[i + 1]) : -1;
        low = text.len - i > 2 ? ascii_hex_value(text.ptr[i + 2]) : -1;
        if (high < 0 || low < 0)
            return STR_NULL;
        out[n++] = (char)(high * 16 + low);
        i += 2;
    }
    return str_of(out, n);
}

/* Writes an error with @text, made safe for a message. */
static void complain(char *error, const char *before, Str text, const char *after) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(QUERY_ERROR_MAX);

    (void)visible_append(&shown, str_take(text, SHOWN_MAX));
    (void)snprintf(error, QUERY_ERROR_MAX, "%s\"%.*s\"%s", before, STR_FMT(buf_str(&shown)), after);
}

static void complain_unknown(char *error, Str name, const Str *names, size_t n_names) {
    _cleanup_(buf_done) Buf list = BUF_INIT(QUERY_ERROR_MAX);

    buf_append(&list, n_names > 0 ? STR(": there are ") : STR(": there are none"));
    for (size_t i = 0; i < n_names; i++)
        buf_printf(&list, "%s%.*s",
            i == 0            ? ""
            : i + 1 < n_names ? ", "
                              : " and ",
            STR_FMT(names[i]));
    buf_append_char(&list, '\0');
    complain(error, "unknown parameter ", name, buf_error(&list) ? "" : list.data);
}

static bool take_parameter(Query *query, Str part, Arena *arena, char *error) {
    size_t equals = str_find(part, '=');
    Str name = decode(str_take(part, equals), arena), value = STR_NULL;
    size_t i = str_index(name, query->names, query->n_names);

    if (equals != SIZE_MAX)
        value = decode(str_skip(part, equals + 1), arena);
    if (!name.ptr || (equals != SIZE_MAX && !value.ptr))
        complain(error, "", part, " has a broken escape: % must precede two hexadecimal digits");
    else if (i == SIZE_MAX)
        complain_unknown(error, name, query->names, query->n_names);
    else if (str_is_empty(value))
        complain(error, "", name, " needs a value");
    else if (query->values[i].ptr)
        complain(error, "", name, " is given twice");
    else
        query->values[i] = value;
    return error[0] == '\0';
}

bool query_parse(
    Str text, const Str *names, size_t n_names, Arena *arena, Query *ret, char *error) {
    Str part;

    assert(n_names <= QUERY_PARAMETERS_MAX);
    *ret = (Query){.names = names, .n_names = n_names};
    error[0] = '\0';
    while (text.ptr && str_split(&text, '&', &part))
        if (!str_is_empty(part) && !take_parameter(ret, part, arena, error))
            return false;
    return true;
}

Str query_get(const Query *query, Str name) {
    size_t i = str_index(name, query->names, query->n_names);

    assert(i < query->n_names);
    return query->values[i];
}

bool query_number(const Query *query, Str name, int64_t min, int64_t max, int64_t otherwise,
    int64_t *ret, char *error) {
    Str value = query_get(query, name);

    *ret = otherwise;
    if (!value.ptr || (str_to_int64(value, ret) && *ret >= min && *ret <= max))
        return true;
    return query_fail(error, "\"%.*s\" must be a whole number from %" PRId64 " to %" PRId64,
        STR_FMT(name), min, max);
}
