/* Checks and parses URLs: cuts the text into parts, checks each by its own rules, and for url()
 * normalizes their escapes. url() cuts twice, as Kubernetes does: as a request's URI, which is
 * absolute and has no fragment, and as any URL, after removing the fragment. */

#include "cel/url.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "cel/ip.h"

#define IPV6_MAX 64 /* bytes of an address in text */

typedef enum Place {
    IN_PATH = 1,
    IN_HOST = 2,
    IN_USER = 4,
    IN_FRAGMENT = 8,
    IN_QUERY = 16,
    IN_ZONE = 32, /* of an IPv6 address; plain bytes as in a host */
} Place;

#define IN_ALL (IN_PATH | IN_HOST | IN_USER | IN_FRAGMENT | IN_QUERY | IN_ZONE)
#define IN_NAMES (IN_HOST | IN_ZONE)

/* The parts in which a byte needs no escape. */
static const uint8_t plain_in[256] = {
    ['a' ... 'z'] = IN_ALL,
    ['A' ... 'Z'] = IN_ALL,
    ['0' ... '9'] = IN_ALL,
    ['-'] = IN_ALL,
    ['_'] = IN_ALL,
    ['.'] = IN_ALL,
    ['~'] = IN_ALL,
    ['$'] = IN_ALL & ~IN_QUERY,
    ['&'] = IN_ALL & ~IN_QUERY,
    ['+'] = IN_ALL & ~IN_QUERY,
    [','] = IN_ALL & ~IN_QUERY,
    [';'] = IN_ALL & ~IN_QUERY,
    ['='] = IN_ALL & ~IN_QUERY,
    [':'] = IN_PATH | IN_FRAGMENT | IN_NAMES,
    ['/'] = IN_PATH | IN_FRAGMENT,
    ['@'] = IN_PATH | IN_FRAGMENT,
    ['?'] = IN_FRAGMENT,
    ['!'] = IN_FRAGMENT | IN_NAMES,
    ['('] = IN_FRAGMENT | IN_NAMES,
    [')'] = IN_FRAGMENT | IN_NAMES,
    ['*'] = IN_FRAGMENT | IN_NAMES,
    ['\''] = IN_NAMES,
    ['['] = IN_NAMES,
    [']'] = IN_NAMES,
    ['<'] = IN_NAMES,
    ['>'] = IN_NAMES,
    ['"'] = IN_NAMES,
};

static bool is_plain(unsigned char c, Place place) {
    return (plain_in[c] & (unsigned)place) != 0;
}

/* The byte of the "%XX" at @i, or -1. */
static int escape_at(Str text, size_t i) {
    int high, low;

    if (i + 2 >= text.len)
        return -1;
    high = ascii_hex_value(text.ptr[i + 1]);
    low = ascii_hex_value(text.ptr[i + 2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool fail(
    CelUrlFault *fault, const char *before, const char *part, size_t n, const char *after) {
    *fault = (CelUrlFault){.before = before, .part = str_of(part, n), .after = after};
    return false;
}

/* Whether the escape of @byte is allowed in @place: in a host only bytes beyond ASCII and "%25", in
 * a zone also characters that need no escape, or a space. */
static bool is_good_escape(int byte, Place place) {
    if (byte < 0)
        return false;
    if (place == IN_HOST)
        return byte >= 0x80 || byte == '%';
    if (place == IN_ZONE)
        return byte == '%' || byte == ' ' || is_plain((unsigned char)byte, IN_HOST);
    return true;
}

static bool check_escapes(Str text, Place place, CelUrlFault *fault) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c == '%') {
            if (!is_good_escape(escape_at(text, i), place)) {
                size_t n = text.len - i < 3 ? text.len - i : 3;

                return fail(fault, "invalid URL escape ", text.ptr + i, n, NULL);
            }
            i += 2;
        } else if ((place == IN_HOST || place == IN_ZONE) && c < 0x80 && !is_plain(c, place)) {
            return fail(fault, "invalid character ", text.ptr + i, 1, " in host name");
        }
    }
    return true;
}

typedef struct Parts {
    Str scheme, opaque, user, host, path, query; /* as written */
    bool has_user;
    bool has_authority; /* "//", even with nothing after it */
    bool has_query;     /* "?", even with nothing after it */
} Parts;

static bool cut_scheme(Str *rest, Str *ret_scheme, CelUrlFault *fault) {
    *ret_scheme = STR_NULL;
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        bool is_letter = ascii_is_letter(c);

        if (c == ':' && i == 0)
            return fail(fault, "missing protocol scheme", NULL, 0, NULL);
        if (c == ':') {
            *ret_scheme = str_take(*rest, i);
            *rest = str_skip(*rest, i + 1);
            return true;
        }
        if (!is_letter && (i == 0 || !(ascii_is_digit(c) || c == '+' || c == '-' || c == '.')))
            return true;
    }
    return true;
}

/* Empty, or ":" and any number of digits. */
static bool is_port(Str text) {
    if (text.len == 0)
        return true;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.ptr[0] == ':';
}

static bool check_port(Str text, CelUrlFault *fault) {
    return is_port(text) || fail(fault, "invalid port ", text.ptr, text.len, " after host");
}

/* Whether @text is an IPv6 address. A final IPv4 address is checked by itself, then replaced by two
 * groups. */
static bool is_ipv6(Str text) {
    size_t colon = str_find_last(text, ':');
    char copy[IPV6_MAX];
    CelIp ip;

    if (colon == SIZE_MAX || text.len + 4 > sizeof(copy))
        return false;
    if (str_find(text, '.') == SIZE_MAX)
        return cel_ip_parse(text, &ip, NULL);
    if (!cel_ip_parse(str_skip(text, colon + 1), &ip, NULL))
        return false;
    memcpy(copy, text.ptr, colon + 1);
    memcpy(copy + colon + 1, "1:1", 3);
    return cel_ip_parse(str_of(copy, colon + 4), &ip, NULL);
}

/* "[fe80::1%25eth0]:80" */
static bool check_ip_literal(Str host, CelUrlFault *fault) {
    size_t close = str_find_last(host, ']');
    Str inside, zone = STR_NULL;
    const char *percent;

    if (close == SIZE_MAX)
        return fail(fault, "missing ']' in host", NULL, 0, NULL);
    if (!check_port(str_skip(host, close + 1), fault))
        return false;
    inside = str_take(str_skip(host, 1), close - 1);
    percent = memmem(inside.ptr, inside.len, "%25", 3);
    if (percent) {
        zone = str_skip(inside, (size_t)(percent - inside.ptr));
        inside = str_take(inside, (size_t)(percent - inside.ptr));
    }
    if (!check_escapes(inside, IN_HOST, fault) || !check_escapes(zone, IN_ZONE, fault))
        return false;
    if (str_find(inside, ':') == SIZE_MAX)
        return fail(fault, "invalid IP-literal", NULL, 0, NULL);
    if (!is_ipv6(inside) || zone.len == 3) /* "%25" and nothing after it */
        return fail(fault, "invalid host: no IPv6 address", NULL, 0, NULL);
    return true;
}

/* Schemes other than http may have several colons: URLs of databases list several hosts. */
static bool check_host(Str scheme, Str host, CelUrlFault *fault) {
    size_t bracket = str_find_last(host, '['), colon = str_find(host, ':');
    bool is_http = str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https"));

    if (bracket == 0)
        return check_ip_literal(host, fault);
    if (bracket != SIZE_MAX)
        return fail(fault, "invalid IP-literal", NULL, 0, NULL);
    if (colon != SIZE_MAX && !is_http)
        colon = str_find_last(host, ':');
    if (colon != SIZE_MAX && !check_port(str_skip(host, colon), fault))
        return false;
    return check_escapes(host, IN_HOST, fault);
}

static bool check_user(Str user, CelUrlFault *fault) {
    size_t colon = str_find(user, ':');

    for (size_t i = 0; i < user.len; i++) {
        char c = user.ptr[i];

        if (!ascii_is_alnum(c) && (c == '\0' || !strchr("-._:~!$&'()*+,;=%@", c)))
            return fail(fault, "net/url: invalid userinfo", NULL, 0, NULL);
    }
    return check_escapes(str_take(user, colon), IN_USER, fault) &&
           (colon == SIZE_MAX || check_escapes(str_skip(user, colon + 1), IN_USER, fault));
}

static bool cut_authority(Str *rest, Parts *parts, CelUrlFault *fault) {
    Str authority = str_skip(*rest, 2);
    size_t slash = str_find(authority, '/'), at;

    *rest = slash == SIZE_MAX ? STR_NULL : str_skip(authority, slash);
    authority = str_take(authority, slash);
    at = str_find_last(authority, '@');
    parts->has_authority = true;
    parts->has_user = at != SIZE_MAX;
    parts->user = parts->has_user ? str_take(authority, at) : STR_NULL;
    parts->host = parts->has_user ? str_skip(authority, at + 1) : authority;
    return check_host(parts->scheme, parts->host, fault) &&
           (!parts->has_user || check_user(parts->user, fault));
}

static bool check_controls(Str text, CelUrlFault *fault) {
    return !str_has_control(text) ||
           fail(fault, "net/url: invalid control character in URL", NULL, 0, NULL);
}

/* Rejects relative paths in both modes: url() cuts a text as any URL only after it was valid as a
 * request's URI. */
static bool cut(Str text, bool is_request, Parts *ret, CelUrlFault *fault) {
    Str rest = text;
    size_t question;

    *ret = (Parts){0};
    if (!check_controls(text, fault))
        return false;
    if (text.len == 0)
        return fail(fault, "empty url", NULL, 0, NULL);
    if (str_is(text, "*")) {
        ret->path = text;
        return true;
    }
    if (!cut_scheme(&rest, &ret->scheme, fault))
        return false;
    question = str_find(rest, '?');
    ret->has_query = question != SIZE_MAX;
    ret->query = ret->has_query ? str_skip(rest, question + 1) : STR_NULL;
    rest = str_take(rest, question);
    if (!str_has_prefix(rest, STR("/"))) {
        ret->opaque = rest;
        return ret->scheme.len > 0 || fail(fault, "invalid URI for request", NULL, 0, NULL);
    }
    if (str_has_prefix(rest, STR("//")) &&
        (ret->scheme.len > 0 || (!is_request && !str_has_prefix(rest, STR("///")))) &&
        !cut_authority(&rest, ret, fault))
        return false;
    ret->path = rest;
    return check_escapes(rest, IN_PATH, fault);
}

bool cel_url_check(Str text, CelUrlFault *ret_fault) {
    CelUrlFault fault;
    Parts parts;

    return cut(text, true, &parts, ret_fault ? ret_fault : &fault);
}

/* Appends @text with its escapes undone; the caller has checked them. */
static void unescape(Str text, bool is_query, Buf *out) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '%') {
            buf_append_char(out, (char)escape_at(text, i));
            i += 2;
        } else {
            buf_append_char(out, is_query && c == '+' ? ' ' : c);
        }
    }
}

static void escape(Str text, Place place, Buf *out) {
    static const char hex_digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (is_plain(c, place))
            buf_append_char(out, (char)c);
        else
            buf_append(out, str_of((char[]){'%', hex_digits[c >> 4], hex_digits[c & 15]}, 3));
    }
}

/* Normalizes the escapes of @text: only those that @place needs. */
static void normalize(Str text, Place place, Buf *out) {
    _cleanup_(buf_done) Buf plain = BUF_INIT(text.len);

    unescape(text, false, &plain);
    if (buf_error(&plain))
        out->error = buf_error(&plain);
    escape(buf_str(&plain), place, out);
}

/* Paths and fragments keep their escapes as written, if these are valid. */
static void normalize_if_invalid(Str text, Place place, Buf *out) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!is_plain((unsigned char)c, place) && (c == '\0' || !strchr("!$&'()*+,;=:@[]%", c))) {
            normalize(text, place, out);
            return;
        }
    }
    buf_append(out, text);
}

/* Name and password separately, so that the colon between them is not escaped. */
static void normalize_user(Str user, Buf *out) {
    size_t colon = str_find(user, ':');

    normalize(str_take(user, colon), IN_USER, out);
    if (colon != SIZE_MAX) {
        buf_append_char(out, ':');
        normalize(str_skip(user, colon + 1), IN_USER, out);
    }
    buf_append_char(out, '@');
}

static void append_lower(Str text, Buf *out) {
    for (size_t i = 0; i < text.len; i++)
        buf_append_char(out, ascii_lower(text.ptr[i]));
}

/* Prints the normalized URL. @path: normalized already. */
static void print_whole(const Parts *parts, Str path, Str fragment, Buf *out) {
    append_lower(parts->scheme, out);
    if (parts->scheme.len > 0)
        buf_append_char(out, ':');
    buf_append(out, parts->opaque);
    if (parts->has_authority && (parts->host.len > 0 || path.len > 0 || parts->has_user) &&
        (parts->scheme.len > 0 || parts->host.len > 0 || parts->has_user))
        buf_append(out, STR("//"));
    if (parts->has_user)
        normalize_user(parts->user, out);
    normalize(parts->host, IN_HOST, out);
    buf_append(out, path);
    if (parts->has_query)
        buf_append_char(out, '?');
    buf_append(out, parts->query);
    if (fragment.len > 0) {
        buf_append_char(out, '#');
        normalize_if_invalid(fragment, IN_FRAGMENT, out);
    }
}

bool cel_url_unescape_query(Str text, Buf *out) {
    _cleanup_(buf_done) Buf plain = BUF_INIT(text.len);
    CelUrlFault fault;

    if (!check_escapes(text, IN_QUERY, &fault))
        return false;
    unescape(text, true, &plain);
    if (buf_error(&plain))
        out->error = buf_error(&plain);
    utf8_append_valid(out, buf_str(&plain));
    return true;
}

/* Moves the text of scratch buffer @buf to @arena. */
static Str keep(Buf *buf, Arena *arena) {
    Str copy = buf_error(buf) ? STR_NULL : arena_copy(arena, buf_str(buf));

    buf_reset(buf);
    return copy;
}

static void split_host(CelUrl *url) {
    size_t colon = str_find_last(url->host, ':');

    url->hostname = url->host;
    if (colon != SIZE_MAX && is_port(str_skip(url->host, colon))) {
        url->hostname = str_take(url->host, colon);
        url->port = str_skip(url->host, colon + 1);
    }
    if (str_has_prefix(url->hostname, STR("[")) && str_has_suffix(url->hostname, STR("]")))
        url->hostname = str_take(str_skip(url->hostname, 1), url->hostname.len - 2);
}

static const CelUrl *build(const Parts *parts, Str fragment, size_t size, Arena *arena) {
    _cleanup_(buf_done) Buf buf = BUF_INIT(size * 3 + 16), plain = BUF_INIT(size);
    CelUrl *url = ARENA_NEW(arena, CelUrl);

    if (!url)
        return NULL;
    append_lower(parts->scheme, &buf);
    url->scheme = keep(&buf, arena);
    unescape(parts->host, false, &plain);
    utf8_append_valid(&buf, buf_str(&plain));
    url->host = keep(&buf, arena);
    normalize_if_invalid(parts->path, IN_PATH, &buf);
    url->path = keep(&buf, arena);
    buf_append(&buf, parts->query);
    url->query = keep(&buf, arena);
    print_whole(parts, url->path, fragment, &buf);
    url->text = keep(&buf, arena);
    split_host(url);
    if (buf_error(&plain) || !url->scheme.ptr || !url->host.ptr || !url->path.ptr ||
        !url->query.ptr || !url->text.ptr)
        return NULL;
    return url;
}

const CelUrl *cel_url_parse(Str text, Arena *arena, CelUrlFault *ret_fault) {
    size_t hash = str_find(text, '#');
    Str fragment = hash == SIZE_MAX ? STR_NULL : str_skip(text, hash + 1);
    Parts parts;

    if (!cel_url_check(text, ret_fault) || !cut(str_take(text, hash), false, &parts, ret_fault) ||
        !check_escapes(fragment, IN_FRAGMENT, ret_fault))
        return NULL;
    *ret_fault = (CelUrlFault){0};
    return build(&parts, fragment, text.len, arena);
}

/* Quotes like Go: bytes that are not valid UTF-8 are escaped one by one. */
static void print_quoted(Str text, Buf *out) {
    static const char letters[] = "abtnvfr"; /* for the bytes from 7 on */

    buf_append_char(out, '"');
    while (text.len > 0) {
        uint32_t c;
        size_t n = utf8_decode(text, &c);

        if (n == 0 || c < ' ' || c == 0x7f) {
            c = (unsigned char)text.ptr[0];
            if (c >= '\a' && c <= '\r')
                buf_printf(out, "\\%c", letters[c - '\a']);
            else
                buf_printf(out, "\\x%02x", (unsigned)c);
        } else {
            if (c == '"' || c == '\\')
                buf_append_char(out, '\\');
            buf_append(out, str_take(text, n));
        }
        text = str_skip(text, n > 0 ? n : 1);
    }
    buf_append_char(out, '"');
}

void cel_url_fault_print(Str text, const CelUrlFault *fault, Buf *out) {
    Str shown = utf8_take(text, CEL_URL_QUOTED_MAX);

    buf_append(out, STR("parse "));
    print_quoted(shown, out);
    buf_append(out, shown.len < text.len ? STR("…: ") : STR(": "));
    buf_append(out, str_from_c(fault->before));
    if (fault->part.ptr)
        print_quoted(str_take(fault->part, CEL_URL_QUOTED_MAX), out);
    if (fault->after)
        buf_append(out, str_from_c(fault->after));
}
