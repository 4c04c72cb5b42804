#include "http/headers.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

/* A header block as it comes over the wire, turned into what libmicrohttpd makes
 * of it: the first colon of a line, CR LF and bare LF become NUL. */
static size_t mangle(Str wire, char *to) {
    bool in_name = false;

    for (size_t i = 0; i < wire.len; i++) {
        char c = wire.ptr[i];

        to[i] = c;
        if (c == '\r' && i + 1 < wire.len && wire.ptr[i + 1] == '\n')
            to[i] = '\0';
        else if (c == '\n') {
            to[i] = '\0';
            in_name = true;
        } else if (c == ':' && in_name) {
            to[i] = '\0';
            in_name = false;
        }
    }
    return wire.len;
}

#define WIRE(text) STR("\r\n" text "\r\n")

static void test_verdicts(void **state) {
    static const struct {
        const char *name;
        Str wire; /* from behind "HTTP/1.1" */
        unsigned status;
    } cases[] = {
        {"plain", WIRE("Host: a\r\n"), 0},
        {"no lines", WIRE(""), 400},
        {"length", WIRE("Host: a\r\nContent-Length: 12\r\n"), 0},
        {"length in any case", WIRE("hOST: a\r\ncontent-LENGTH:12\r\n"), 0},
        {"empty value", WIRE("Host: a\r\nX:\r\nY: \r\n"), 0},
        {"tab and UTF-8 in a value", WIRE("Host: a\r\nX:\ta\tb\xc3\xa9\r\n"), 0},
        {"colon in a value", WIRE("Host: a:80\r\n"), 0},
        {"chunked", WIRE("Host: a\r\nTransfer-Encoding: Chunked\r\n"), 0},
        {"identity", WIRE("Host: a\r\nContent-Encoding: identity\r\n"), 0},

        {"two lengths", WIRE("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), 400},
        {"two equal lengths", WIRE("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n"), 400},
        {"a list of lengths", WIRE("Host: a\r\nContent-Length: 1, 1\r\n"), 400},
        {"length with sign", WIRE("Host: a\r\nContent-Length: +1\r\n"), 400},
        {"length with space behind", WIRE("Host: a\r\nContent-Length: 1 \r\n"), 400},
        {"hexadecimal length", WIRE("Host: a\r\nContent-Length: 0x1\r\n"), 400},
        {"no length", WIRE("Host: a\r\nContent-Length:\r\n"), 400},
        {"absurd length", WIRE("Host: a\r\nContent-Length: 99999999999999999999\r\n"), 400},
        {"length and chunked",
            WIRE("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"chunked twice",
            WIRE("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"gzip, chunked", WIRE("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"), 400},
        {"chunked with a tab", WIRE("Host: a\r\nTransfer-Encoding: chunked\t\r\n"), 400},
        {"no host", WIRE("X: a\r\n"), 400},
        {"one token", WIRE("Host: a\r\nAuthorization: Bearer a\r\n"), 0},
        {"two tokens", WIRE("Host: a\r\nAuthorization: a\r\nAUTHORIZATION: a\r\n"), 400},
        {"two hosts", WIRE("Host: a\r\nHost: a\r\n"), 400},
        {"space before colon", WIRE("Host: a\r\nX : a\r\n"), 400},
        {"space before name", WIRE("Host: a\r\nX: a\r\n Y: b\r\n"), 400},
        {"folded line", WIRE("Host: a\r\nX: a\r\n b\r\n"), 400},
        {"folded at the start", WIRE(" X: a\r\nHost: a\r\n"), 400},
        {"empty name", WIRE("Host: a\r\n: a\r\n"), 400},
        {"empty name hides a line", WIRE("Host: a\r\n: a\r\nContent-Length: 5\r\n"), 400},
        {"no colon", WIRE("Host: a\r\nX\r\n"), 400},
        {"control byte in a name", WIRE("Host: a\r\nX\x01: a\r\n"), 400},
        {"control byte in a value", WIRE("Host: a\r\nX: a\x01\r\n"), 400},
        {"DEL in a value", WIRE("Host: a\r\nX: a\x7f\r\n"), 400},
        {"bare CR in a value", WIRE("Host: a\r\nX: a\rY: b\r\n"), 400},
        {"bare LF", WIRE("Host: a\nX: a\r\n"), 400},
        {"NUL in a value", WIRE("Host: a\r\nX: a\0b\r\n"), 400},
        {"NUL hides a length", WIRE("Host: a\r\nX: a\0Content-Length: 5\r\n"), 400},
        {"two NULs hide a length", WIRE("Host: a\r\nX: a\0\0Content-Length: 5\r\n"), 400},
        {"NUL at the end", WIRE("Host: a\r\nX: a\0\r\n"), 400},
        {"line of NULs", WIRE("Host: a\r\n\0\0\r\n"), 400},
        {"ends early", STR("\r\nHost: a\r\n"), 400},
        {"nothing", STR(""), 400},

        {"gzip", WIRE("Host: a\r\nContent-Encoding: gzip\r\n"), 415},
        {"gzip, then worse", WIRE("Host: a\r\nContent-Encoding: gzip\r\nX : a\r\n"), 400},
        {"worse, then gzip", WIRE("Host: a\r\nX : a\r\nContent-Encoding: gzip\r\n"), 400},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char block[256];
        Headers headers = {0};

        headers_add_block(&headers, str_of(block, mangle(cases[i].wire, block)));
        headers_finish(&headers, /* is_http_1_1= */ true);
        if (headers.status != cases[i].status)
            print_error("%s: %u\n", cases[i].name, headers.status);
        assert_case(cases[i].name, headers.status == cases[i].status);
        assert_case(cases[i].name, (headers.problem != NULL) == (headers.status != 0));
    }
}

static Headers read_wire(Str wire, bool is_http_1_1) {
    char block[256];
    Headers headers = {0};

    headers_add_block(&headers, str_of(block, mangle(wire, block)));
    headers_finish(&headers, is_http_1_1);
    return headers;
}

static void test_what_it_reads(void **state) {
    Headers headers =
        read_wire(WIRE("Host: a\r\nContent-Length: 4711\r\nExpect: 100-Continue\r\n"), true);

    assert_int_equal(headers.status, 0);
    assert_int_equal(headers.n_lines, 3);
    assert_int_equal(headers.content_length, 4711);
    assert_true(headers.expects_continue);
    assert_false(headers.is_chunked);
    assert_true(headers_announce_body(&headers));

    headers = read_wire(WIRE("Host: a\r\nTransfer-Encoding: chunked\r\n"), true);
    assert_true(headers.is_chunked);
    assert_true(headers_announce_body(&headers));

    headers = read_wire(WIRE("Host: a\r\nContent-Length: 0\r\n"), true);
    assert_false(headers_announce_body(&headers));
}

static void test_browsers(void **state) {
    static const struct {
        Str wire;
        bool has_named_host;
    } cases[] = {
        {WIRE("Host: 127.0.0.1:8080\r\n"), false},
        {WIRE("Host: 127.0.0.1\t\r\n"), false},
        {WIRE("Host: [::1]:8080\r\n"), false},
        {WIRE("Host: LOCALHOST:8080\r\n"), false},
        {WIRE("Host: a.localhost\r\n"), false},
        {WIRE("Host:\r\n"), false},
        {WIRE("Host: a.example:80\r\n"), true},
        {WIRE("Host: 127.0.0.1.example\r\n"), true},
        {WIRE("Host: 1.2.3.4a\r\n"), true},
        {WIRE("Host: notlocalhost\r\n"), true},
        {WIRE("Host: localhost.example\r\n"), true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Headers headers = read_wire(cases[i].wire, true);

        assert_case(cases[i].wire.ptr, headers.status == 0);
        assert_case(cases[i].wire.ptr, headers.has_named_host == cases[i].has_named_host);
        assert_case(cases[i].wire.ptr, !headers.has_origin);
    }
    assert_true(read_wire(WIRE("Host: a\r\norigin: null\r\n"), true).has_origin);
}

static void test_what_is_accepted(void **state) {
    static const struct {
        const char *name, *value;
        bool html, gzip;
    } cases[] = {
        {"Accept", "text/html", true, false},
        {"accept", "text/plain, TEXT/HTML;q=0.9 ,*/*", true, false},
        {"Accept", "text/html;level=1", true, false},
        {"Accept", "text/html;q=0", false, false},
        {"Accept", "text/html; q = 0.000", false, false},
        {"Accept", "text/html;q=0.001", true, false},
        {"Accept", "*/*", false, false},
        {"Accept", "text/htmlx", false, false},
        {"Accept", "xtext/html", false, false},
        {"Accept", "", false, false},
        {"Accept", ",,;,", false, false},
        {"Accept-Encoding", "deflate, gzip;q=1.0, br", false, true},
        {"Accept-Encoding", "gzip;q=0", false, false},
        {"Accept-Encoding", "x-gzip", false, false},
        {"X-Accept", "text/html", false, false},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Headers headers = {0};

        headers_add(&headers, str_from_c(cases[i].name), str_from_c(cases[i].value));
        assert_int_equal(headers.status, 0);
        assert_case(cases[i].value, headers.accepts_html == cases[i].html);
        assert_case(cases[i].value, headers.accepts_gzip == cases[i].gzip);
    }
}

/* NULs at the right places look like a line. libmicrohttpd has not seen it: that is
 * why the server compares the numbers of lines. */
static void test_line_made_of_nuls(void **state) {
    Headers headers = read_wire(WIRE("Host: a\r\nX: a\0\0Y\0b\r\n"), true);

    assert_int_equal(headers.status, 0);
    assert_int_equal(headers.n_lines, 3);
}

static void test_http_1_0(void **state) {
    assert_int_equal(read_wire(WIRE(""), false).status, 0);
    assert_int_equal(read_wire(WIRE("Content-Length: 1\r\n"), false).status, 0);
    assert_int_equal(read_wire(WIRE("Transfer-Encoding: chunked\r\n"), false).status, 400);
}

static void test_request_line(void **state) {
    assert_true(headers_request_line_is_clean(STR("GET"), STR("/a%00b?c=d")));
    assert_true(headers_request_line_is_clean(STR("M-SEARCH"), STR("*")));
    assert_false(headers_request_line_is_clean(STR(""), STR("/")));
    assert_false(headers_request_line_is_clean(STR("GET"), STR("")));
    assert_false(headers_request_line_is_clean(STR("G ET"), STR("/")));
    assert_false(headers_request_line_is_clean(STR("GET\t"), STR("/")));
    assert_false(headers_request_line_is_clean(STR("GET"), STR("/a\tb")));
    assert_false(headers_request_line_is_clean(STR("GET"), STR("/a\x7f")));
    assert_false(headers_request_line_is_clean(STR("GET"), STR("/a\0")));
}

/* Whatever the bytes are, reading them ends and stays inside. */
static void test_any_bytes(void **state) {
    static const char alphabet[] = {'a', ':', ' ', '\0', '\r', '\n', '1', '\t'};
    char block[7];

    for (unsigned n = 0; n < 1u << 21; n++) {
        Headers headers = {0};

        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = alphabet[(n >> (3 * i)) & 7];
        headers_add_block(&headers, str_of(block, sizeof(block)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_what_it_reads),
        cmocka_unit_test(test_browsers),
        cmocka_unit_test(test_what_is_accepted),
        cmocka_unit_test(test_line_made_of_nuls),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_request_line),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
