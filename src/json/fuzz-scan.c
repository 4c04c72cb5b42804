/* For any bytes, all kernels must agree with each other and with a simple loop. */

#include "base/fuzz.h"
#include "json/scan.h"

typedef struct Answers {
    size_t container, string, plain;
    uint64_t stops;
} Answers;

static Answers ask(Str text) {
    bool opens = text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '[');

    return (Answers){
        .container = opens ? scan_container(text) : 0,
        .string = scan_string(text),
        .plain = scan_plain(text),
        .stops = text.len >= 64 ? scan_stops(text.ptr) : 0,
    };
}

static bool is_plain(char c) {
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

static size_t naive_container(Str text) {
    bool in_string = false, escaped = false;
    size_t depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '"' && !escaped)
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']') && --depth == 0)
            return i + 1;
        escaped = c == '\\' && !escaped;
    }
    return 0;
}

static size_t naive_string(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            return i;
        if (text.ptr[i] == '\\')
            i++;
    }
    return SIZE_MAX;
}

static Answers naive_answers(Str text) {
    Answers answers = {.string = naive_string(text)};

    if (text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '['))
        answers.container = naive_container(text);
    while (answers.plain < text.len && is_plain(text.ptr[answers.plain]))
        answers.plain++;
    for (size_t i = 0; i < 64 && text.len >= 64; i++)
        answers.stops |= (uint64_t)!is_plain(text.ptr[i]) << i;
    return answers;
}

static void compare(Answers a, Answers b) {
    require(a.container == b.container && a.string == b.string);
    require(a.plain == b.plain && a.stops == b.stops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str text = str_of((const char *)data, size);
    Answers naive = naive_answers(text);

    for (ScanKernel kernel = SCAN_PORTABLE; kernel <= SCAN_NEON; kernel++)
        if (scan_use_kernel(kernel))
            compare(ask(text), naive);
    return 0;
}
