/* Finds the bytes of a scalar in its file. */

#include "policy/written-text.h"

static size_t count_spaces(Str line) {
    size_t n = 0;

    while (n < line.len && line.ptr[n] == ' ')
        n++;
    return n;
}

/* The indentation of a literal block below line @line: that of its first line. */
static size_t find_indent(const WrittenText *written, size_t line) {
    size_t there = count_spaces(str_line(written->source, line + 1));
    size_t own = count_spaces(str_line(written->text, 1));

    return there > own ? there - own : 0;
}

/* The scalar's first line in the file, from its first byte on. */
static Str first_line(const WrittenText *written) {
    return str_skip(str_line(written->source, written->place.line), written->place.column - 1);
}

/* The quote it is written in; 0: none. */
static char quote_of(const WrittenText *written) {
    Str first = first_line(written);

    return first.len > 0 && (first.ptr[0] == '\'' || first.ptr[0] == '"') ? first.ptr[0] : '\0';
}

/* The character that escapes @c inside quotes; 0: @c needs none. */
static char escape_of(char c, char quote) {
    if (quote == '\'')
        return c == quote ? quote : '\0';
    return quote == '"' && (c == quote || c == '\\') ? '\\' : '\0';
}

/* How many bytes of the file's @there are the first @n of @text; SIZE_MAX: they differ. */
static size_t measure(Str there, Str text, size_t n, char quote) {
    size_t at = 0;

    for (size_t i = 0; i < n && i < text.len; i++) {
        char escape = escape_of(text.ptr[i], quote);

        if (escape && (at >= there.len || there.ptr[at++] != escape))
            return SIZE_MAX;
        if (at >= there.len || there.ptr[at++] != text.ptr[i])
            return SIZE_MAX;
    }
    return at;
}

bool written_find(const WrittenText *written, const Place *within, Place *ret) {
    const Place *begin = &written->place;
    Str wanted = str_line(written->text, within->line), there = first_line(written);
    bool is_block = str_has_prefix(there, STR("|"));
    char quote = quote_of(written);
    size_t before = is_block ? find_indent(written, begin->line) : quote != '\0', from, to;

    if (!is_block && str_find(written->text, '\n') != SIZE_MAX)
        return false;
    if (is_block)
        there = str_line(written->source, begin->line + within->line);
    there = str_skip(there, before);
    from = measure(there, wanted, within->column - 1, quote);
    to = measure(there, wanted, within->column - 1 + within->width, quote);
    if (measure(there, wanted, wanted.len, quote) == SIZE_MAX)
        return false;
    *ret = *begin;
    ret->line = begin->line + (is_block ? within->line : 0);
    ret->column = (is_block ? 1 : begin->column) + before + from;
    ret->width = to > from ? to - from : within->width;
    return true;
}

Str written_escape(const WrittenText *written, Str text, Arena *arena) {
    char quote = quote_of(written), *out = ARENA_RAW(arena, char, 2 * text.len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        char escape = escape_of(text.ptr[i], quote);

        if (escape)
            out[n++] = escape;
        out[n++] = text.ptr[i];
    }
    return out ? str_of(out, n) : STR_NULL;
}
