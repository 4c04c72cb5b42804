/* The syntax of label keys and namespaces. */

#include "base/label.h"

#include "base/ascii.h"

bool label_is_name(Str name) {
    if (name.len == 0 || name.len > LABEL_NAME_MAX || !ascii_is_alnum(name.ptr[0]) ||
        !ascii_is_alnum(name.ptr[name.len - 1]))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '_' &&
            name.ptr[i] != '.')
            return false;
    return true;
}

bool label_is_namespace(Str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_lower(name.ptr[i]) && !ascii_is_digit(name.ptr[i]) && name.ptr[i] != '-')
            return false;
    return label_is_name(name);
}

/* Parts of small letters, digits and '-', with dots between them. */
static bool is_domain(Str text) {
    if (text.len == 0 || text.len > LABEL_PREFIX_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool is_first = i == 0 || text.ptr[i - 1] == '.';
        bool is_last = i + 1 == text.len || text.ptr[i + 1] == '.';

        if (text.ptr[i] == '.' ? is_first || is_last
                               : !ascii_is_lower(text.ptr[i]) && !ascii_is_digit(text.ptr[i]) &&
                                     (text.ptr[i] != '-' || is_first || is_last))
            return false;
    }
    return true;
}

bool label_is_key(Str key) {
    size_t slash = str_find(key, '/');

    if (slash == SIZE_MAX)
        return label_is_name(key);
    return is_domain(str_take(key, slash)) && label_is_name(str_skip(key, slash + 1));
}
