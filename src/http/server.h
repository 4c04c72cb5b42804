#pragma once

/*
 * Server: HTTP/1.1 for one trusted client and many untrusted ones.
 *
 * A strict HTTP/1.1 server for GET and POST with Content-Length: epoll, a pool of workers, and one
 * thread that accepts clients and does TLS handshakes, so that unknown clients cannot keep the
 * workers busy with those. It refuses headers that two parsers could read differently. It has
 * limits on bodies, one memory limit for the bodies and replies of all connections, deadlines for
 * headers and bodies, client certificates checked by chain and name, and a graceful shutdown.
 * Places and memory are reserved for known clients and probes (http/connections.h, http/body.h). It
 * knows nothing about pods and verbs.
 *
 *   accept → headers → admit() → body → handle() → reply sent → finished()
 *                                          └─ server_defer() … server_answer() ─┘
 *
 * HTTP/1.0 connections are closed after the reply. Only streams are chunked. The server neither
 * compresses nor decompresses. TLS offers http/1.1 only.
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
    uint64_t body_size;    /* Content-Length; 0 if missing */
    bool is_authenticated; /* no client certificate is required, or it is valid */
    Str authorization;     /* the header of that name, or empty */
    Str berth_token;       /* Berth-Token: for clients behind a proxy that removes Authorization */
    Str cookie;            /* the header; of several the last; empty: none */
    bool has_origin;       /* it has an Origin header: a browser sent it for some page */
    bool is_misaddressed;  /* plain HTTP on loopback, with a Host that is neither an address,
                              localhost nor one of the options' hosts */
    bool is_same_origin;   /* Origin is this server: one of its own pages sent it */
    bool accepts_html;     /* Accept names text/html: a browser loads a page */
    bool accepts_gzip;     /* Accept-Encoding names gzip */
    Str if_none_match;     /* the header of that name, or empty */
    Str content_type;      /* the same */
    Arena *arena;          /* for the reply; lives until it is sent. Another one in admit() */
} HttpRequest;

/* An additional header. Both texts are static. */
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
    const HttpHeader *headers; /* static or in the arena */
    size_t n_headers;
    const Str *slices; /* the body: memory of the arena, of request->body, or static */
    size_t n_slices;
    Str secret; /* the part of request->body to wipe at the end; empty: all of it. Wiping a pod is
                   cheap, wiping a list of 5,000 nodes is not */
    int tag;    /* passed to finished(): a kind of request, for metrics */
    int64_t waited_nsec; /* passed to finished(): handle() waited this long on purpose */
} HttpReply;

typedef struct HttpOutcome {
    int tag;
    unsigned status;
    uint64_t bytes_in, bytes_out; /* bodies only */
    int64_t duration_nsec;        /* headers complete to reply sent; of it: */
    int64_t read_nsec;            /* headers complete to body complete */
    int64_t handle_nsec;          /* body complete to reply made, waiting included; both are 0
                                     when handle() was not called; of it: */
    int64_t waited_nsec;          /* HttpReply.waited_nsec of handle() */
} HttpOutcome;

typedef struct ServerCallbacks {
    void *context;

    /* Called when the headers are complete and the body is not read yet. False: sends @reply at
     * once, reads no body, and closes the connection. */
    bool (*admit)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The request is complete. Fills @reply, or calls server_defer() or server_stream(). */
    void (*handle)(void *context, const HttpRequest *request, HttpReply *reply);

    /* The reply was sent, or the connection broke first (status 0). Also called for requests that
     * the server itself refused (tag -1). May be NULL. */
    void (*finished)(void *context, const HttpOutcome *outcome);
} ServerCallbacks;

/* Call in handle(), at most once per request: server_answer() will send the reply, and the reply
 * that handle() fills is ignored. finished() gets @tag in any case. When handle() returns, the
 * worker serves other connections; this one has no deadline and is not evicted while it waits. As a
 * wait may be long, at most half of one address's connections can be deferred.
 *
 * As soon as another thread may answer, handle() must not use its request, body and arena included,
 * until the fill function gets them: copy data that you need in between.
 *
 * NULL: too many requests are deferred, there is no place to keep the connection, no memory, or the
 * server ends. Then handle() itself must reply.
 * itself then. */
HttpPending *server_defer(const HttpRequest *request, int tag);

/* Fills @reply like handle(). At first only its tag is set. */
typedef void HttpFill(void *context, const HttpRequest *request, HttpReply *reply);

/* Call exactly once for each @pending, which it frees. On any thread, at any time: also inside
 * handle(), before handle() has returned, and after server_free(). Calls @fill before it returns,
 * without a lock. False: the server has ended, and @fill is not called. A closed client is noticed
 * only when its reply is sent; a client that only shut down its sending side may count as
 * closed. */
bool server_answer(HttpPending *pending, HttpFill *fill, void *context);

/* Counts @size bytes that handle() or a fill function is about to use besides body and arena, until
 * server_release() in the same call. False: more than memory_max; nothing was counted. */
bool server_charge(const HttpRequest *request, size_t size);
void server_release(const HttpRequest *request, size_t size);

/* The memory_max of the server's options. Also in admit(). */
size_t server_memory_max(const HttpRequest *request);

/* Call in handle(), at most once per request, instead of replying: sends 200 and text/event-stream,
 * or the reply's content_type, with a body that continues until either side ends it. The body is
 * chunked; for HTTP/1.0 it ends with the connection. Bytes are buffered, up to
 * SERVER_STREAM_BUFFER; a client that reads none of them for SERVER_WRITE_SEC is disconnected.
 * Streams count as connections, are not idle, and end when the server drains.
 *
 * NULL: there are SERVER_STREAMS_MAX streams, or no place to keep the connection. Then handle()
 * itself must reply. */
typedef struct HttpStream HttpStream;

#define SERVER_STREAMS_MAX 16u
#define SERVER_STREAM_BUFFER ((size_t)256 * 1024)

HttpStream *server_stream(const HttpRequest *request, int tag);

/* Copies @bytes for the client. Any thread. False: the client has closed, or was disconnected
 * because its buffer was full; then call stream_close(). */
bool stream_send(HttpStream *stream, Str bytes) MUST_CHECK;

/* Call exactly once for each stream, which it frees: delivers the bytes, then ends the stream. Any
 * thread, also after server_free(). Returns NULL. */
HttpStream *stream_close(HttpStream *stream);

/* The server. */

/* Each limit has a flag of `berth serve` and a default here. 0 does not mean "no limit". */
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

/* Limit of handle()'s arena, if memory_max is not less. It counts when handle() returns: the arenas
 * of running handlers, one per worker, come on top of memory_max. */
#define SERVER_ARENA_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct ServerOptions {
    const char *address;     /* numeric IPv4 or IPv6, no brackets */
    uint16_t port;           /* 0: the system picks one */
    TlsStore *tls;           /* NULL: plain HTTP. Borrowed */
    const Str *client_names; /* names for client certificates; none: none is required. Borrowed */
    size_t n_client_names;
    const Str *hosts; /* allowed names in Host; see is_misaddressed. Borrowed */
    size_t n_hosts;
    unsigned n_workers;
    int nice;                /* of its threads; 0: that of the process */
    size_t header_max;       /* request line and headers, bytes: 431 */
    size_t body_max;         /* one body, bytes: 413 */
    size_t memory_max;       /* all bodies and replies in memory, bytes: 503 */
    unsigned header_sec;     /* accept, or first byte of a request, to end of headers: 408 */
    unsigned body_grace_sec; /* after this a body must have arrived at ... */
    size_t body_rate;        /* ... this many bytes a second on average: 408 */
    unsigned write_sec; /* the client reads a reply slower than body_rate for this long: closed */
    unsigned idle_sec;  /* a kept-alive connection without a request: closed */
    unsigned connections_max;             /* of all addresses; see http/connections.h */
    unsigned connections_per_address_max; /* of one address */
} ServerOptions;

/* All defaults; address 127.0.0.1, port 8080, two workers. */
ServerOptions server_default_options(void);

/* Listens and serves. 0; or a negative errno (-EADDRINUSE, …), and nothing is left running. Copies
 * @callbacks; borrows what @options points to. */
int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret);

/* Ends at once: closes all connections, deferred ones included, and waits for running fill
 * functions. Call server_drain() before. Takes NULL. */
Server *server_free(Server *server);
DEFINE_CLEANUP(Server *, server_free)

/* Writes the server's URL, such as "https://[::1]:8443". Returns @ret. */
#define SERVER_URL_MAX 96u
const char *server_url(const Server *server, char ret[static SERVER_URL_MAX]);

/* Whether @address, numeric and without brackets, is a loopback address. */
bool server_is_loopback(const char *address);

/* Closes connections past a deadline. One thread must call it about four times a second. */
void server_tick(Server *server, int64_t monotonic_nsec);

/* Announces the end: requests are still served, but every reply has "Connection: close", so that
 * clients send their next request to another server. Idle connections stay. Any thread. */
void server_retire(Server *server);

/* Refuses new connections and closes idle ones; requests in progress, deferred ones included,
 * continue. Returns the number of connections left; call it again until 0 or a timeout. */
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
    unsigned deferred; /* of these: with a deferred reply that is not completely sent */
    size_t memory;     /* of bodies and replies in memory, bytes */
} ServerFigures;

void server_figures(const Server *server, ServerFigures *ret);
