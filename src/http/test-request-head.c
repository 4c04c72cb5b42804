#include "http/request-head.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

#define WIRE(text) STR("POST /filter HTTP/1.1\r\n" text "\r\n")

/* Parses like the server: malformed bytes get 400. */
static RequestHead read_wire(Str wire) {
    RequestHead head = {.status = 400, .problem = "malformed"};
    size_t scanned = 0, length = request_head_length(wire, &scanned);

    if (length != REQUEST_HEAD_MALFORMED) {
        assert_int_equal(length, wire.len);
        request_head_parse(wire, &head);
    }
    return head;
}

static void test_status_of_heads(void **state) {
    static const struct {
        const char *name;
        Str wire;
        unsigned status;
    } cases[] = {
        {"plain", WIRE("Host: a\r\n"), 0},
        {"no lines", WIRE(""), 400},
        {"length", WIRE("Host: a\r\nContent-Length: 12\r\n"), 0},
        {"length in any case", WIRE("hOST: a\r\ncontent-LENGTH:12\r\n"), 0},
        {"empty value", WIRE("Host: a\r\nX:\r\nY: \r\n"), 0},
        {"tab and UTF-8 in a value", WIRE("Host: a\r\nX:\ta\tb\xc3\xa9\r\n"), 0},
        {"colon in a value", WIRE("Host: a:80\r\n"), 0},
        {"spaces around a length", WIRE("Host: a\r\nContent-Length: \t1 \r\n"), 0},
        {"identity", WIRE("Host: a\r\nContent-Encoding: identity\r\n"), 0},

        {"two lengths", WIRE("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n"), 400},
        {"two equal lengths", WIRE("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n"), 400},
        {"a list of lengths", WIRE("Host: a\r\nContent-Length: 1, 1\r\n"), 400},
        {"length with sign", WIRE("Host: a\r\nContent-Length: +1\r\n"), 400},
        {"length with space inside", WIRE("Host: a\r\nContent-Length: 1 2\r\n"), 400},
        {"hexadecimal length", WIRE("Host: a\r\nContent-Length: 0x1\r\n"), 400},
        {"no length", WIRE("Host: a\r\nContent-Length:\r\n"), 400},
        {"absurd length", WIRE("Host: a\r\nContent-Length: 99999999999999999999\r\n"), 400},
        {"chunked", WIRE("Host: a\r\nTransfer-Encoding: Chunked\r\n"), 501},
        {"length and chunked",
            WIRE("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 501},
        {"chunked twice",
            WIRE("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 501},
        {"no coding", WIRE("Host: a\r\nTransfer-Encoding:\r\n"), 501},
        {"chunked, then worse", WIRE("Host: a\r\nTransfer-Encoding: chunked\r\nX : a\r\n"), 400},
        {"no host", WIRE("X: a\r\n"), 400},
        {"one token", WIRE("Host: a\r\nAuthorization: Bearer a\r\n"), 0},
        {"a token of our own", WIRE("Host: a\r\nBerth-Token: a\r\n"), 0},
        {"two of our own", WIRE("Host: a\r\nBerth-Token: a\r\nberth-token: a\r\n"), 400},
        {"two tokens", WIRE("Host: a\r\nAuthorization: a\r\nAUTHORIZATION: a\r\n"), 400},
        {"empty host", WIRE("Host:\r\n"), 400},
        {"host with a path", WIRE("Host: a/b\r\n"), 400},
        {"host with a space", WIRE("Host: a b\r\n"), 400},
        {"host without a name", WIRE("Host: :80\r\n"), 400},
        {"host with a strange port", WIRE("Host: a:8x\r\n"), 400},
        {"host with half a bracket", WIRE("Host: [evil\r\n"), 400},
        {"host behind a bracket", WIRE("Host: [::1].evil.com\r\n"), 400},
        {"host in a bracket", WIRE("Host: [evil]\r\n"), 400},
        {"host with an address that is none", WIRE("Host: [1::2::3]\r\n"), 400},
        {"host with an empty port", WIRE("Host: a:\r\n"), 0},
        {"host with a huge port", WIRE("Host: a:123456\r\n"), 400},
        {"host with the last port", WIRE("Host: a:65535\r\n"), 0},
        {"host with a port above it", WIRE("Host: a:65536\r\n"), 400},
        {"host with a user", WIRE("Host: a@b\r\n"), 400},
        {"host with a NUL", WIRE("Host: [::1\0]\r\n"), 400},
        {"host in a list", WIRE("Host: a, b\r\n"), 400},
        {"expected continue", WIRE("Host: a\r\nExpect: 100-continue\r\n"), 0},
        {"unknown expectation", WIRE("Host: a\r\nExpect: 200-ok\r\n"), 417},
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
        {"bare LF at the end", STR("POST / HTTP/1.1\r\nHost: a\r\n\n"), 400},
        {"NUL in a value", WIRE("Host: a\r\nX: a\0b\r\n"), 400},
        {"NUL hides a length", WIRE("Host: a\r\nX: a\0Content-Length: 5\r\n"), 400},
        {"two NULs hide a length", WIRE("Host: a\r\nX: a\0\0Content-Length: 5\r\n"), 400},
        {"NUL at the end", WIRE("Host: a\r\nX: a\0\r\n"), 400},
        {"line of NULs", WIRE("Host: a\r\n\0\0\r\n"), 400},
        {"gzip", WIRE("Host: a\r\nContent-Encoding: gzip\r\n"), 415},
        {"gzip, then worse", WIRE("Host: a\r\nContent-Encoding: gzip\r\nX : a\r\n"), 400},
        {"worse, then gzip", WIRE("Host: a\r\nX : a\r\nContent-Encoding: gzip\r\n"), 400},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        RequestHead head = read_wire(cases[i].wire);

        if (head.status != cases[i].status)
            print_error("%s: %u\n", cases[i].name, head.status);
        assert_case(cases[i].name, head.status == cases[i].status);
        assert_case(cases[i].name, (head.problem != NULL) == (head.status != 0));
    }
}

static void test_reads_method_target_and_headers(void **state) {
    RequestHead head = read_wire(STR("\r\nPUT /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 4711\r\n"
                                     "Expect: 100-Continue\r\nContent-Type:  x/y \r\n\r\n"));

    assert_int_equal(head.status, 0);
    assert_true(str_is(head.http.method, "PUT"));
    assert_true(str_is(head.target, "/a?b"));
    assert_true(str_is(head.host, "a"));
    assert_true(str_is(head.http.content_type, "x/y"));
    assert_int_equal(head.http.body_size, 4711);
    assert_true(head.is_http_1_1 && head.expects_continue && !head.is_last);
    assert_true(read_wire(WIRE("Host: a\r\nConnection: Keep-Alive, CLOSE\r\n")).is_last);
}

static void test_hosts(void **state) {
    static const struct {
        Str wire;
        bool has_named_host;
    } cases[] = {
        {WIRE("Host: 127.0.0.1:8080\r\n"), false},
        {WIRE("Host: 127.0.0.1\t\r\n"), false},
        {WIRE("Host: [::1]:8080\r\n"), false},
        {WIRE("Host: LOCALHOST:8080\r\n"), false},
        {WIRE("Host: a.localhost\r\n"), false},
        {WIRE("Host: a.example:80\r\n"), true},
        {WIRE("Host: 127.0.0.1.example\r\n"), true},
        {WIRE("Host: 1.2.3.4a\r\n"), true},
        {WIRE("Host: 1.2.3.4.5\r\n"), true},
        {WIRE("Host: 127.1\r\n"), true},
        {WIRE("Host: a.LocalHost\r\n"), false},
        {WIRE("Host: notlocalhost\r\n"), true},
        {WIRE("Host: localhost.example\r\n"), true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        RequestHead head = read_wire(cases[i].wire);

        assert_case(cases[i].wire.ptr, head.status == 0);
        assert_case(cases[i].wire.ptr, head.has_named_host == cases[i].has_named_host);
        assert_case(cases[i].wire.ptr, !head.http.has_origin);
    }
    assert_true(read_wire(WIRE("Host: a\r\norigin: null\r\n")).http.has_origin);
}

static void test_accepted_types_and_encodings(void **state) {
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
        RequestHead head;
        char wire[256];

        (void)snprintf(wire, sizeof(wire), "GET / HTTP/1.1\r\nHost: a\r\n%s: %s\r\n\r\n",
            cases[i].name, cases[i].value);
        head = read_wire(str_from_c(wire));
        assert_int_equal(head.status, 0);
        assert_case(cases[i].value, head.http.accepts_html == cases[i].html);
        assert_case(cases[i].value, head.http.accepts_gzip == cases[i].gzip);
    }
}

/* The host of an absolute target replaces the header. */
static void test_absolute_target(void **state) {
    RequestHead head = read_wire(STR("GET https://b:80/c?d HTTP/1.1\r\nHost: localhost\r\n\r\n"));

    assert_int_equal(head.status, 0);
    assert_true(str_is(head.target, "/c?d"));
    assert_true(str_is(head.host, "b:80"));
    assert_true(head.has_named_host);
    head = read_wire(STR("GET http://[::1]?d HTTP/1.1\r\nHost: evil\r\n\r\n"));
    assert_int_equal(head.status, 0);
    assert_true(str_is(head.target, "?d"));
    assert_true(str_is(head.host, "[::1]"));
    assert_false(head.has_named_host);
    assert_int_equal(read_wire(STR("GET http://a/ HTTP/1.1\r\n\r\n")).status, 400);
}

static void test_http_1_0(void **state) {
    assert_int_equal(read_wire(STR("GET / HTTP/1.0\r\nExpect: x\r\n\r\n")).status, 0);
    assert_int_equal(read_wire(STR("POST / HTTP/1.0\r\n\r\n")).status, 0);
    assert_true(read_wire(STR("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\n")).is_last);
    assert_int_equal(
        read_wire(STR("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")).status, 501);
}

static void test_request_line(void **state) {
    static const struct {
        Str line;
        unsigned status;
    } cases[] = {
        {STR("GET /a%00b?c=d HTTP/1.1"), 0},
        {STR("M-SEARCH * HTTP/1.1"), 400},
        {STR("OPTIONS * HTTP/1.1"), 405},
        {STR("CONNECT a:80 HTTP/1.1"), 405},
        {STR("GET a HTTP/1.1"), 400},
        {STR("GET ftp://a/b HTTP/1.1"), 400},
        {STR("GET HTTP://b:80/c?d HTTP/1.1"), 0},
        {STR("GET http:///c HTTP/1.1"), 400},
        {STR("GET http://user@b/c HTTP/1.1"), 400},
        {STR("GET http://[::1].b/c HTTP/1.1"), 400},
        {STR("GET /a#b HTTP/1.1"), 400},
        {STR("GET /\xc3\xa9 HTTP/1.1"), 400},
        {STR("GET /?a={b}|c HTTP/1.1"), 0},
        {STR("GET / HTTP/0.9"), 505},
        {STR("PRI * HTTP/2.0"), 505},
        {STR("GET / HTTP/1.10"), 400},
        {STR("GET / HTTP/11"), 400},
        {STR("GET / HTTP/1,1"), 400},
        {STR("GET / HTTP/a.b"), 400},
        {STR("GET / HTTP/2.0"), 505},
        {STR("GET / HTTP/1.2"), 505},
        {STR("GET / http/1.1"), 400},
        {STR("GET /"), 400},
        {STR("GET"), 400},
        {STR(" GET / HTTP/1.1"), 400},
        {STR("GET  / HTTP/1.1"), 400},
        {STR("GET /  HTTP/1.1"), 400},
        {STR("GET / HTTP/1.1 "), 400},
        {STR("GET / x HTTP/1.1"), 400},
        {STR("G\tET / HTTP/1.1"), 400},
        {STR("GET /a\tb HTTP/1.1"), 400},
        {STR("GET /a\x7f HTTP/1.1"), 400},
        {STR("GET /a\0 HTTP/1.1"), 400},
        {STR("\x16\x03\x01 HTTP/1.1"), 400},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char wire[128];
        size_t len = cases[i].line.len;
        static const char rest[] = "\r\nHost: a\r\n\r\n";

        memcpy(wire, cases[i].line.ptr, len);
        memcpy(wire + len, rest, sizeof(rest));
        assert_case(cases[i].line.ptr,
            read_wire(str_of(wire, len + sizeof(rest) - 1)).status == cases[i].status);
    }
}

/* A head in pieces is complete at its last byte; a malformed one is refused at its first wrong
 * byte. */
static void test_pieces(void **state) {
    const Str wire = STR("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /");
    size_t scanned = 0, head = wire.len - 5;

    for (size_t i = 0; i < head; i++)
        assert_int_equal(request_head_length(str_take(wire, i), &scanned), 0);
    assert_int_equal(request_head_length(wire, &scanned), head);
    scanned = 0;
    assert_int_equal(request_head_length(STR("\x16"), &scanned), REQUEST_HEAD_MALFORMED);
    scanned = 0;
    assert_int_equal(
        request_head_length(STR("GET / HTTP/1.1\n"), &scanned), REQUEST_HEAD_MALFORMED);
}

/* Any bytes as a target and as a header line: the parser must terminate and stay in bounds. Host is
 * missing, so no request is accepted. */
static void test_any_bytes(void **state) {
    static const char alphabet[] = {'/', ':', ' ', '\0', '\r', '\n', '1', '\t'};
    static const struct {
        Str before, after;
    } places[] = {
        {STR("GET "), STR(" HTTP/1.1\r\n\r\n")},
        {STR("GET / HTTP/1.1\r\na"), STR("\r\n\r\n")},
    };

    (void)state;
    for (size_t k = 0; k < ELEMENTS_OF(places); k++) {
        Str before = places[k].before, after = places[k].after;
        char bytes[32];
        size_t n_parsed = 0;

        memcpy(bytes, before.ptr, before.len);
        memcpy(bytes + before.len + 6, after.ptr, after.len);
        for (unsigned n = 0; n < 1u << 18; n++) {
            RequestHead head;
            size_t scanned = 0, length;

            for (size_t i = 0; i < 6; i++)
                bytes[before.len + i] = alphabet[(n >> (3 * i)) & 7];
            length = request_head_length(str_of(bytes, before.len + 6 + after.len), &scanned);
            if (length == 0 || length == REQUEST_HEAD_MALFORMED)
                continue;
            request_head_parse(str_of(bytes, length), &head);
            assert_int_not_equal(head.status, 0);
            n_parsed++;
        }
        assert_true(n_parsed > 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_of_heads),
        cmocka_unit_test(test_reads_method_target_and_headers),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_accepted_types_and_encodings),
        cmocka_unit_test(test_absolute_target),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_request_line),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
