/*
 * Floor: the cost of a request that is received and answered, but not evaluated.
 *
 * The HTTP server of `berth serve`, with a handler that ignores the body and
 * returns a prepared reply. The time that berth needs above this is berth's own
 * work. It has the flags of `berth serve` that concern the server, so the tests
 * with hostile clients can run against it too.
 *
 *     floor --listen 127.0.0.1:0 --reply-bytes 100000
 *     listening on http://127.0.0.1:40123
 *
 * With --echo it can serve a real kube-scheduler: filter returns the names unchanged,
 * prioritize a score for each of them, or with --score-every N for every Nth. It only
 * searches for the brackets around the names and the commas between them.
 */

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http/server.h"
#include "http/tls.h"

#define TICK_NSEC (250 * NSEC_PER_MSEC)
#define DRAIN_SEC 4

typedef struct Floor {
    ServerOptions server;
    TlsFiles tls;
    Str client_names[16];
    size_t reply_bytes, n_slices;
    bool is_echo;
    size_t score_every;
    char address[64];
    char *reply;
    Str *slices;
} Floor;

enum {
    OPTION_LISTEN = 256,
    OPTION_REPLY_BYTES,
    OPTION_REPLY_SLICES,
    OPTION_ECHO,
    OPTION_SCORE_EVERY,
    OPTION_WORKERS,
    OPTION_MAX_BODY,
    OPTION_MAX_HEADER,
    OPTION_MAX_MEMORY,
    OPTION_HEADER_TIMEOUT,
    OPTION_BODY_GRACE,
    OPTION_BODY_MIN_RATE,
    OPTION_WRITE_TIMEOUT,
    OPTION_IDLE_TIMEOUT,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_PER_ADDRESS,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_CLIENT_CA,
    OPTION_CLIENT_NAME,
};

static const struct option options[] = {
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"reply-bytes", required_argument, NULL, OPTION_REPLY_BYTES},
    {"reply-slices", required_argument, NULL, OPTION_REPLY_SLICES},
    {"echo", no_argument, NULL, OPTION_ECHO},
    {"score-every", required_argument, NULL, OPTION_SCORE_EVERY},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"max-body", required_argument, NULL, OPTION_MAX_BODY},
    {"max-header", required_argument, NULL, OPTION_MAX_HEADER},
    {"max-memory", required_argument, NULL, OPTION_MAX_MEMORY},
    {"header-timeout", required_argument, NULL, OPTION_HEADER_TIMEOUT},
    {"body-grace", required_argument, NULL, OPTION_BODY_GRACE},
    {"body-min-rate", required_argument, NULL, OPTION_BODY_MIN_RATE},
    {"write-timeout", required_argument, NULL, OPTION_WRITE_TIMEOUT},
    {"idle-timeout", required_argument, NULL, OPTION_IDLE_TIMEOUT},
    {"max-connections", required_argument, NULL, OPTION_MAX_CONNECTIONS},
    {"max-connections-per-address", required_argument, NULL, OPTION_MAX_PER_ADDRESS},
    {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
    {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
    {"client-ca", required_argument, NULL, OPTION_CLIENT_CA},
    {"client-name", required_argument, NULL, OPTION_CLIENT_NAME},
    {0},
};

static volatile sig_atomic_t is_ending, is_reloading;

static void on_signal(int number) {
    if (number == SIGHUP)
        is_reloading = 1;
    else
        is_ending = 1;
}

static unsigned long number_of(const char *text) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text == '\0' || *end != '\0') {
        (void)fprintf(stderr, "floor: \"%s\" is not a number\n", text);
        exit(2);
    }
    return number;
}

static void set_listen(Floor *floor, const char *text) {
    const char *colon = strrchr(text, ':');
    Str address = str_of(text, colon ? (size_t)(colon - text) : 0);

    if (address.len >= 2 && address.ptr[0] == '[')
        address = str_of(address.ptr + 1, address.len - 2);
    if (address.len == 0 || address.len >= sizeof(floor->address)) {
        (void)fprintf(stderr, "floor: --listen wants ADDRESS:PORT\n");
        exit(2);
    }
    memcpy(floor->address, address.ptr, address.len);
    floor->server.address = floor->address;
    floor->server.port = (uint16_t)number_of(colon + 1);
}

static void set_tls(Floor *floor, int option, const char *value) {
    switch (option) {
    case OPTION_TLS_CERT:
        floor->tls.certificate = value;
        break;
    case OPTION_TLS_KEY:
        floor->tls.key = value;
        break;
    case OPTION_CLIENT_CA:
        floor->tls.client_ca = value;
        break;
    case OPTION_CLIENT_NAME:
        if (floor->tls.n_client_names < ELEMENTS_OF(floor->client_names))
            floor->client_names[floor->tls.n_client_names++] = str_from_c(value);
        floor->tls.client_names = floor->client_names;
        break;
    default:
        exit(2);
    }
}

static bool set_limit(ServerOptions *server, int option, const char *value) {
    switch (option) {
    case OPTION_WORKERS:
        server->n_workers = (unsigned)number_of(value);
        return true;
    case OPTION_MAX_BODY:
        server->body_max = number_of(value);
        return true;
    case OPTION_MAX_HEADER:
        server->header_max = number_of(value);
        return true;
    case OPTION_MAX_MEMORY:
        server->memory_max = number_of(value);
        return true;
    case OPTION_HEADER_TIMEOUT:
        server->header_sec = (unsigned)number_of(value);
        return true;
    case OPTION_BODY_GRACE:
        server->body_grace_sec = (unsigned)number_of(value);
        return true;
    case OPTION_BODY_MIN_RATE:
        server->body_rate = number_of(value);
        return true;
    case OPTION_WRITE_TIMEOUT:
        server->write_sec = (unsigned)number_of(value);
        return true;
    case OPTION_IDLE_TIMEOUT:
        server->idle_sec = (unsigned)number_of(value);
        return true;
    case OPTION_MAX_CONNECTIONS:
        server->connections_max = (unsigned)number_of(value);
        return true;
    case OPTION_MAX_PER_ADDRESS:
        server->connections_per_address_max = (unsigned)number_of(value);
        return true;
    default:
        return false;
    }
}

static void parse(Floor *floor, int argc, char **argv) {
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == OPTION_LISTEN)
            set_listen(floor, optarg);
        else if (option == OPTION_REPLY_BYTES)
            floor->reply_bytes = number_of(optarg);
        else if (option == OPTION_REPLY_SLICES)
            floor->n_slices = number_of(optarg);
        else if (option == OPTION_ECHO)
            floor->is_echo = true;
        else if (option == OPTION_SCORE_EVERY)
            floor->score_every = number_of(optarg);
        else if (!set_limit(&floor->server, option, optarg))
            set_tls(floor, option, optarg);
    }
}

/* Looks like a list of node names, in case a client parses it. */
static int prepare_reply(Floor *floor) {
    static const char item[] = "\"node-000000.example.internal\",";
    size_t n = floor->reply_bytes < 16 ? 16 : floor->reply_bytes;
    size_t n_slices = floor->n_slices;

    floor->reply = malloc(n + 1);
    floor->slices = calloc(n_slices, sizeof(*floor->slices));
    if (!floor->reply || !floor->slices)
        return -1;
    memset(floor->reply, ' ', n);
    memcpy(floor->reply, "{\"NodeNames\":[", 14);
    for (size_t at = 14; at + sizeof(item) < n; at += sizeof(item) - 1)
        memcpy(floor->reply + at, item, sizeof(item) - 1);
    for (size_t at = n - 3; floor->reply[at] == ',' || floor->reply[at] == ' '; at--)
        floor->reply[at] = ' ';
    memcpy(floor->reply + n - 2, "]}", 2);
    for (size_t i = 0; i < n_slices; i++) {
        size_t from = n * i / n_slices, to = n * (i + 1) / n_slices;

        floor->slices[i] = str_of(floor->reply + from, to - from);
    }
    return 0;
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str text = STR("a client certificate is needed\n");

    if (request->is_authenticated)
        return true;
    *reply = (HttpReply){
        .status = 403, .content_type = "text/plain; charset=utf-8", .slices = &text, .n_slices = 1};
    return false;
}

/* The names of a request between their brackets, quotes and commas included. */
static Str find_names(Str body) {
    static const char key[] = "\"NodeNames\":[";
    const char *at = memmem(body.ptr, body.len, key, sizeof(key) - 1), *end;

    if (!at)
        return STR("");
    at += sizeof(key) - 1;
    end = memchr(at, ']', body.len - (size_t)(at - body.ptr));
    return end ? str_of(at, (size_t)(end - at)) : STR("");
}

static char *put(char *to, Str text) {
    memcpy(to, text.ptr, text.len);
    return to + text.len;
}

static Str echo_filter(Str names, Arena *arena) {
    static const Str head = STR("{\"NodeNames\":["), tail = STR("]}");
    char *text = arena_alloc(arena, head.len + names.len + tail.len);

    if (!text)
        return STR_NULL;
    return str_of(text, (size_t)(put(put(put(text, head), names), tail) - text));
}

/* Scores from 0 to 9 that differ between nodes. */
static Str echo_prioritize(Str names, size_t every, Arena *arena) {
    static const Str head = STR("{\"Host\":"), middle = STR(",\"Score\":"), tail = STR("},");
    size_t n_names = names.len > 0;
    char *text, *to;
    Str name;

    for (size_t i = 0; i < names.len; i++)
        n_names += names.ptr[i] == ',';
    text = arena_alloc(arena, 2 + names.len + n_names * (head.len + middle.len + tail.len + 1));
    if (!text)
        return STR_NULL;
    to = put(text, STR("["));
    for (size_t i = 0; names.len > 0 && str_split(&names, ',', &name); i++) {
        if (every > 1 && i % every != 0)
            continue;
        to = put(put(put(to, head), name), middle);
        *to++ = (char)('0' + (unsigned char)name.ptr[name.len / 3] % 10);
        to = put(to, tail);
    }
    if (n_names > 0)
        to--; /* the last comma */
    to = put(to, STR("]"));
    return str_of(text, (size_t)(to - text));
}

static void echo(const Floor *floor, const HttpRequest *request, HttpReply *reply) {
    Str *slice = ARENA_NEW(request->arena, Str);
    Str names = find_names(request->body);

    *reply = (HttpReply){.status = 500, .content_type = "application/json"};
    if (!slice)
        return;
    *slice = str_is(request->path, "/prioritize")
                 ? echo_prioritize(names, floor->score_every, request->arena)
                 : echo_filter(names, request->arena);
    if (!slice->ptr)
        return;
    reply->status = 200;
    reply->slices = slice;
    reply->n_slices = 1;
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    const Floor *floor = context;

    if (floor->is_echo) {
        echo(floor, request, reply);
        return;
    }
    *reply = (HttpReply){
        .status = 200,
        .content_type = "application/json",
        .slices = floor->slices,
        .n_slices = floor->n_slices,
    };
}

static void reload(TlsStore *tls) {
    char error[512] = "";

    is_reloading = 0;
    if (tls && tls_store_reload(tls, error, sizeof(error)) == TLS_REFUSED)
        (void)fprintf(stderr, "floor: %s\n", error);
}

static void serve(Server *server, TlsStore *tls) {
    const struct timespec pause = {.tv_nsec = TICK_NSEC};
    int64_t end;

    while (!is_ending) {
        (void)nanosleep(&pause, NULL);
        if (is_reloading)
            reload(tls);
        server_tick(server, clock_monotonic_nsec());
    }
    end = clock_monotonic_nsec() + DRAIN_SEC * NSEC_PER_SEC;
    while (server_drain(server) > 0 && clock_monotonic_nsec() < end) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20 * NSEC_PER_MSEC}, NULL);
        server_tick(server, clock_monotonic_nsec());
    }
}

static int run(Floor *floor) {
    const ServerCallbacks callbacks = {.context = floor, .admit = admit, .handle = handle};
    _cleanup_(tls_store_freep) TlsStore *tls = NULL;
    _cleanup_(server_freep) Server *server = NULL;
    char error[512] = "", url[SERVER_URL_MAX];
    int r;

    if (floor->tls.certificate) {
        if (tls_store_new(&floor->tls, &tls, error, sizeof(error)) < 0) {
            (void)fprintf(stderr, "floor: %s\n", error);
            return 1;
        }
        floor->server.tls = tls;
    }
    r = server_new(&floor->server, &callbacks, &server);
    if (r < 0) {
        (void)fprintf(stderr, "floor: %s\n", strerror(-r));
        return 1;
    }
    (void)printf("listening on %s\n", server_url(server, url));
    (void)fflush(stdout);
    serve(server, tls);
    return 0;
}

int main(int argc, char **argv) {
    Floor floor = {.server = server_default_options(), .reply_bytes = 1000, .n_slices = 1};
    int status = 1;

    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024); /* fixed: large blocks go back to the system */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGHUP, on_signal);
    parse(&floor, argc, argv);
    if (prepare_reply(&floor) == 0)
        status = run(&floor);
    free(floor.slices);
    free(floor.reply);
    return status;
}
