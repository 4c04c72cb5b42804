/*
 * Reads the same text in several ways, which must agree:
 *
 *   - json_skip() accepts it exactly if the tokens do, with the same error
 *   - json_skip_fast() ends where json_skip() does
 *   - a valid string can be unescaped, and quoted and read again it is the same
 */

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fuzz.h"
#include "base/utf8.h"
#include "json/token.h"
#include "json/write.h"

static void check_same_error(const JsonReader *a, const JsonReader *b) {
    require(a->error == b->error && a->error_at == b->error_at);
    if (a->error)
        require(strcmp(a->error_text, b->error_text) == 0);
}

static void check_text(const JsonReader *reader, Arena *arena) {
    _cleanup_(buf_done) Buf quoted = BUF_INIT((size_t)1 << 24);
    Str text = json_unescape(reader->text, arena), again = STR_NULL;
    JsonReader second;

    require(text.ptr || reader->text.len == 0);
    require(utf8_valid_length(text) == text.len);
    json_quote(&quoted, text);
    json_reader_init(&second, buf_str(&quoted));
    json_string(&second, arena, &again);
    json_end(&second);
    require(json_error(&second) == JSON_OK && str_eq(again, text));
}

static void check_tokens(Str input, Arena *arena, JsonReader *ret) {
    JsonToken token;

    json_reader_init(ret, input);
    do {
        token = json_next(ret);
        arena_reset(arena);
        if (token == JSON_KEY || token == JSON_STRING)
            check_text(ret, arena);
    } while (token != JSON_DONE && token != JSON_BAD);
}

static void check_skip(Str input, const JsonReader *tokens) {
    JsonReader slow, fast;
    Str slow_raw = STR_NULL, fast_raw = STR_NULL;

    json_reader_init(&slow, input);
    json_skip(&slow, &slow_raw);
    if (json_error(&slow) == JSON_OK) {
        json_reader_init(&fast, input);
        json_skip_fast(&fast, &fast_raw);
        require(json_error(&fast) == JSON_OK);
        require(fast_raw.ptr == slow_raw.ptr && fast_raw.len == slow_raw.len);
        if (slow_raw.ptr[0] == '{' || slow_raw.ptr[0] == '[')
            require(scan_container(slow_raw) == slow_raw.len);
        json_end(&slow);
    }
    check_same_error(&slow, tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Arena *arena;
    Str input = str_of((const char *)data, size);
    JsonReader tokens;

    if (size > 4096)
        return 0;
    if (!arena)
        arena = arena_new((size_t)1 << 24);
    require(arena);
    check_tokens(input, arena, &tokens);
    check_skip(input, &tokens);
    return 0;
}
