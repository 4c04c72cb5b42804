/* Reads and writes the names of values in policies. */

#include "input/policy-path.h"

#include "base/ascii.h"

/* The text of ["TEXT"] at the front; @ret_rest: behind it. False: there is none. */
static bool take_quoted(Str path, Str *ret_text, Str *ret_rest) {
    Str rest;
    size_t end;

    if (path.len < 4 || path.ptr[0] != '[' || str_find(STR("\"'"), path.ptr[1]) == SIZE_MAX)
        return false;
    rest = str_skip(path, 2);
    end = str_find(rest, path.ptr[1]);
    if (end == SIZE_MAX || end + 1 >= rest.len || rest.ptr[end + 1] != ']')
        return false;
    *ret_text = str_take(rest, end);
    *ret_rest = str_skip(rest, end + 2);
    return true;
}

/* Behind a key: nothing, a dot that is dropped, or a bracket. False: the key goes on. */
static bool end_key(Str rest, Str *ret_rest) {
    if (rest.len > 1 && rest.ptr[0] == '.')
        rest = str_skip(rest, 1);
    else if (rest.len > 0 && rest.ptr[0] != '[')
        return false;
    *ret_rest = rest;
    return true;
}

bool policy_path_take_name(Str path, Str name, Str *ret_rest) {
    Str text, rest;

    if (take_quoted(path, &text, &rest))
        return str_eq(text, name) && end_key(rest, ret_rest);
    return !str_is_empty(name) && str_has_prefix(path, name) &&
           end_key(str_skip(path, name.len), ret_rest);
}

Str policy_path_take_key(Str path, Str *ret_rest, bool *ret_quoted) {
    Str key, rest = STR_NULL;
    size_t dot, bracket;

    *ret_quoted = take_quoted(path, &key, &rest) && end_key(rest, ret_rest);
    if (*ret_quoted)
        return key;
    dot = str_find(path, '.');
    bracket = str_find(str_skip(path, 1), '[');
    bracket = bracket == SIZE_MAX ? SIZE_MAX : bracket + 1;
    key = str_take(path, dot < bracket ? dot : bracket);
    rest = str_skip(path, key.len);
    *ret_rest = str_has_prefix(rest, STR(".")) ? str_skip(rest, 1) : rest;
    return key;
}

bool policy_path_take_index(Str path, size_t *ret, Str *ret_rest) {
    size_t end = str_find(path, ']');
    int64_t index;

    if (path.len < 3 || path.ptr[0] != '[' || end == SIZE_MAX ||
        !str_to_int64(str_skip(str_take(path, end), 1), &index) || index < 0)
        return false;
    *ret = (size_t)index;
    return end_key(str_skip(path, end + 1), ret_rest);
}

static bool needs_brackets(Str key) {
    for (size_t i = 0; i < key.len; i++)
        if (!ascii_is_alnum(key.ptr[i]) && key.ptr[i] != '_' && key.ptr[i] != '-' &&
            key.ptr[i] != '/')
            return true;
    return str_is_empty(key);
}

void policy_path_add(Buf *path, Str key) {
    char quote = str_find(key, '"') == SIZE_MAX ? '"' : '\'';

    if (!needs_brackets(key)) {
        buf_append(path, path->len > 0 ? STR(".") : STR_NULL);
        buf_append(path, key);
        return;
    }
    buf_printf(path, "[%c%.*s%c]", quote, STR_FMT(key), quote);
}
