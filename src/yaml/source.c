/* The text of a YAML file: converts offsets to lines and columns, and refuses texts that libfyaml
 * must not see. */

#include "yaml/yaml-internal.h"

#include "base/utf8.h"

#define SHOWN_LINE_MAX ((size_t)16 * 1024) /* because each message copies its line */

#define DIRECTIVE_MAX 128u /* most bytes in a directive's line */

static bool has_long_line(Str text) {
    Str line;

    while (str_split(&text, '\n', &line))
        if (line.len > SHOWN_LINE_MAX)
            return true;
    return false;
}

static size_t find_line_end(Str text, size_t start) {
    const char *end = start < text.len ? memchr(text.ptr + start, '\n', text.len - start) : NULL;

    return end ? (size_t)(end - text.ptr) : text.len;
}

YamlSource source_of(Str file, Str text) {
    if (str_has_prefix(text, STR("\xef\xbb\xbf")))
        text = str_skip(text, 3);
    return (YamlSource){
        .file = file,
        .text = text,
        .shown = has_long_line(text) ? STR_NULL : text,
        .line = 1,
        .line_end = find_line_end(text, 0),
    };
}

/* Starts at the last line instead of scanning the whole text, whose lines may be megabytes. */
static void seek_line(YamlSource *source, size_t offset) {
    while (offset > source->line_end) {
        source->line++;
        source->line_start = source->line_end + 1;
        source->line_end = find_line_end(source->text, source->line_start);
    }
    while (offset < source->line_start) {
        const char *before = memrchr(source->text.ptr, '\n', source->line_start - 1);

        source->line--;
        source->line_end = source->line_start - 1;
        source->line_start = before ? (size_t)(before - source->text.ptr) + 1 : 0;
    }
}

Place source_place(YamlSource *source, size_t offset, size_t width) {
    size_t rest;

    seek_line(source, offset);
    rest = source->line_end - offset;
    if (rest > 0 && source->text.ptr[source->line_end - 1] == '\r')
        rest--;
    return (Place){
        .file = source->file,
        .line = source->line,
        .column = offset - source->line_start + 1,
        .width = width < rest ? width : rest,
    };
}

Place yaml_place(Str file, Str source, size_t offset) {
    YamlSource text = source_of(file, source);

    return source_place(&text, offset, 1);
}

size_t source_skip_blank(const YamlSource *source, size_t offset) {
    Str text = source->text;

    for (; offset < text.len; offset++) {
        if (text.ptr[offset] == '#' && (offset == 0 || ascii_is_blank(text.ptr[offset - 1])))
            offset = find_line_end(text, offset);
        else if (!ascii_is_blank(text.ptr[offset]))
            break;
    }
    return offset < text.len ? offset : text.len;
}

static void complain(YamlSource *source, DiagList *diags, size_t offset, Str text, Str hint) {
    diag_add(diags, DIAG_ERROR, source_place(source, offset, 1), source->shown, text, hint);
}

/* Refuses bytes that are not text: libfyaml takes some for the end of the stream. */
static bool check_bytes(YamlSource *source, DiagList *diags) {
    static const Str hint = STR("save the file as UTF-8 text");
    Str text = source->text;
    size_t valid = utf8_valid_length(text);
    size_t i = 0;

    while (i < valid && ((unsigned char)text.ptr[i] >= 0x20 || ascii_is_blank(text.ptr[i])))
        i++;
    if (i == text.len)
        return true;
    if (i == valid)
        complain(source, diags, i, STR("invalid UTF-8"), hint);
    else if (text.ptr[i] == '\0')
        complain(source, diags, i, STR("NUL byte"), hint);
    else
        diag_addf(diags, DIAG_ERROR, source_place(source, i, 1), source->shown,
            "control character 0x%02x", (unsigned char)text.ptr[i]);
    return false;
}

/* Whether a "?" could start an explicit key. */
static bool has_explicit_key(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        const char *mark = memchr(text.ptr + i, '?', text.len - i);

        if (!mark)
            return false;
        i = (size_t)(mark - text.ptr);
        if ((i == 0 || ascii_is_blank(text.ptr[i - 1])) &&
            (i + 1 == text.len || ascii_is_blank(text.ptr[i + 1])))
            return true;
    }
    return false;
}

/* Finds the first tab between a colon and an indicator or the end of the text; SIZE_MAX: none. */
static size_t find_tab_after_colon(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        const char *colon = memchr(text.ptr + i, ':', text.len - i);
        size_t end, tab = SIZE_MAX;

        if (!colon)
            break;
        i = (size_t)(colon - text.ptr);
        for (end = i + 1; end < text.len && memchr(" \t", text.ptr[end], 2); end++)
            if (text.ptr[end] == '\t')
                tab = end;
        if (tab != SIZE_MAX && (end == text.len || memchr("?:|>-", text.ptr[end], 5)))
            return tab;
    }
    return SIZE_MAX;
}

/* libfyaml 0.7.12 frees a key twice when, after "?", a colon is followed by a tab and an indicator
 * ("? a:\t:"): fy_fetch_value() frees the key, fails on the tab and frees it again. Only texts with
 * both marks are refused: a tab in a script, or a ?: in an expression, is fine. */
static bool check_tabs(YamlSource *source, DiagList *diags) {
    size_t tab = find_tab_after_colon(source->text);

    if (tab == SIZE_MAX || !has_explicit_key(source->text))
        return true;
    complain(source, diags, tab, STR("a tab after a colon"), STR("use a space"));
    return false;
}

/* libfyaml 0.7.12 takes quadratic time for a line of "%%%…". */
static bool check_directives(YamlSource *source, DiagList *diags) {
    Str rest = source->text, line;

    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        if (line.len <= DIRECTIVE_MAX || line.ptr[0] != '%')
            continue;
        diag_addf(diags, DIAG_ERROR, source_place(source, (size_t)(line.ptr - source->text.ptr), 1),
            source->shown, "a line that begins with %% may have %u bytes", DIRECTIVE_MAX);
        return false;
    }
    return true;
}

bool source_check(YamlSource *source, DiagList *diags) {
    if (source->text.len > YAML_SOURCE_MAX) {
        diag_addf(diags, DIAG_ERROR, (Place){.file = source->file}, STR_NULL,
            "%zu bytes; at most %zu are read", source->text.len, YAML_SOURCE_MAX);
        return false;
    }
    return check_bytes(source, diags) && check_tabs(source, diags) &&
           check_directives(source, diags);
}
