#pragma once

/*
 * Server: HTTP/1.1 for one trusted caller and many who are not.
 *
 * A strict HTTP/1.1 server of our own, for GET and POST with Content-Length: epoll, a pool of
 * workers, and one thread that accepts and does TLS handshakes, so that strangers cannot keep the
 * workers busy with those. Headers that two parsers could read differently are refused. There are
 * body ceilings, one memory budget for the bodies and replies of all connections, deadlines for
 * headers and bodies, client certificates checked by chain and by name, and an orderly end. It
 * knows nothing of pods and verbs.
 *
 *   accept → headers → admit() → body → handle() → reply sent → finished()
 *                                          └─ server_defer() … server_answer() ─┘
 *
 * HTTP/1.0 is answered and closed. Nothing but streams is chunked on the way out, nothing
 * is compressed or uncompressed here, and TLS offers http/1.1 only.
 *
 * All callbacks run on worker threads, several at a time. Whatever is over a
 * limit gets its status (400 408 413 431 501 503 …) and "Connection: close"; other
 * connections do not notice.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"

typedef struct TlsStore TlsStore;
typedef struct Server Server;
typedef struct HttpPending HttpPending;

typedef struct HttpRequest {
    Str method;            /* "GET", "POST", … */
    Str path;              /* as sent, query not included */
    Str query;             /* behind the '?', or empty */
    Str body;              /* whole; empty in admit() */
    bool has_body;         /* one is announced, and not of length 0 */
    bool is_authenticated; /* no client certificate is asked for, or it was a good one */
    Str authorization;     /* the header of that name, or empty */
    bool has_origin;       /* Origin is there: a browser, on behalf of some page */
    bool is_misaddressed;  /* plain HTTP on loopback, asked under a name that is neither localhost
                              nor one of the options' hosts */
    bool is_same_origin;   /* has_origin, and it is the page's own: a page of ours asks */
    bool accepts_html;     /* Accept names text/html: a browser that shows a page */
    bool accepts_gzip;     /* Accept-Encoding names gzip */
    Str if_none_match;     /* the header of that name, or empty */
    Str content_type;      /* the same */
    Arena *arena;          /* for the reply; lives until it is sent. Another one in admit() */
} HttpRequest;

/* A header besides those below. Both are static. */
typedef struct HttpHeader {
    const char *name, *value;
} HttpHeader;

typedef struct HttpReply {
    unsigned status;
    const char *content_type;  /* static */
    const char *allow;         /* static; the Allow header of a 405, or NULL */
    const char *authenticate;  /* static; the WWW-Authenticate header of a 401, or NULL */
    unsigned retry_after_sec;  /* the Retry-After header of a 503, or 0 */
    size_t body_max;           /* of admit() that lets in: the body may have so many bytes; 0: as
                                  the options say */
    const char *cache_control; /* static; NULL: "no-store" */
    const HttpHeader *headers; /* more of them; static or of the arena */
    size_t n_headers;
    const Str *slices; /* the body: memory of the arena, of request->body, or static */
    size_t n_slices;
    Str secret; /* the part of request->body that must not stay in memory when the request is over;
                   empty: all of it. To wipe a pod takes nothing, a list of 5,000 nodes does */
    int tag;    /* handed to finished(): what was asked, for the caller's own figures */
} HttpReply;

typedef struct HttpOutcome {
    int tag;
    unsigned status;
    uint64_t bytes_in, bytes_out; /* bodies only */
    int64_t duration_nsec;        /* headers complete to reply sent; of it: */
    int64_t read_nsec;            /* headers complete to body complete */
    int64_t handle_nsec;          /* body complete to reply made, waiting included; both are 0
                                     when handle() was not called */
} HttpOutcome;

typedef struct ServerCallbacks {
    void *context;

    /* Headers are complete, the body has not been read. False: @reply is sent at
     * once, the body is not read and the connection is closed. */
    bool (*admit)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The request is complete: fills @reply, or calls server_defer(). */
    void (*handle)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The reply has been sent, or the connection broke before it was (status 0).
     * Also called for requests the server refused by itself (tag -1). May be NULL. */
    void (*finished)(void *context, const HttpOutcome *outcome);
} ServerCallbacks;

/* Inside handle(), at most once a request: its reply will come through server_answer().
 * What handle() does to its own reply counts no more; @tag is the reply's, whatever
 * becomes of it. When handle() returns the worker serves others: the connection waits,
 * and no deadline runs and no other connection pushes it out while it does. As it may
 * wait for long, at most half of the connections that one address may have do at a time.
 *
 * From the moment another thread may answer, handle() uses its request no more; and the
 * request's memory, body and arena, must not be used until it is handed to the fill function:
 * whatever is needed in between must be copied.
 *
 * NULL: no more can wait, there is no memory, or the server ends. handle() answers by
 * itself then. */
HttpPending *server_defer(const HttpRequest *request, int tag);

/* Fills @reply as handle() would; it is all zero but for its tag. */
typedef void HttpFill(void *context, const HttpRequest *request, HttpReply *reply);

/* Exactly once for each @pending, which is gone afterwards. On any thread, at any time:
 * also before handle() has returned, inside it, and after server_free(). Calls @fill
 * before it returns, without a lock; false when there is no client to answer any more
 * because the server has ended: then @fill is not called. A client that has gone is not
 * noticed before its reply is to be sent; one that has only closed its sending half may
 * be taken for gone. */
bool server_answer(HttpPending *pending, HttpFill *fill, void *context);

/* Inside handle(), at most once a request, in the place of a reply: 200 and text/event-stream, or
 * what the reply has as content_type, with a body that goes on until either side ends it. Chunked;
 * HTTP/1.0 gets it until the connection closes. What is sent waits in a buffer of
 * SERVER_STREAM_BUFFER until the client takes it; a client that takes nothing for SERVER_WRITE_SEC
 * while something waits is cut. Streams count as connections, are not idle, and end when the server
 * drains. At most SERVER_STREAMS_MAX at a time.
 *
 * NULL: no more can be; handle() answers by itself then. */
typedef struct HttpStream HttpStream;

#define SERVER_STREAMS_MAX 16u
#define SERVER_STREAM_BUFFER ((size_t)256 * 1024)

HttpStream *server_stream(const HttpRequest *request, int tag);

/* Copies @bytes for the client. Any thread. False: the client has gone, or the buffer is full
 * and the client has been given up; then stream_close() is all that is left to do. */
bool stream_send(HttpStream *stream, Str bytes) MUST_CHECK;

/* Exactly once for each stream, which is gone afterwards: what was sent is delivered, then it ends.
 * Any thread, also after server_free(). Returns NULL. */
HttpStream *stream_close(HttpStream *stream);

/* --- the server --------------------------------------------------------------------- */

/* Every limit has a flag of `berth serve` and a default here. 0 is not "none". */
#define SERVER_HEADER_MAX ((size_t)32 * 1024)
#define SERVER_BODY_MAX ((size_t)128 * 1024 * 1024)
#define SERVER_MEMORY_MAX ((size_t)512 * 1024 * 1024)
#define SERVER_HEADER_SEC 5
#define SERVER_BODY_GRACE_SEC 2
#define SERVER_BODY_RATE ((size_t)64 * 1024)
#define SERVER_WRITE_SEC 5
#define SERVER_IDLE_SEC 120 /* over the Go client's 90 s: it must be the one that closes */
#define SERVER_CONNECTIONS_MAX 1024
#define SERVER_CONNECTIONS_PER_ADDRESS_MAX 512

/* What handle() may take of its arena, unless memory_max is less. It is counted when
 * handle() returns: what workers are at work with, one request each, comes on top
 * of memory_max. */
#define SERVER_ARENA_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct ServerOptions {
    const char *address;     /* numeric IPv4 or IPv6, no brackets */
    uint16_t port;           /* 0: the system picks one */
    TlsStore *tls;           /* NULL: plain HTTP. Borrowed */
    const Str *client_names; /* whose certificates are good; none: none is asked for. Borrowed */
    size_t n_client_names;
    const Str *hosts; /* names that Host may have besides; see is_misaddressed. Borrowed */
    size_t n_hosts;
    unsigned n_workers;
    size_t header_max;        /* request line and headers, bytes: 431 */
    size_t body_max;          /* one body, bytes: 413 */
    size_t memory_max;        /* all bodies and replies being held, bytes: 503 */
    unsigned header_sec;      /* accept, or a next request's first byte, to end of headers: 408 */
    unsigned body_grace_sec;  /* after this a body must have come at ... */
    size_t body_rate;         /* ... this many bytes a second on average: 408 */
    unsigned write_sec;       /* a reply is taken at less than body_rate for this long: closed */
    unsigned idle_sec;        /* a kept-alive connection without a request: closed */
    unsigned connections_max; /* in all; when full, who is silent for longest makes room */
    unsigned connections_per_address_max; /* the same for one address */
} ServerOptions;

/* All defaults; address 127.0.0.1, port 8080, two workers. */
ServerOptions server_default_options(void);

/* Listens and serves. 0; or a negative errno (-EADDRINUSE, …) with nothing left
 * running. @callbacks is copied. */
int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret);

/* Ends at once: connections are cut, also those that wait for an answer; it waits for
 * fill functions that are running. Use server_drain() before. Takes NULL. */
Server *server_free(Server *server);
DEFINE_CLEANUP(Server *, server_free)

/* The port it listens on. */
uint16_t server_port(const Server *server);

/* "https://[::1]:8443": where it is reached. Returns @ret. */
#define SERVER_URL_MAX 96u
const char *server_url(const Server *server, char ret[static SERVER_URL_MAX]);

/* Whether @address, numeric and without brackets, can be reached from this machine only. */
bool server_is_loopback(const char *address);

/* Housekeeping: closes connections that are past a deadline. To be called by one
 * thread about four times a second. */
void server_tick(Server *server, int64_t monotonic_nsec);

/* Soon it ends: everything is answered as before, but every reply says "Connection: close", so that
 * clients take their next request elsewhere. Idle connections stay. Any thread. */
void server_retire(Server *server);

/* No new connections from now on; requests under way go on, those that wait for an
 * answer too; idle connections are closed. Returns how many connections are left; call again until
 * 0 or patience ends. */
unsigned server_drain(Server *server);

typedef enum ServerRefusal {
    SERVER_REFUSED_HEADERS,     /* malformed or ambiguous: 400 */
    SERVER_REFUSED_HEADER_SIZE, /* 431 */
    SERVER_REFUSED_ENCODING,    /* Content-Encoding: 415; Transfer-Encoding: 501 */
    SERVER_REFUSED_BODY_SIZE,   /* 413 */
    SERVER_REFUSED_MEMORY,      /* 503 */
    SERVER_REFUSED_HEADER_TIME, /* 408 or closed */
    SERVER_REFUSED_BODY_TIME,   /* 408 or closed */
    SERVER_REFUSED_WRITE_TIME,  /* closed */
    SERVER_REFUSED_CONNECTIONS, /* closed at accept */
    _SERVER_REFUSED_MAX,
} ServerRefusal;

/* A stable word for metrics: "headers", "body_size", … */
const char *server_refusal_name(ServerRefusal refusal);

typedef struct ServerFigures {
    uint64_t refused[_SERVER_REFUSED_MAX];
    uint64_t connections_total;
    unsigned connections;
    unsigned deferred; /* of these: requests whose reply is still to come or going out */
    size_t memory;     /* held by requests now: bodies, and what replies are made of */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *ret);
