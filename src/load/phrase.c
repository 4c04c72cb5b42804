#include "load/phrase.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/visible.h"

#define SHOWN_MAX ((size_t)4096)

Phrase phrase_begin(char *text, size_t size) {
    text[0] = '\0';
    return (Phrase){.text = text, .size = size};
}

/* What snprintf() cut may end inside a character. */
static void drop_half_character(Phrase *phrase) {
    phrase->len = utf8_valid_length(str_of(phrase->text, phrase->len));
    phrase->text[phrase->len] = '\0';
}

void phrase_add(Phrase *phrase, const char *format, ...) {
    size_t left = phrase->size - phrase->len;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(phrase->text + phrase->len, left, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < left) {
        phrase->len += (size_t)n;
        return;
    }
    phrase->len += strlen(phrase->text + phrase->len);
    drop_half_character(phrase);
}

void phrase_show(Phrase *phrase, Str text, size_t max) {
    _cleanup_(buf_done) Buf out = BUF_INIT(SHOWN_MAX);
    Str shown = visible_take(utf8_take(text, max), max);

    (void)visible_append(&out, shown);
    phrase_add(phrase, "%.*s%s", STR_FMT(buf_str(&out)), shown.len < text.len ? "…" : "");
}

void phrase_quote(Phrase *phrase, Str text) {
    phrase_add(phrase, "\"");
    phrase_show(phrase, text, PHRASE_QUOTE_MAX);
    phrase_add(phrase, "\"");
}
