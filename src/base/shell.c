/* Quotes words for a shell. */

#include "base/shell.h"

/* Whether all characters have no special meaning in any shell. */
static bool is_safe(Str word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./:,=@%+";

    for (size_t i = 0; i < word.len; i++)
        if (!memchr(safe, word.ptr[i], sizeof(safe) - 1))
            return false;
    return word.len > 0;
}

void shell_word(Buf *out, Str word) {
    if (is_safe(word)) {
        buf_append(out, word);
        return;
    }
    buf_append_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'')
            buf_append(out, STR("'\\''"));
        else
            buf_append_char(out, word.ptr[i]);
    }
    buf_append_char(out, '\'');
}
