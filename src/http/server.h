#pragma once

/*
 * Server: HTTP/1.1 for one trusted client and many untrusted ones.
 *
 * A strict HTTP/1.1 server for GET and POST with Content-Length: epoll, a pool of workers, and one
 * thread that accepts and does TLS handshakes, so that unknown clients cannot keep the workers busy
 * with those. Headers that two parsers could read differently are refused. There are limits on
 * bodies, one memory limit for the bodies and replies of all connections, deadlines for headers and
 * bodies, client certificates checked by chain and name, and a graceful shutdown. Known clients and
 * probes have connections and memory of their own (http/connections.h, http/body.h). It knows
 * nothing about pods and verbs.
 *
 *   accept → headers → admit() → body → handle() → reply sent → finished()
 *                                          └─ server_defer() … server_answer() ─┘
 *
 * HTTP/1.0 connections are closed after the reply. Only streams are chunked, nothing is compressed
 * or uncompressed here, and TLS offers http/1.1 only.
 *
 * Callbacks run on worker threads, several at a time. A request over a limit gets its status (400
 * 408 413 431 501 503 …) and "Connection: close"; other connections are not affected.
 */

#include "base/arena.h"

typedef struct TlsStore TlsStore;
typedef struct Server Server;
typedef struct HttpPending HttpPending;

typedef struct HttpRequest {
    Str method;            /* "GET", "POST", … */
    Str path;              /* as sent, query not included */
    Str query;             /* after the '?', or empty */
    Str body;              /* whole; empty in admit() */
    uint64_t body_size;    /* Content-Length, or 0 */
    bool is_authenticated; /* no client certificate is required, or it is valid */
    Str authorization;     /* the header of that name, or empty */
    Str berth_token;       /* Berth-Token: for clients behind a proxy that removes Authorization */
    Str cookie;            /* the header of that name, or empty; of several the last */
    bool has_origin;       /* has an Origin header: sent by a browser for some page */
    bool is_misaddressed; /* plain HTTP on loopback with a Host that is neither localhost nor one of
                             the options' hosts */
    bool is_same_origin;  /* has_origin, and it is this server: sent by one of its own pages */
    bool accepts_html;    /* Accept names text/html: a browser that shows a page */
    bool accepts_gzip;    /* Accept-Encoding names gzip */
    Str if_none_match;    /* the header of that name, or empty */
    Str content_type;     /* the same */
    Arena *arena;         /* for the reply; lives until it is sent. Another one in admit() */
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
    size_t body_max;           /* set by admit(): limit of the body, bytes; 0: the options' limit */
    const char *cache_control; /* static; NULL: "no-store" */
    const HttpHeader *headers; /* additional ones; static or in the arena */
    size_t n_headers;
    const Str *slices; /* the body: memory of the arena, of request->body, or static */
    size_t n_slices;
    Str secret; /* the part of request->body to wipe at the end; empty: all of it. Wiping a pod is
                   cheap, wiping a list of 5,000 nodes is not */
    int tag;    /* passed to finished(): the kind of request, for the caller's metrics */
    int64_t waited_nsec; /* passed to finished(): of handle(), with nothing to do */
} HttpReply;

typedef struct HttpOutcome {
    int tag;
    unsigned status;
    uint64_t bytes_in, bytes_out; /* bodies only */
    int64_t duration_nsec;        /* headers complete to reply sent; of it: */
    int64_t read_nsec;            /* headers complete to body complete */
    int64_t handle_nsec;          /* body complete to reply made, waiting included; both are 0
                                     when handle() was not called; of it: */
    int64_t waited_nsec;          /* that of handle()'s reply */
} HttpOutcome;

typedef struct ServerCallbacks {
    void *context;

    /* Headers are complete, the body has not been read. False: @reply is sent at
     * once, the body is not read and the connection is closed. */
    bool (*admit)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The request is complete: fills @reply, or calls server_defer(). */
    void (*handle)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The reply was sent, or the connection broke first (status 0). Also called for requests that
     * the server itself refused (tag -1). May be NULL. */
    void (*finished)(void *context, const HttpOutcome *outcome);
} ServerCallbacks;

/* Call in handle(), at most once per request: the reply will come through server_answer(), and
 * handle()'s own reply is ignored. finished() gets @tag in any case. When handle() returns the
 * worker serves others; the connection has no deadline and is not evicted while it waits. As that
 * may take long, at most half of the connections that one address may have can be deferred.
 *
 * As soon as another thread may answer, handle() must not use its request, body and arena included,
 * until the fill function gets them: copy what you need in between.
 *
 * NULL: too many are deferred or kept, there is no memory, or the server ends. handle() replies
 * itself then. */
HttpPending *server_defer(const HttpRequest *request, int tag);

/* Fills @reply as handle() would; it is all zero but for its tag. */
typedef void HttpFill(void *context, const HttpRequest *request, HttpReply *reply);

/* Call exactly once for each @pending, which is freed. On any thread, at any time: also before
 * handle() has returned, inside it, and after server_free(). Calls @fill before it returns, without
 * a lock. False: the server has ended, and @fill is not called. A closed client is noticed only
 * when its reply is to be sent; a client that only closed its sending half may count as closed. */
bool server_answer(HttpPending *pending, HttpFill *fill, void *context);

/* Counts @size bytes that handle() or a fill function is about to use besides body and arena, and
 * stops counting them, in the same call. False: they exceed memory_max; nothing was counted. */
bool server_charge(const HttpRequest *request, size_t size);
void server_release(const HttpRequest *request, size_t size);

/* The options' memory_max of the request's server. Also in admit(). */
size_t server_memory_max(const HttpRequest *request);

/* Call in handle(), at most once per request, instead of replying: sends 200 and text/event-stream,
 * or the reply's content_type, with a body that continues until either side ends it. Chunked; for
 * HTTP/1.0 until the connection closes. Sent bytes are buffered, up to SERVER_STREAM_BUFFER; a
 * client that reads nothing of them for SERVER_WRITE_SEC is cut. Streams count as connections, are
 * not idle, and end when the server drains. At most SERVER_STREAMS_MAX at a time.
 *
 * NULL: there are too many streams or kept connections; handle() replies itself then. */
typedef struct HttpStream HttpStream;

#define SERVER_STREAMS_MAX 16u
#define SERVER_STREAM_BUFFER ((size_t)256 * 1024)

HttpStream *server_stream(const HttpRequest *request, int tag);

/* Copies @bytes for the client. Any thread. Returns false if the client has gone, or its buffer is
 * full and it was dropped; then call stream_close(). */
bool stream_send(HttpStream *stream, Str bytes) MUST_CHECK;

/* Call exactly once for each stream, which is freed: sent bytes are delivered, then it ends. Any
 * thread, also after server_free(). Returns NULL. */
HttpStream *stream_close(HttpStream *stream);

/* The server. */

/* Every limit has a flag of `berth serve` and a default here. 0 is not "none". */
#define SERVER_HEADER_MAX ((size_t)32 * 1024)
#define SERVER_BODY_MAX ((size_t)128 * 1024 * 1024)
#define SERVER_MEMORY_MAX ((size_t)512 * 1024 * 1024)
#define SERVER_HEADER_SEC 5
#define SERVER_BODY_GRACE_SEC 2
#define SERVER_BODY_RATE ((size_t)64 * 1024)
#define SERVER_WRITE_SEC 5
#define SERVER_IDLE_SEC 120 /* over the Go client's 90 s, so that the client closes first */
#define SERVER_CONNECTIONS_MAX 1024
#define SERVER_CONNECTIONS_PER_ADDRESS_MAX 512

/* Limit of handle()'s arena, unless memory_max is less. It is counted when handle() returns: the
 * arenas of running handlers, one per worker, come on top of memory_max. */
#define SERVER_ARENA_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct ServerOptions {
    const char *address;     /* numeric IPv4 or IPv6, no brackets */
    uint16_t port;           /* 0: the system picks one */
    TlsStore *tls;           /* NULL: plain HTTP. Borrowed */
    const Str *client_names; /* for client certificates; none: none is required. Borrowed */
    size_t n_client_names;
    const Str *hosts; /* additional names for Host; see is_misaddressed. Borrowed */
    size_t n_hosts;
    unsigned n_workers;
    int nice;                /* the nice value of its threads; 0: that of the process */
    size_t header_max;       /* request line and headers, bytes: 431 */
    size_t body_max;         /* one body, bytes: 413 */
    size_t memory_max;       /* all bodies and replies being held, bytes: 503 */
    unsigned header_sec;     /* accept, or a next request's first byte, to end of headers: 408 */
    unsigned body_grace_sec; /* after this a body must have arrived at ... */
    size_t body_rate;        /* ... this many bytes a second on average: 408 */
    unsigned write_sec; /* the client reads a reply slower than body_rate for this long: closed */
    unsigned idle_sec;  /* a kept-alive connection without a request: closed */
    unsigned connections_max;             /* in all; see http/connections.h */
    unsigned connections_per_address_max; /* the same for one address */
} ServerOptions;

/* All defaults; address 127.0.0.1, port 8080, two workers. */
ServerOptions server_default_options(void);

/* Listens and serves. 0; or a negative errno (-EADDRINUSE, …) with nothing left
 * running. @callbacks is copied. */
int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret);

/* Ends at once: cuts all connections, deferred ones included, and waits for running fill functions.
 * Call server_drain() before. Takes NULL. */
Server *server_free(Server *server);
DEFINE_CLEANUP(Server *, server_free)

/* "https://[::1]:8443": its URL. Returns @ret. */
#define SERVER_URL_MAX 96u
const char *server_url(const Server *server, char ret[static SERVER_URL_MAX]);

/* Whether @address, numeric and without brackets, is a loopback address. */
bool server_is_loopback(const char *address);

/* Closes connections past a deadline. One thread must call it about four times a second. */
void server_tick(Server *server, int64_t monotonic_nsec);

/* The server will end soon: requests are still served, but every reply has "Connection: close", so
 * that clients send their next request elsewhere. Idle connections stay. Any thread. */
void server_retire(Server *server);

/* Refuses new connections and closes idle ones; requests in progress, deferred ones included,
 * continue. Returns how many connections are left; call again until 0 or a timeout. */
unsigned server_drain(Server *server);

typedef enum ServerRefusal {
    SERVER_REFUSED_HEADERS,     /* malformed, ambiguous or unsupported: 400, 405, 417, 505 */
    SERVER_REFUSED_HEADER_SIZE, /* 414, 431 */
    SERVER_REFUSED_ENCODING,    /* Content-Encoding: 415; Transfer-Encoding: 501 */
    SERVER_REFUSED_BODY_SIZE,   /* 413 */
    SERVER_REFUSED_MEMORY,      /* 503 */
    SERVER_REFUSED_HEADER_TIME, /* 408 or closed */
    SERVER_REFUSED_BODY_TIME,   /* 408 or closed */
    SERVER_REFUSED_WRITE_TIME,  /* closed */
    SERVER_REFUSED_CONNECTIONS, /* closed at accept, or to make room for another */
    _SERVER_REFUSED_MAX,
} ServerRefusal;

/* A stable word for metrics: "headers", "body_size", … */
extern const char *const server_refusal_names[];

typedef struct ServerFigures {
    uint64_t refused[_SERVER_REFUSED_MAX];
    uint64_t connections_total;
    unsigned connections;
    unsigned deferred; /* of these: requests whose deferred reply is not completely sent */
    size_t memory;     /* held by requests now: bodies and replies */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *ret);
