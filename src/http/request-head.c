/* Parses request lines and header lines, strictly by RFC 9112. */

#include "http/request-head.h"

#include <arpa/inet.h>

#include "base/cleanup.h"
#include "base/origin.h"

/* this many digits always fit into 64 bits */
#define LENGTH_DIGITS_MAX 18

static void refuse(RequestHead *head, unsigned status, const char *problem) {
    if (head->status == 400 || (head->status != 0 && status != 400))
        return;
    head->status = status;
    head->problem = problem;
}

static bool is_field_value(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* Refuses bytes that no URI has. Browsers send some others that RFC 3986 forbids. */
static bool is_target(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c <= 0x20 || c >= 0x7f || strchr("\"#<>", c))
            return false;
    }
    return text.len > 0;
}

static void add_length(RequestHead *head, Str value) {
    uint64_t length = 0;

    if (++head->n_lengths > 1)
        return refuse(head, 400, "Content-Length is given twice\n");
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX)
        return refuse(head, 400, "Content-Length is not a usable number\n");
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return refuse(head, 400, "Content-Length is not a number\n");
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    head->http.body_size = length;
}

static bool is_made_of(Str text, const char *bytes) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || !strchr(bytes, text.ptr[i]))
            return false;
    return text.len > 0;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PORT_DIGITS_MAX 5u

static bool is_address(int family, Str text) {
    char address[INET6_ADDRSTRLEN] = "", bytes[16];

    if (text.len >= sizeof(address) || str_find(text, '\0') != SIZE_MAX)
        return false;
    if (text.len > 0)
        memcpy(address, text.ptr, text.len);
    return inet_pton(family, address, bytes) == 1;
}

/* "", ":" or ":80" */
static bool is_port(Str text) {
    Str digits = str_skip(text, 1);
    unsigned port = 0;

    if (text.len <= 1)
        return text.len == 0 || text.ptr[0] == ':';
    if (text.ptr[0] != ':' || digits.len > PORT_DIGITS_MAX || !is_made_of(digits, DIGITS))
        return false;
    for (size_t i = 0; i < digits.len; i++)
        port = port * 10 + (unsigned)(digits.ptr[i] - '0');
    return port <= UINT16_MAX;
}

static bool is_localhost(Str name) {
    static const Str suffix = STR(".localhost");

    return str_eq_nocase(name, STR("localhost")) ||
           (name.len > suffix.len && str_eq_nocase(str_skip(name, name.len - suffix.len), suffix));
}

/* Accepts "name", "1.2.3.4:80" and "[::1]:80". *ret_is_name: unlike an address or localhost, an
 * attacker's DNS may resolve it to any address. */
static bool read_host(Str host, bool *ret_is_name) {
    bool is_ipv6 = str_has_prefix(host, STR("["));
    size_t end = str_find(host, is_ipv6 ? ']' : ':');
    Str name = str_take(host, end), rest = str_skip(host, end);

    *ret_is_name = !is_ipv6 && !is_address(AF_INET, name) && !is_localhost(name);
    if (is_ipv6)
        return end != SIZE_MAX && is_address(AF_INET6, str_skip(name, 1)) &&
               is_port(str_skip(rest, 1));
    return is_made_of(name, DIGITS LETTERS "-._") && is_port(rest);
}

static void add_host(RequestHead *head, Str value) {
    if (++head->n_hosts > 1)
        return refuse(head, 400, "Host is given twice\n");
    head->host = value;
    if (!read_host(value, &head->has_named_host))
        refuse(head, 400, "Host is malformed\n");
}

/* Whether the client excludes a value: "q=0", "q=0.000". */
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

/* Whether @list, such as "text/html, text/plain;q=0.5", names @wanted. Ignores patterns (*). */
static bool names(Str list, Str wanted) {
    Str item;

    while (str_split(&list, ',', &item)) {
        size_t semicolon = str_find(item, ';');

        if (str_eq_nocase(str_trim(str_take(item, semicolon)), wanted))
            return semicolon == SIZE_MAX || !is_refused(str_skip(item, semicolon + 1));
    }
    return false;
}

static void add_line(RequestHead *head, Str name, Str value) {
    if (!str_is_token(name))
        return refuse(head, 400, "a header name is malformed\n");
    if (!is_field_value(value))
        return refuse(head, 400, "a header value has control characters\n");
    value = str_trim(value);

    if (str_eq_nocase(name, STR("content-length")))
        add_length(head, value);
    else if (str_eq_nocase(name, STR("transfer-encoding")))
        refuse(head, 501, "Transfer-Encoding is not supported: send Content-Length\n");
    else if (str_eq_nocase(name, STR("host")))
        add_host(head, value);
    else if (str_eq_nocase(name, STR("connection")))
        head->is_last |= names(value, STR("close"));
    else if (str_eq_nocase(name, STR("authorization"))) {
        head->http.authorization = value;
        if (++head->n_authorizations > 1)
            refuse(head, 400, "Authorization is given twice\n");
    } else if (str_eq_nocase(name, STR("berth-token"))) {
        head->http.berth_token = value;
        if (++head->n_tokens > 1)
            refuse(head, 400, "Berth-Token is given twice\n");
    } else if (str_eq_nocase(name, STR("cookie"))) {
        head->http.cookie = value;
    } else if (str_eq_nocase(name, STR("origin"))) {
        head->http.has_origin = true;
        head->origin = value;
    } else if (str_eq_nocase(name, STR("accept")))
        head->http.accepts_html |= names(value, STR("text/html"));
    else if (str_eq_nocase(name, STR("accept-encoding")))
        head->http.accepts_gzip |= names(value, STR("gzip"));
    else if (str_eq_nocase(name, STR("if-none-match")))
        head->http.if_none_match = value;
    else if (str_eq_nocase(name, STR("content-type")))
        head->http.content_type = value;
    else if (str_eq_nocase(name, STR("content-encoding"))) {
        if (!str_eq_nocase(value, STR("identity")))
            refuse(head, 415, "Content-Encoding is not supported\n");
    } else if (str_eq_nocase(name, STR("expect")) && head->is_http_1_1) {
        head->expects_continue = str_eq_nocase(value, STR("100-continue"));
        if (!head->expects_continue)
            refuse(head, 417, "the only Expect that is supported is 100-continue\n");
    }
}

/* Takes the first line of @bytes, without its CR LF, which request_head_length() has found. */
static Str take_line(Str *bytes) {
    size_t end = str_find(*bytes, '\n');
    Str line = str_take(*bytes, end - 1);

    *bytes = str_skip(*bytes, end + 1);
    return line;
}

/* A version such as "HTTP/1.1": RFC 9112, 2.3. */
static bool is_version(Str text) {
    Str number = str_skip(text, strlen("HTTP/"));

    return str_has_prefix(text, STR("HTTP/")) && number.len == 3 &&
           is_made_of(str_take(number, 1), DIGITS) && number.ptr[1] == '.' &&
           is_made_of(str_skip(number, 2), DIGITS);
}

/* Reads a line such as "POST /filter HTTP/1.1". */
static void read_request_line(RequestHead *head, Str line) {
    Str version;

    if (!str_split(&line, ' ', &head->http.method) || !str_split(&line, ' ', &head->target) ||
        !str_split(&line, ' ', &version) || line.ptr || !str_is_token(head->http.method) ||
        !is_target(head->target) || !is_version(version))
        return refuse(head, 400, "the request line is malformed\n");
    head->is_http_1_1 = str_is(version, "HTTP/1.1");
    if (!head->is_http_1_1 && !str_is(version, "HTTP/1.0"))
        refuse(head, 505, "only HTTP/1.1 and HTTP/1.0 are supported\n");
}

/* "http://berth:8080/filter" is the target "/filter" with the Host "berth:8080", which replaces the
 * header of that name (RFC 9112, 3.2.2). */
static void read_absolute_target(RequestHead *head, Str rest) {
    size_t slash = str_find(rest, '/'), mark = str_find(rest, '?');
    size_t end = slash < mark ? slash : mark;

    head->host = str_take(rest, end);
    head->target = str_skip(rest, end);
    if (!read_host(head->host, &head->has_named_host))
        refuse(head, 400, "the host of the target is malformed\n");
}

/* Reads the four forms of RFC 9112, 3.2, after the header lines: it may replace the Host. */
static void read_target(RequestHead *head) {
    Str target = head->target;
    bool is_tls;

    if (str_is(head->http.method, "CONNECT") ||
        (str_is(target, "*") && str_is(head->http.method, "OPTIONS")))
        return refuse(head, 405, "this is not a proxy: send GET, HEAD or POST and a path\n");
    if (str_has_prefix(target, STR("/")))
        return;
    if (origin_cut_scheme(&target, &is_tls))
        return read_absolute_target(head, target);
    refuse(head, 400, "the target is neither a path nor a URL\n");
}

/* RFC 9112, 2.2: ignore an empty line before a request. */
static size_t skip_empty_line(Str bytes) {
    return str_has_prefix(bytes, STR("\r\n")) ? 2 : 0;
}

/* Whether the first line, with its CR LF, can begin a request. */
static bool is_request_line(Str line) {
    RequestHead head = {0};

    read_request_line(&head, str_take(line, line.len - 2));
    return head.status != 400;
}

size_t request_head_length(Str bytes, size_t *scanned) {
    size_t from = skip_empty_line(bytes);

    if (bytes.len > from && bytes.ptr[from] != '\r' && !str_is_token(str_of(bytes.ptr + from, 1)))
        return REQUEST_HEAD_MALFORMED; /* TLS on a plain port, for example */
    if (*scanned < from)
        *scanned = from;
    for (;;) {
        Str rest = str_skip(bytes, *scanned);
        size_t n = str_find(rest, '\n'), cr = str_find(rest, '\r');

        if (n == SIZE_MAX && (cr == SIZE_MAX || cr + 1 == rest.len))
            return 0;
        if (n == SIZE_MAX || n == 0 || cr != n - 1) /* CR or LF is alone */
            return REQUEST_HEAD_MALFORMED;
        if (*scanned == from && !is_request_line(str_take(rest, n + 1)))
            return REQUEST_HEAD_MALFORMED;
        *scanned += n + 1;
        if (n == 1)
            return *scanned;
    }
}

void request_head_parse(Str bytes, RequestHead *ret) {
    *ret = (RequestHead){0};
    bytes = str_skip(bytes, skip_empty_line(bytes));
    read_request_line(ret, take_line(&bytes));
    while (bytes.len > 2) {
        Str line = take_line(&bytes);
        size_t colon = str_find(line, ':');

        if (colon == SIZE_MAX)
            refuse(ret, 400, "a header line has no colon\n");
        else
            add_line(ret, str_take(line, colon), str_skip(line, colon + 1));
    }
    if (ret->n_hosts == 0 && ret->is_http_1_1)
        refuse(ret, 400, "Host is missing\n");
    if (ret->status != 400 && ret->status != 505)
        read_target(ret);
    ret->is_last |= !ret->is_http_1_1;
}
