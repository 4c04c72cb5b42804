/* printf for JSON: quotes are written as ', and a list of pairs can be conditional. */

#include "demo/json-put.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/time.h"
#include "json/write.h"

void json_put(Buf *out, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vasprintf(&text, format, arguments);
    va_end(arguments);
    for (int i = 0; i < n; i++)
        buf_append_char(out, text[i] == '\'' ? '"' : text[i]);
    if (n < 0)
        out->error = -ENOMEM;
    else
        free(text);
}

void json_put_pairs(Buf *out, const JsonPair *pairs, size_t n) {
    const char *comma = "";

    for (size_t i = 0; i < n; i++) {
        if (!pairs[i].value)
            continue;
        buf_append(out, str_from_c(comma));
        json_quote(out, str_from_c(pairs[i].key));
        buf_append_char(out, ':');
        json_quote(out, str_from_c(pairs[i].value));
        comma = ",";
    }
}

const char *json_time(int64_t sec, char text[static JSON_TIME_MAX]) {
    _cleanup_(buf_done) Buf out = BUF_INIT(JSON_TIME_MAX);

    time_print(sec, &out);
    (void)snprintf(text, JSON_TIME_MAX, "%.*s", STR_FMT(buf_str(&out)));
    return text;
}
