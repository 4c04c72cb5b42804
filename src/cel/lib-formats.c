/* Named formats (a label, a name, a date …) as in Kubernetes' library, a row of a table each.
 * validate() reports errors in the API server's words, because users compare them. */

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/utf8.h"
#include "cel/library.h"
#include "cel/url.h"

#define MESSAGES_MAX 4          /* the most that one text can cause */
#define CHECK_BYTES ((size_t)4) /* checking a byte takes as long as copying this many */
#define LABEL_MAX 63
#define SUBDOMAIN_MAX 253

typedef struct Messages {
    CelRun *run; /* memory for the ones that are not static */
    Str texts[MESSAGES_MAX];
    size_t n;
    bool is_out_of_memory;
} Messages;

static void add_message_if(Messages *messages, bool is_wrong, Str text) {
    if (is_wrong && messages->n < MESSAGES_MAX)
        messages->texts[messages->n++] = text;
}

#define ALNUM_ENDS "must start and end with an alphanumeric character"
#define LABEL_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_PATTERN LABEL_PATTERN "(\\." LABEL_PATTERN ")*"
#define NAME_PATTERN "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define USED(pattern) "regex used for validation is '" pattern "')"

#define NOT_LABEL                                                                                  \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "       \
    "and " ALNUM_ENDS " (e.g. 'my-name',  or '123-abc', " USED(LABEL_PATTERN)
#define NOT_SUBDOMAIN                                                                              \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and " ALNUM_ENDS " (e.g. 'example.com', " USED(SUBDOMAIN_PATTERN)
#define NOT_1035_LABEL                                                                             \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "           \
    "'abc-123', " USED("[a-z]([-a-z0-9]*[a-z0-9])?")
#define NOT_NAME                                                                                   \
    "must consist of alphanumeric characters, '-', '_' or '.', and " ALNUM_ENDS                    \
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', " USED(NAME_PATTERN)
#define NOT_VALUE                                                                                  \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and " ALNUM_ENDS                                                                         \
    " (e.g. 'MyValue',  or 'my_value',  or '12345', " USED("(" NAME_PATTERN ")?")

/* Digits, small letters, capital ones if @has_capitals; between the ends also bytes of @inner. */
static bool is_word(Str text, bool has_capitals, Str inner) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_end = i == 0 || i + 1 == text.len;

        if (!(has_capitals ? ascii_is_letter(c) : ascii_is_lower(c)) && !ascii_is_digit(c) &&
            (is_end || str_find(inner, c) == SIZE_MAX))
            return false;
    }
    return text.len > 0;
}

static bool is_label(Str text) {
    return is_word(text, /* has_capitals= */ false, STR("-"));
}

/* Labels with dots between them. */
static bool is_subdomain(Str text) {
    Str label;

    if (text.len == 0)
        return false;
    while (str_split(&text, '.', &label))
        if (!is_label(label))
            return false;
    return true;
}

/* The name part of a qualified name, or a label's value that is not empty. */
static bool is_qualified_part(Str text) {
    return is_word(text, /* has_capitals= */ true, STR("-_."));
}

static void check_label(Str text, Messages *messages) {
    add_message_if(messages, text.len > LABEL_MAX, STR("must be no more than 63 characters"));
    add_message_if(messages, !is_label(text),
        is_subdomain(text) ? STR("must not contain dots") : STR(NOT_LABEL));
}

static void check_subdomain(Str text, Messages *messages) {
    add_message_if(messages, text.len > SUBDOMAIN_MAX, STR("must be no more than 253 characters"));
    add_message_if(messages, !is_subdomain(text), STR(NOT_SUBDOMAIN));
}

static void check_1035_label(Str text, Messages *messages) {
    add_message_if(messages, text.len > LABEL_MAX, STR("must be no more than 63 characters"));
    add_message_if(messages, !is_label(text) || ascii_is_digit(text.ptr[0]), STR(NOT_1035_LABEL));
}

/* A prefix may end in a dash, since something will follow. Like Kubernetes, replaces the last *two*
 * bytes by an "a", so that "--" is valid. */
static Str without_dash(Str text, Messages *messages) {
    char *copy;

    if (text.len < 2 || text.ptr[text.len - 1] != '-')
        return text;
    copy = cel_alloc(messages->run, text.len - 1);
    messages->is_out_of_memory = !copy;
    if (!copy)
        return text;
    memcpy(copy, text.ptr, text.len - 2);
    copy[text.len - 2] = 'a';
    return str_of(copy, text.len - 1);
}

/* "name" or "prefix/name". */
static void check_qualified_name(Str text, Messages *messages) {
    size_t slash = str_find(text, '/');
    Str prefix = slash == SIZE_MAX ? STR_NULL : str_take(text, slash);
    Str name = slash == SIZE_MAX ? text : str_skip(text, slash + 1);

    if (str_find(name, '/') != SIZE_MAX) {
        add_message_if(messages, true,
            STR("a valid label key " NOT_NAME
                " with an optional DNS subdomain prefix and '/' (e.g. "
                "'example.com/MyName')"));
        return;
    }
    add_message_if(messages, slash == 0, STR("prefix part must be non-empty"));
    add_message_if(
        messages, prefix.len > SUBDOMAIN_MAX, STR("prefix part must be no more than 253 bytes"));
    add_message_if(
        messages, prefix.len > 0 && !is_subdomain(prefix), STR("prefix part " NOT_SUBDOMAIN));
    add_message_if(messages, name.len == 0, STR("name part must be non-empty"));
    add_message_if(messages, name.len > LABEL_MAX, STR("name part must be no more than 63 bytes"));
    add_message_if(messages, !is_qualified_part(name), STR("name part " NOT_NAME));
}

static void check_label_value(Str text, Messages *messages) {
    add_message_if(messages, text.len > LABEL_MAX, STR("must be no more than 63 bytes"));
    add_message_if(messages, text.len > 0 && !is_qualified_part(text), STR(NOT_VALUE));
}

static void check_uri(Str text, Messages *messages) {
    _cleanup_(buf_done) Buf out = BUF_INIT(CEL_URL_FAULT_MAX);
    CelUrlFault fault;
    Str copy;

    if (cel_url_check(text, &fault))
        return;
    cel_url_fault_print(text, &fault, &out);
    copy = buf_error(&out) ? STR_NULL : arena_copy(messages->run->arena, buf_str(&out));
    messages->is_out_of_memory = !copy.ptr;
    add_message_if(messages, true, copy);
}

/* 8-4-4-4-12 hexadecimal digits; each dash is optional. */
static void check_uuid(Str text, Messages *messages) {
    static const uint8_t groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;

    for (size_t i = 0; i < ELEMENTS_OF(groups); i++) {
        if (i > 0 && at < text.len && text.ptr[at] == '-')
            at++;
        for (size_t end = at + groups[i]; at < end; at++) {
            char c = at < text.len ? text.ptr[at] : '\0';

            if (ascii_hex_value(c) < 0) {
                add_message_if(messages, true, STR("does not match the UUID format"));
                return;
            }
        }
    }
    add_message_if(messages, at < text.len, STR("does not match the UUID format"));
}

/* Padded base64 of at least one byte; leftover bits are not checked. */
static void check_byte(Str text, Messages *messages) {
    size_t n = text.len;

    while (n > 0 && text.len - n < 2 && text.ptr[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = text.ptr[i];

        if (!ascii_is_alnum(c) && c != '+' && c != '/') {
            add_message_if(messages, true, STR("invalid base64"));
            return;
        }
    }
    add_message_if(messages, text.len == 0 || text.len % 4 != 0, STR("invalid base64"));
}

static bool is_date(Str text) {
    CalendarDate date;

    return calendar_take_date(&text, &date) && text.len == 0;
}

static void check_date(Str text, Messages *messages) {
    add_message_if(messages, !is_date(text), STR("invalid date"));
}

/* "Z" or "+01:00", of any hours and minutes. */
static bool is_offset(Str text) {
    if (text.len == 1)
        return text.ptr[0] == 'z' || text.ptr[0] == 'Z';
    return text.len == 6 && (text.ptr[0] == '+' || text.ptr[0] == '-') &&
           ascii_is_digit(text.ptr[1]) && ascii_is_digit(text.ptr[2]) && text.ptr[3] == ':' &&
           ascii_is_digit(text.ptr[4]) && ascii_is_digit(text.ptr[5]);
}

/* Skips any one character and digits: Kubernetes' pattern has a dot that is not escaped. */
static Str without_fraction(Str text) {
    uint32_t c;
    size_t n = text.len > 0 ? utf8_decode(text, &c) : 0, digits = n;

    if (n == 0 || c == '\n')
        return text;
    while (digits < text.len && ascii_is_digit(text.ptr[digits]))
        digits++;
    return digits > n ? str_skip(text, digits) : text;
}

/* "08:09:10.5Z". Two digits sort like numbers, so they are compared as text. */
static bool is_clock(Str text) {
    static const char last[] = "23:59:59";

    if (text.len < 8)
        return false;
    for (size_t i = 0; i < 8; i++)
        if (i % 3 == 2 ? text.ptr[i] != ':' : !ascii_is_digit(text.ptr[i]))
            return false;
    for (size_t i = 0; i < 8; i += 3)
        if (memcmp(text.ptr + i, last + i, 2) > 0)
            return false;
    text = str_skip(text, 8);
    return is_offset(text) || is_offset(without_fraction(text));
}

/* A date, a "t" and a clock. Text after a second "t" is ignored, as in Kubernetes. */
static void check_datetime(Str text, Messages *messages) {
    size_t at = 0, end;

    while (at < text.len && text.ptr[at] != 't' && text.ptr[at] != 'T')
        at++;
    for (end = at + 1; end < text.len && text.ptr[end] != 't' && text.ptr[end] != 'T'; end++)
        continue;
    if (at == text.len || !is_date(str_take(text, at)) ||
        !is_clock(str_skip(str_take(text, end), at + 1)))
        add_message_if(messages, true, STR("invalid datetime"));
}

#define FORMATS(X)                                                                                 \
    X(dns1123Label, check_label, false)                                                            \
    X(dns1123Subdomain, check_subdomain, false)                                                    \
    X(dns1035Label, check_1035_label, false)                                                       \
    X(qualifiedName, check_qualified_name, false)                                                  \
    X(dns1123LabelPrefix, check_label, true)                                                       \
    X(dns1123SubdomainPrefix, check_subdomain, true)                                               \
    X(dns1035LabelPrefix, check_1035_label, true)                                                  \
    X(labelValue, check_label_value, false)                                                        \
    X(uri, check_uri, false)                                                                       \
    X(uuid, check_uuid, false)                                                                     \
    X(byte, check_byte, false)                                                                     \
    X(date, check_date, false)                                                                     \
    X(datetime, check_datetime, false)

typedef struct Format {
    Str name;
    void (*check)(Str text, Messages *messages);
    bool is_prefix; /* something will follow the text */
} Format;

typedef enum FormatNumber {
#define X(name, check, prefix) FORMAT_##name,
    FORMATS(X)
#undef X
} FormatNumber;

static const Format formats[] = {
#define X(name, check, prefix) [FORMAT_##name] = {STR(#name), check, prefix},
    FORMATS(X)
#undef X
};

#define X(name, check, prefix)                                                                     \
    CEL_RETURNS(format_##name, cel_opaque(CEL_FORMAT, &formats[FORMAT_##name]))
FORMATS(X)
#undef X

CEL_FUNCTION(format_named) {
    for (size_t i = 0; i < ELEMENTS_OF(formats); i++)
        if (str_eq(cel_str(args[0]), formats[i].name))
            return cel_make_optional(run, cel_opaque(CEL_FORMAT, &formats[i]));
    return cel_none();
}

CEL_CHARGED(validate, CHECK_BYTES *args[1].len) {
    const Format *format = args[0].opaque;
    Messages messages = {.run = run};
    Str text = cel_str(args[1]);
    CelValue *items, list;

    if (format->is_prefix)
        text = without_dash(text, &messages);
    format->check(text, &messages);
    if (messages.is_out_of_memory)
        return cel_no_memory(run);
    if (messages.n == 0)
        return cel_none();
    items = cel_list_begin(run, messages.n);
    if (!items)
        return cel_no_memory(run);
    for (size_t i = 0; i < messages.n; i++)
        items[i] = cel_string(messages.texts[i]);
    list = cel_list_end(run, items, messages.n);
    return list.kind == CEL_ERROR ? list : cel_make_optional(run, list);
}

static bool format_equal(const void *a, const void *b) {
    return a == b;
}

static void format_print(const void *opaque, Buf *out) {
    buf_printf(out, "format.%.*s()", STR_FMT(((const Format *)opaque)->name));
}

const CelOpaque cel_format_opaque = {.equal = format_equal, .print = format_print};

static const CelOverloadSpec overloads[] = {
    {"format.named", "(string) -> optional_type(kubernetes.NamedFormat)", format_named},
    {"validate", "kubernetes.NamedFormat.(string) -> optional_type(list(string))", validate,
        .cost = CEL_COST_BOTH, .reads_text = true},
#define X(name, check, prefix) {"format." #name, "() -> kubernetes.NamedFormat", format_##name},
    FORMATS(X)
#undef X
};

CEL_LIBRARY(cel_formats_library, "formats", overloads);
