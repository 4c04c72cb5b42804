/* The reflector with scripted answers: its requests, the contents of the sink, and its notices. */

#include "kube/reflector.h"

#include <errno.h>

#include "base/test-assert.h"
#include "kube/test-reflector.h"

/* --- steps ------------------------------------------------------------------------------------ */

typedef enum Op {
    OP_END,
    OP_CALL,    /* the next call; its path contains text */
    OP_NOT,     /* the path of the call does not contain text */
    OP_NOW,     /* the next call, without time passing */
    OP_HEAD,    /* number: the status; text: the content type; NULL: JSON */
    OP_DATA,    /* sends text */
    OP_DONE,    /* the answer is complete */
    OP_OUTCOME, /* the call ends with CallOutcome number */
    OP_ANSWER,  /* a whole answer; number: the status; text: the body */
    OP_LATER,   /* number seconds pass */
    OP_STATE,   /* the sink contains text */
    OP_STAGED,  /* an incomplete list in the sink has number objects */
    OP_SYNCED,  /* number lists were completed */
    OP_WHY,     /* the last error contains text */
    OP_RETRY,   /* the delay after it is at least number seconds */
    OP_SOON,    /* the delay after it is at most number seconds */
    OP_REFUSE,  /* the next call finds no memory */
    OP_FAIL,    /* the next call of the sink fails with number */
    OP_OVER,    /* the reflector has ended the call */
    OP_OPEN,    /* the call still runs */
    OP_FIGURE,  /* ReflectorFigures at offset number equals text */
} Op;

typedef struct Step {
    Op op;
    const char *text;
    int64_t number;
} Step;

#define CALL(part)                                                                                 \
    { OP_CALL, part, 0 }
#define NOT(part)                                                                                  \
    { OP_NOT, part, 0 }
#define NOW(part)                                                                                  \
    { OP_NOW, part, 0 }
#define HEAD(status)                                                                               \
    { OP_HEAD, NULL, status }
#define TYPE(type)                                                                                 \
    { OP_HEAD, type, 200 }
#define DATA(text)                                                                                 \
    { OP_DATA, text, 0 }
#define DONE                                                                                       \
    { OP_DONE, NULL, 0 }
#define OUTCOME(outcome)                                                                           \
    { OP_OUTCOME, NULL, outcome }
#define ANSWER(status, body)                                                                       \
    { OP_ANSWER, body, status }
#define LATER(seconds)                                                                             \
    { OP_LATER, NULL, seconds }
#define STATE(text)                                                                                \
    { OP_STATE, text, 0 }
#define STAGED(n)                                                                                  \
    { OP_STAGED, NULL, n }
#define SYNCED(n)                                                                                  \
    { OP_SYNCED, NULL, n }
#define WHY(part)                                                                                  \
    { OP_WHY, part, 0 }
#define RETRY(seconds)                                                                             \
    { OP_RETRY, NULL, seconds }
#define SOON(seconds)                                                                              \
    { OP_SOON, NULL, seconds }
#define REFUSE                                                                                     \
    { OP_REFUSE, NULL, 0 }
#define FAIL(code)                                                                                 \
    { OP_FAIL, NULL, code }
#define OVER                                                                                       \
    { OP_OVER, NULL, 0 }
#define OPEN                                                                                       \
    { OP_OPEN, NULL, 0 }
#define FIGURE(field, value)                                                                       \
    { OP_FIGURE, #value, offsetof(ReflectorFigures, field) }

#define STREAM "watch=1&allowWatchBookmarks=true&timeoutSeconds="
#define STREAM_LIST "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

/* 280 bytes: too long for a version. */
#define LONG                                                                                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"

/* 8,960 bytes: too long for a continue token. */
#define LONGER LONG LONG LONG LONG LONG LONG LONG LONG
#define LONGEST LONGER LONGER LONGER LONGER

/* A streamed list of a:1 with version 10; the watch continues. */
#define LISTED CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1") LIST_END("10")), STATE("a:1")

/* Like LISTED, from a server without streamed lists. */
#define PAGED                                                                                      \
    CALL(STREAM_LIST), ANSWER(422, STATUS("422", "Invalid", "{}")), CALL("?limit=500"),            \
        ANSWER(200, PAGE("10", "", OBJ("a", "1"))), STATE("a:1"), CALL("&resourceVersion=10"),     \
        HEAD(200)

/* The continue token expires: the list starts again, with @items objects per page. */
#define FORGOTTEN(items)                                                                           \
    ANSWER(200, PAGE("10", "more", OBJ("a", "1"))), CALL("continue=more"),                         \
        ANSWER(410, STATUS("410", "Expired", "{}")), CALL("?limit=" items), NOT("continue")

typedef struct Case {
    const char *name;
    Step steps[40];
} Case;

static const Case cases[] = {
    /* lists */
    {"streamed list",
        {CALL("/api/v1/nodes?" STREAM), NOT("resourceVersion="), HEAD(200),
            DATA(ADDED("a", "1") ADDED("b", "2")), STATE(""), SYNCED(0), DATA(LIST_END("10")),
            STATE("a:1 b:2"), SYNCED(1), OPEN, DATA(MODIFIED("a", "11") DELETED("b", "12")),
            STATE("a:11"), FIGURE(n_added, 2), DATA(ADDED("c", "13") DELETED("c", "14")),
            FIGURE(n_added, 3), FIGURE(n_modified, 1), FIGURE(n_deleted, 2), FIGURE(n_lists, 1),
            FIGURE(n_watches, 1), FIGURE(is_synced, 1)}},
    {"streamed list of nothing",
        {CALL(STREAM_LIST), HEAD(200), DATA(LIST_END("10")), STATE(""), SYNCED(1), OPEN}},
    {"changes inside a streamed list",
        {CALL(STREAM_LIST), HEAD(200),
            DATA(ADDED("a", "1") ADDED("b", "2") MODIFIED("a", "11") DELETED("b", "12")
                    ADDED("b", "13") DELETED("a", "14") ADDED("c", "15")),
            STATE(""), DATA(LIST_END("16")), STATE("b:13 c:15"), SYNCED(1), DATA(BOOKMARK("17")),
            DONE, CALL("&resourceVersion=17")}},
    {"a bookmark inside a streamed list: the server knows none, pages at once",
        {LISTED, DATA(ERROR("410", "Expired", "{}")), CALL(STREAM_LIST), HEAD(200),
            DATA(ADDED("b", "11") BOOKMARK("15")), OVER, STATE("a:1"), STAGED(0),
            FIGURE(n_failures, 0), NOW("?limit=500"), ANSWER(200, PAGE("16", "", OBJ("b", "11"))),
            STATE("b:11"), CALL("&resourceVersion=16"), HEAD(200),
            DATA(ERROR("410", "Expired", "{}")), CALL("?limit=500"), NOT("watch")}},
    {"a deletion first in a streamed list, of what cannot be read: listed again",
        {CALL(STREAM_LIST), HEAD(200),
            DATA("{\"type\":\"DELETED\",\"object\":{\"metadata\":{}}}\n" LIST_END("10")), OVER,
            CALL(STREAM_LIST)}},
    {"a streamed list that breaks is begun again, and the old state stays",
        {LISTED, DATA(ERROR("410", "Expired", "{}")), CALL(STREAM_LIST), HEAD(200),
            DATA(ADDED("b", "20")), OUTCOME(CALL_BROKEN), STATE("a:1"), CALL(STREAM_LIST),
            HEAD(200), DATA(ADDED("c", "21")), STATE("a:1"), DATA(LIST_END("22")), STATE("c:21")}},
    {"nothing of a streamed list that broke is left",
        {CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1")), STAGED(1),
            DATA(DELETED("b", "2") ADDED("c", "3")), OUTCOME(CALL_BROKEN), STAGED(0),
            CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1") LIST_END("10")), STATE("a:1")}},
    {"a streamed list that ends in the middle",
        {CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1")), DONE, WHY("inside a list"),
            CALL(STREAM_LIST)}},
    {"no streamed lists: pages from now on",
        {PAGED, OPEN, SYNCED(1), FIGURE(n_lists, 1), FIGURE(n_failures, 0),
            DATA(ERROR("410", "Gone", "{}")), CALL("?limit=500"), NOT("watch")}},
    {"no streamed lists, with status 400",
        {CALL(STREAM_LIST), ANSWER(400, "what?"), CALL("?limit=500"), NOT("continue")}},
    {"several pages",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "to/k+n", OBJ("a", "1") "," OBJ("b", "2"))), STATE(""),
            CALL("?limit=500&continue=to%2Fk%2Bn"), ANSWER(200, PAGE("10", "", OBJ("c", "3"))),
            STATE("a:1 b:2 c:3"), SYNCED(1), CALL("&resourceVersion=10"), NOT("sendInitial"),
            FIGURE(n_lists, 1), FIGURE(n_watches, 0)}},
    {"pages with different versions: continues from the first",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))), CALL("continue=more"),
            ANSWER(200, PAGE("12", "", OBJ("b", "11"))), STATE("a:1 b:11"),
            CALL("&resourceVersion=10")}},
    {"an empty list", {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
                          ANSWER(200, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":null}"),
                          STATE(""), SYNCED(1), CALL("&resourceVersion=10")}},
    {"a page that fails is requested again, not the whole list",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))), CALL("continue=more"),
            OUTCOME(CALL_TIMEOUT), CALL("continue=more"), ANSWER(503, ""), CALL("continue=more"),
            ANSWER(200, PAGE("10", "", OBJ("b", "2"))), STATE("a:1 b:2"), FIGURE(n_lists, 1)}},
    {"a list that cannot be continued is begun again, in larger steps",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"), FORGOTTEN("1000"),
            FORGOTTEN("2000"), FORGOTTEN("4000"), FORGOTTEN("5000"), FORGOTTEN("5000"),
            ANSWER(200, PAGE("20", "", OBJ("b", "2"))), STATE("b:2"), CALL("resourceVersion=20")}},
    {"pages that are too large are made smaller",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"), HEAD(200), OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=125"), OUTCOME(CALL_TOO_LARGE), CALL("?limit=31"), OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=10"), OUTCOME(CALL_TOO_LARGE), CALL("?limit=10")}},
    {"slow pages are made smaller, earlier ones stay",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "more", OBJ("a", "1"))), CALL("?limit=500&continue=more"),
            HEAD(200), DATA("{\"metadata\":"), OUTCOME(CALL_TIMEOUT), STAGED(1),
            CALL("?limit=125&continue=more"), HEAD(200), OUTCOME(CALL_TOO_LARGE),
            CALL("?limit=31&continue=more"), ANSWER(200, PAGE("10", "", OBJ("b", "2"))),
            STATE("a:1 b:2"), FIGURE(n_lists, 1)}},
    {"pages keep their size if a server does not answer",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"), OUTCOME(CALL_TIMEOUT),
            CALL("?limit=500")}},
    {"answers that are no list",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"), ANSWER(200, "{}"), WHY("no list"),
            CALL("?limit=500"), ANSWER(200, "<html>"), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", OBJ("a", "1") "]")), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", OBJ("a", "1") " {}")), WHY("cannot be read"), STATE(""),
            CALL("?limit=500"), ANSWER(200, PAGE("10", "", "")), SYNCED(1)}},
    {"a streamed list that stalls twice is replaced by pages",
        {CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1")), LATER(SILENCE_SEC + 1), OVER,
            WHY("does not end"), CALL(STREAM_LIST), HEAD(200), LATER(SILENCE_SEC + 1), OVER,
            CALL("?limit=500")}},
    {"a streamed list that trickles",
        {CALL(STREAM_LIST), HEAD(200), LATER(140), DATA(ADDED("a", "1")), LATER(140),
            DATA(ADDED("b", "1")), OPEN, LATER(21), OVER, WHY("does not end")}},
    {"streamed lists are tried again if a server does not answer",
        {CALL(STREAM_LIST), OUTCOME(CALL_TIMEOUT), CALL(STREAM_LIST), OUTCOME(CALL_TIMEOUT),
            CALL(STREAM_LIST), OUTCOME(CALL_TIMEOUT), CALL(STREAM_LIST)}},

    /* resuming */
    {"a watch that ends goes on from the newest event",
        {LISTED, DATA(MODIFIED("a", "11")), DONE, CALL("&resourceVersion=11"), NOT("sendInitial"),
            HEAD(200), DATA(ADDED("b", "12")), STATE("a:11 b:12"), SYNCED(1), FIGURE(n_lists, 1),
            FIGURE(n_restarts, 1), FIGURE(n_failures, 0), FIGURE(is_connected, 1)}},
    {"... or the newest bookmark", {LISTED, DATA(MODIFIED("a", "11") BOOKMARK("99")), DONE,
                                       CALL("&resourceVersion=99"), FIGURE(n_bookmarks, 2)}},
    {"the bookmark that ends a list counts too", {LISTED, DONE, CALL("&resourceVersion=10")}},
    {"a broken connection",
        {LISTED, DATA(MODIFIED("a", "11") "{\"type\":\"MODI"), OUTCOME(CALL_BROKEN),
            FIGURE(is_connected, 0), CALL("&resourceVersion=11"), HEAD(200),
            FIGURE(is_connected, 1), DATA(MODIFIED("a", "12")), STATE("a:12"), FIGURE(n_lists, 1)}},
    {"half an event at the normal end",
        {LISTED, DATA("{\"type\":\"MODI"), DONE, CALL("&resourceVersion=10"), HEAD(200),
            DATA(MODIFIED("a", "12")), STATE("a:12")}},
    {"an event in pieces",
        {LISTED, DATA("{\"type\":\"MODIFIED\",\"obj"), STATE("a:1"), DATA("ect\":" OBJ("a", "11")),
            STATE("a:1"), DATA("}\n"), STATE("a:11")}},
    {"no connection for a while",
        {LISTED, OUTCOME(CALL_BROKEN), CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED), CALL("&resourceVersion=10"),
            OUTCOME(CALL_TIMEOUT), CALL("&resourceVersion=10"), OUTCOME(CALL_UNAUTHORIZED),
            CALL("&resourceVersion=10"), STATE("a:1"), FIGURE(n_failures, 5), FIGURE(n_lists, 1)}},
    {"errors of the server",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(500, STATUS("500", "x", "{}")),
            WHY("HTTP 500: so it is"), CALL("&resourceVersion=10"), ANSWER(503, "later"),
            CALL("&resourceVersion=10"), ANSWER(504, ""), CALL("&resourceVersion=10"),
            ANSWER(404, ""), CALL("&resourceVersion=10"), FIGURE(n_lists, 1)}},
    {"no rights", {CALL(STREAM_LIST), ANSWER(403, STATUS("403", "Forbidden", "{}")),
                      WHY("HTTP 403: so it is (needs the rights list and watch on nodes)"),
                      CALL(STREAM_LIST)}},
    {"messages of the server stay on one line",
        {CALL(STREAM_LIST),
            ANSWER(503, "{\"kind\":\"Status\",\"message\":\"one\\ntwo\\u001b[31m\",\"code\":503}"),
            WHY("HTTP 503: one\\x0atwo\\x1b[31m"), CALL(STREAM_LIST), HEAD(200),
            DATA("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":"
                 "\"a\\r\\nb\"}}\n"),
            WHY("error: 500 a\\x0d\\x0ab"), CALL(STREAM_LIST), TYPE("text/\x1b[2J"), DATA("x"),
            WHY("\"text/\\x1b[2J\", not JSON")}},
    {"a silent watch", {LISTED, LATER(SILENCE_SEC - 1), OPEN, LATER(2), OVER, WHY("silent"),
                           CALL("&resourceVersion=10"), FIGURE(n_lists, 1)}},
    {"bookmarks keep a watch alive",
        {LISTED, LATER(100), DATA(BOOKMARK("11")), LATER(100), DATA(BOOKMARK("12")), LATER(100),
            OPEN, LATER(51), OVER, CALL("&resourceVersion=12")}},
    {"a watch that trickles is silent", {LISTED, LATER(100), DATA("{\"ty"), LATER(40), DATA("pe\""),
                                            LATER(11), OVER, CALL("&resourceVersion=10")}},
    {"a watch that is accepted and ends at once",
        {LISTED, DONE, CALL("&resourceVersion=10"), HEAD(200), DONE, WHY("before it began"),
            CALL("&resourceVersion=10"), FIGURE(n_lists, 1)}},
    {"no memory for a call", {LISTED, REFUSE, DONE, LATER(1), WHY("out of memory for the request"),
                                 CALL("&resourceVersion=10")}},

    /* 410 and similar */
    {"410 as a status",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(410, STATUS("410", "Expired", "{}")),
            CALL(STREAM_LIST), HEAD(200), DATA(ADDED("b", "20")), STATE("a:1"),
            DATA(LIST_END("21")), STATE("b:20"), SYNCED(2), FIGURE(n_lists, 2)}},
    {"410 of a watch that was well: at once, however long the server was gone before",
        {LISTED, OUTCOME(CALL_BROKEN), CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED), CALL("&resourceVersion=10"),
            OUTCOME(CALL_REFUSED), CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED),
            CALL("&resourceVersion=10"), OUTCOME(CALL_REFUSED), CALL("&resourceVersion=10"),
            LATER(10), HEAD(200), DATA(BOOKMARK("11") ERROR("410", "Expired", "{}")), SOON(1),
            FIGURE(n_failures, 6), FIGURE(is_connected, 1), FIGURE(n_lists, 1)}},
    {"410 without a body",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(410, ""), CALL(STREAM_LIST)}},
    {"410 as an event", {LISTED, DATA(ERROR("410", "Expired", "{}")), OVER, CALL(STREAM_LIST),
                            STATE("a:1"), FIGURE(n_errors, 1)}},
    {"Gone as an event",
        {LISTED, DATA(ERROR("0", "Gone", "{}")), OVER, CALL(STREAM_LIST), STATE("a:1")}},
    {"events behind the error are not taken",
        {LISTED, DATA(ERROR("410", "Expired", "{}") MODIFIED("a", "11")), STATE("a:1")}},
    {"400 for the version we hold",
        {LISTED, DONE, CALL("&resourceVersion=10"), ANSWER(400, ""), CALL(STREAM_LIST)}},
    {"other errors as events: the version is still good",
        {LISTED, DATA(ERROR("500", "InternalError", "{}")), OVER, CALL("&resourceVersion=10"),
            HEAD(200), DATA(ERROR("429", "TooManyRequests", "{\"retryAfterSeconds\":7}")), OVER,
            RETRY(7), CALL("&resourceVersion=10"), FIGURE(n_lists, 1)}},
    {"nothing but errors as events: listed again",
        {LISTED, DATA(ERROR("500", "x", "{}")), CALL("&resourceVersion=10"), HEAD(200),
            DATA(ERROR("500", "x", "{}")), CALL("&resourceVersion=10"), HEAD(200),
            DATA(ERROR("500", "x", "{}")), CALL(STREAM_LIST)}},
    {"errors with events in between",
        {LISTED, DATA(ERROR("500", "x", "{}")), CALL("&resourceVersion=10"), HEAD(200),
            DATA(ERROR("500", "x", "{}")), CALL("&resourceVersion=10"), HEAD(200),
            DATA(BOOKMARK("11") ERROR("500", "x", "{}")), CALL("&resourceVersion=11")}},
    {"an error that is no status",
        {LISTED, DATA("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Pod\"}}\n"), OVER,
            CALL("&resourceVersion=10")}},
    {"a version the server has not reached",
        {LISTED, DONE, CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)), RETRY(1), CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)), CALL("&resourceVersion=10"),
            ANSWER(504, STATUS("504", "Timeout", TOO_LARGE)), CALL(STREAM_LIST)}},
    {"Retry-After in the body",
        {LISTED, DONE, CALL("&resourceVersion=10"),
            ANSWER(429, STATUS("429", "TooManyRequests", "{\"retryAfterSeconds\":20}")), RETRY(20),
            CALL("&resourceVersion=10")}},

    /* unexpected answers */
    {"unknown types are skipped", {LISTED, DATA(EVENT("LATER", "z", "50") MODIFIED("a", "11")),
                                      STATE("a:11"), OPEN, FIGURE(n_unknown, 1)}},
    {"a line that is no event",
        {LISTED, DATA(MODIFIED("a", "11") "{\"type\":\n" MODIFIED("a", "12")), OVER, STATE("a:11"),
            FIGURE(n_malformed, 1), CALL(STREAM_LIST)}},
    {"a stream that is no watch: the version stays valid",
        {LISTED, DONE, CALL("&resourceVersion=10"), HEAD(200), DATA("\x1f\x8b\x08\n"), OVER,
            CALL("&resourceVersion=10"), HEAD(200), DATA("<html>\n"), CALL("&resourceVersion=10"),
            HEAD(200), DATA("hello\n"), CALL(STREAM_LIST)}},
    {"an event without a version",
        {LISTED, DATA("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n"), OVER,
            CALL(STREAM_LIST)}},
    {"an object that is no JSON inside: listed again",
        {LISTED, DATA(ADDED("b-garbage", "11")), OVER, CALL(STREAM_LIST), HEAD(200),
            DATA(ADDED("a", "1") LIST_END("20")), STATE("a:1")}},
    {"... unless lists have it too",
        {LISTED, DATA(ADDED("b-garbage", "11")), OVER, CALL(STREAM_LIST), HEAD(200),
            DATA(ADDED("a", "1") ADDED("b-garbage", "11") LIST_END("20")), STATE("a:1"),
            FIGURE(n_unfit, 1),
            DATA(MODIFIED("b-garbage", "21")
                    MODIFIED("a", "22") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"),
            OPEN, STATE("a:22"), FIGURE(n_unfit, 3), DONE, CALL("&resourceVersion=22")}},
    {"an object that cannot be used is not there",
        {LISTED, DATA(ADDED("b", "11") ADDED("c-unfit", "12")), OPEN, STATE("a:1 b:11"),
            FIGURE(n_unfit, 1), DONE, CALL("&resourceVersion=12")}},
    {"... nor in a list",
        {CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1") ADDED("c-unfit", "2") LIST_END("10")),
            STATE("a:1"), SYNCED(1), OPEN, FIGURE(n_unfit, 1)}},
    {"... nor in a page",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("limit"),
            ANSWER(200, PAGE("10", "",
                            OBJ("a", "1") "," OBJ("b-unfit", "1") ",7,"
                                                                  "\"x\"," OBJ("c", "3"))),
            STATE("a:1 c:3"), SYNCED(1), FIGURE(n_unfit, 3)}},
    {"the wrong type",
        {LISTED, DONE, CALL("&resourceVersion=10"), TYPE("text/html"), DATA("<html>"), OVER,
            WHY("\"text/html\", not JSON"), CALL("&resourceVersion=10"), FIGURE(n_lists, 1),
            FIGURE(is_connected, 0)}},
    {"the wrong type and nothing else", {LISTED, DONE, CALL("&resourceVersion=10"), TYPE(""), DONE,
                                            WHY("not JSON"), CALL("&resourceVersion=10")}},
    {"a version that is far too long",
        {LISTED, DATA(MODIFIED("a", LONG)), OVER, CALL(STREAM_LIST)}},
    {"... of a bookmark", {LISTED, DATA(BOOKMARK(LONG)), OVER, CALL(STREAM_LIST)}},
    {"... of the bookmark that ends a list: it is not taken",
        {CALL(STREAM_LIST), HEAD(200), DATA(ADDED("a", "1") LIST_END(LONG)), OVER, STATE(""),
            SYNCED(0), CALL(STREAM_LIST)}},
    {"... of a page", {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
                          ANSWER(200, PAGE(LONG, "", OBJ("a", "1"))),
                          WHY("the list has no version that can be used"), STATE(""), SYNCED(0),
                          CALL("?limit=500")}},
    {"a bookmark without a version",
        {LISTED, DATA("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n"), OVER,
            FIGURE(n_malformed, 1), CALL(STREAM_LIST)}},
    {"a continue token that is too long: the list starts again",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", LONGEST, OBJ("a", "1"))), WHY("the list cannot be continued"),
            STAGED(0), CALL("?limit=500"), NOT("continue")}},
    {"an object of a page that ends in the middle",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("?limit=500"),
            ANSWER(200, PAGE("10", "", OBJ("a", "1") ",{\"metadata\":\"}")), SYNCED(0), STATE(""),
            CALL("?limit=500")}},
    {"versions are opaque",
        {LISTED, DATA(MODIFIED("a", "x&y=z/1")), DONE, CALL("&resourceVersion=x%26y%3Dz%2F1")}},
    {"the sink is out of memory for an event",
        {LISTED, FAIL(-ENOMEM), DATA(ADDED("b", "11")), OVER, WHY("emory"), CALL(STREAM_LIST)}},
    {"... for an item of a streamed list", {CALL(STREAM_LIST), HEAD(200), FAIL(-ENOMEM),
                                               DATA(ADDED("a", "1")), OVER, CALL(STREAM_LIST)}},
    {"... at the end of a streamed list",
        {CALL(STREAM_LIST), HEAD(200), FAIL(-ENOMEM), DATA(LIST_END("10")), OVER, SYNCED(0),
            CALL(STREAM_LIST)}},
    {"... for a page",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("limit"), FAIL(-ENOMEM),
            ANSWER(200, PAGE("10", "", OBJ("a", "1"))), WHY("memory"), SYNCED(0), CALL("limit")}},
    {"... at the end of the pages",
        {CALL(STREAM_LIST), ANSWER(422, ""), CALL("limit"), FAIL(-ENOMEM),
            ANSWER(200, PAGE("10", "", "")), WHY("emory"), SYNCED(0), CALL("limit")}},
};

static void check_figure(const ReflectorFixture *fixture, const char *name, const Step *step) {
    const char *at = (const char *)figures(fixture) + step->number;
    int64_t want = 0, got;

    assert_case(name, str_to_int64(str_from_c(step->text), &want));
    if ((size_t)step->number == offsetof(ReflectorFigures, is_connected) ||
        (size_t)step->number == offsetof(ReflectorFigures, is_synced))
        got = *(const bool *)at;
    else
        got = (int64_t) * (const uint64_t *)(const void *)at;
    if (got != want)
        print_error("%s: figure at %d is %d\n", name, (int)step->number, (int)got);
    assert_case(name, got == want);
}

static void check_path(const ReflectorFixture *fixture, const char *name, const char *part) {
    const char *path = fake_call(fixture->client, fixture->call).path;

    if (!strstr(path, part))
        print_error("%s\n", path);
    assert_case(name, strstr(path, part));
}

static void run_step(ReflectorFixture *fixture, const char *name, const Step *step) {
    const char *text = step->text;

    switch (step->op) {
    case OP_END:
        break;
    case OP_CALL:
        fixture_next_call(fixture, name);
        check_path(fixture, name, text);
        break;
    case OP_NOW:
        assert_case(name, fake_n_calls(fixture->client) == fixture->call + 2);
        fixture->call++;
        check_path(fixture, name, text);
        break;
    case OP_NOT:
        assert_case(name, !strstr(fake_call(fixture->client, fixture->call).path, text));
        break;
    case OP_HEAD:
        fake_head(fixture->client, fixture->call, (unsigned)step->number,
            text ? text : "application/json", -1);
        break;
    case OP_DATA:
        fake_data(fixture->client, fixture->call, str_from_c(text));
        break;
    case OP_DONE:
        fake_done(fixture->client, fixture->call, CALL_DONE);
        break;
    case OP_OUTCOME:
        fake_done(fixture->client, fixture->call, (CallOutcome)step->number);
        break;
    case OP_ANSWER:
        fake_answer(fixture->client, fixture->call, (unsigned)step->number, text);
        break;
    case OP_LATER:
        now += step->number * NSEC_PER_SEC;
        (void)reflector_tick(fixture->reflector, now);
        break;
    case OP_STATE:
        assert_text(name, str_from_c(state_text(&fixture->sink.live)), text);
        break;
    case OP_STAGED:
        assert_case(name, fixture->sink.staged.n == (size_t)step->number);
        break;
    case OP_SYNCED:
        assert_case(name, fixture->sink.n_synced == step->number);
        break;
    case OP_WHY:
        if (!strstr(fixture->sink.why, text))
            print_error("%s: %s\n", name, fixture->sink.why);
        assert_case(name, strstr(fixture->sink.why, text));
        break;
    case OP_RETRY:
        assert_case(name, fixture->sink.retry_nsec >= step->number * NSEC_PER_SEC);
        break;
    case OP_SOON:
        assert_case(name, fixture->sink.retry_nsec <= step->number * NSEC_PER_SEC);
        break;
    case OP_REFUSE:
        fake_refuse_next(fixture->client);
        break;
    case OP_FAIL:
        fixture->sink.fail_with = (int)step->number;
        break;
    case OP_OVER:
        assert_case(name, fake_call(fixture->client, fixture->call).is_over);
        break;
    case OP_OPEN:
        assert_case(name, !fake_call(fixture->client, fixture->call).is_over);
        break;
    case OP_FIGURE:
        check_figure(fixture, name, step);
        break;
    }
}

static void test_follows_each_script(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            ReflectorFixture fixture;

            fixture_open(&fixture, seed);
            for (const Step *step = cases[i].steps; step->op != OP_END; step++) {
                run_step(&fixture, cases[i].name, step);
                fixture_settle(&fixture);
            }
            fixture_close(&fixture);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_each_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
