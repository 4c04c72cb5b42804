/* Header lines checked against RFC 9112 before libmicrohttpd interprets them. */

#include "http/headers.h"

/* Longer lengths do not fit 64 bits. */
#define LENGTH_DIGITS_MAX 18

static void refuse(Headers *headers, unsigned status, const char *problem) {
    if (headers->status == 400 || (headers->status != 0 && status != 400))
        return;
    headers->status = status;
    headers->problem = problem;
}

/* RFC 9110, 5.6.2. */
static bool is_token_byte(unsigned char c) {
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_token(Str text) {
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_token_byte((unsigned char)text.ptr[i]))
            return false;
    return true;
}

static bool is_field_value(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool headers_request_line_is_clean(Str method, Str target) {
    if (!is_token(method) || target.len == 0)
        return false;
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];

        if (c <= 0x20 || c == 0x7f)
            return false;
    }
    return true;
}

static void add_length(Headers *headers, Str value) {
    uint64_t length = 0;

    if (++headers->n_lengths > 1)
        return refuse(headers, 400, "Content-Length is given twice\n");
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX)
        return refuse(headers, 400, "Content-Length is not a usable number\n");
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return refuse(headers, 400, "Content-Length is not a number\n");
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    headers->content_length = length;
}

static void add_coding(Headers *headers, Str value) {
    if (++headers->n_codings > 1 || !str_eq_nocase(value, STR("chunked")))
        return refuse(headers, 400, "Transfer-Encoding other than \"chunked\" is not supported\n");
    headers->is_chunked = true;
}

/* Names that an attacker's DNS may resolve to any address, unlike addresses. */
static bool is_name(Str host) {
    size_t n = 0;

    if (str_has_prefix(host, STR("[")))
        return false;
    host = str_take(host, str_find(host, ':'));
    while (n < host.len && (host.ptr[n] == '.' || (host.ptr[n] >= '0' && host.ptr[n] <= '9')))
        n++;
    if (n == host.len || str_eq_nocase(host, STR("localhost")))
        return false;
    return !str_has_suffix(host, STR(".localhost"));
}

static void add_host(Headers *headers, Str value) {
    if (++headers->n_hosts > 1)
        return refuse(headers, 400, "Host is given twice\n");
    headers->has_named_host = is_name(str_trim(value));
}

/* "q=0", "q=0.000": named to be refused. */
static bool is_refused(Str parameters) {
    size_t at = str_find(parameters, '=');
    Str value = str_trim(str_skip(parameters, at + 1));

    if (at == SIZE_MAX || !str_eq_nocase(str_trim(str_take(parameters, at)), STR("q")))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] != '0' && value.ptr[i] != '.')
            return false;
    return true;
}

/* Whether @list, "text/html, text/plain;q=0.5", names @wanted. Patterns (*) do not count. */
static bool names(Str list, Str wanted) {
    Str item;

    while (str_split(&list, ',', &item)) {
        size_t semicolon = str_find(item, ';');

        if (str_eq_nocase(str_trim(str_take(item, semicolon)), wanted))
            return semicolon == SIZE_MAX || !is_refused(str_skip(item, semicolon + 1));
    }
    return false;
}

void headers_add(Headers *headers, Str name, Str value) {
    headers->n_lines++;
    if (!is_token(name))
        return refuse(headers, 400, "a header name is malformed\n");
    if (!is_field_value(value))
        return refuse(headers, 400, "a header value has control characters\n");

    if (str_eq_nocase(name, STR("content-length")))
        add_length(headers, value);
    else if (str_eq_nocase(name, STR("transfer-encoding")))
        add_coding(headers, value);
    else if (str_eq_nocase(name, STR("host")))
        add_host(headers, value);
    else if (str_eq_nocase(name, STR("authorization"))) {
        if (++headers->n_authorizations > 1)
            refuse(headers, 400, "Authorization is given twice\n");
    } else if (str_eq_nocase(name, STR("origin")))
        headers->has_origin = true;
    else if (str_eq_nocase(name, STR("accept")))
        headers->accepts_html |= names(value, STR("text/html"));
    else if (str_eq_nocase(name, STR("accept-encoding")))
        headers->accepts_gzip |= names(value, STR("gzip"));
    else if (str_eq_nocase(name, STR("content-encoding"))) {
        if (!str_eq_nocase(str_trim(value), STR("identity")))
            refuse(headers, 415, "Content-Encoding is not supported\n");
    } else if (str_eq_nocase(name, STR("expect")))
        headers->expects_continue = str_eq_nocase(str_trim(value), STR("100-continue"));
}

/* CR LF, as two NULs. A bare LF has left one only. */
static bool take_line_end(Str *block) {
    if (block->len < 2 || block->ptr[0] != '\0' || block->ptr[1] != '\0')
        return false;
    *block = str_skip(*block, 2);
    return true;
}

/* A NUL the client sent looks like a colon or the half of a line end. It cannot
 * make another list of lines pass for this one: a name must be a token and end
 * at the first NUL, a value must be followed by exactly two, the block must end
 * with its empty line, and the number of lines must be what libmicrohttpd found
 * (the server compares). */
void headers_add_block(Headers *headers, Str block) {
    if (!take_line_end(&block))
        return refuse(headers, 400, "the request line does not end in CR LF\n");
    while (block.len > 0 && block.ptr[0] != '\0') {
        size_t end = str_find(block, '\0');
        Str name = str_take(block, end), value;

        if (end == SIZE_MAX)
            return refuse(headers, 400, "a header line is malformed\n");
        block = str_skip(block, end + 1);
        while (block.len > 0 && (block.ptr[0] == ' ' || block.ptr[0] == '\t'))
            block = str_skip(block, 1);
        value = str_take(block, str_find(block, '\0'));
        block = str_skip(block, value.len);
        if (!take_line_end(&block))
            return refuse(headers, 400, "a header line holds NUL or does not end in CR LF\n");
        headers_add(headers, name, value);
    }
    if (!take_line_end(&block) || block.len > 0)
        return refuse(headers, 400, "the header lines are malformed\n");
}

void headers_finish(Headers *headers, bool is_http_1_1) {
    if (headers->n_lengths > 0 && headers->n_codings > 0)
        return refuse(headers, 400, "both Content-Length and Transfer-Encoding are given\n");
    if (headers->n_codings > 0 && !is_http_1_1)
        return refuse(headers, 400, "HTTP/1.0 has no Transfer-Encoding\n");
    if (headers->n_hosts == 0 && is_http_1_1)
        return refuse(headers, 400, "Host is missing\n");
}
