/* berth open: the dashboard of a berth in a cluster, on a port of this machine. */

#include <errno.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/digest.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/explain-internal.h"
#include "dashboard/dashboard.h"
#include "http/server.h"
#include "kube/client.h"
#include "json/read.h"

typedef struct Settings {
    ServerSource source;
    int64_t port;
    const char *replica; /* NULL: the one that decided last */
} Settings;

/*
 * PageProxy: berth's pages on a loopback port of this machine, for a browser. Every request is
 * forwarded to one berth through an API server (cli/replicas.h).
 *
 * Only a browser that was given the URL may use it: the key in it becomes a cookie. Requests for
 * other names than localhost, from other sites' pages, and for paths that could lead out of berth
 * are refused.
 *
 * Requests arrive on the server's workers, and are forwarded by the thread that calls
 * page_proxy_step().
 */

#define ADDRESS "127.0.0.1"
#define WORKERS 2u
#define PAGE_PROXY_REQUESTS_MAX 64u /* at a time */
#define STEP_MSEC 250
#define REPLY_SEC 130 /* a bundle may take long */
#define BODY_MAX ((size_t)4 * 1024 * 1024)
#define RELAY_MAX (BODY_MAX + (size_t)1024 * 1024) /* one request, without the answer */
#define COOKIE "berth-open"
#define EVENTS STR("/api/v1/events")

typedef struct PageProxy PageProxy;

/* A forwarded request: in the list of the proxy from the server's worker until it is answered. */
typedef struct Relay {
    PageProxy *proxy;
    struct Relay *next;
    Arena *arena;              /* of the whole request */
    const char *method, *path; /* with the query */
    const char *content_type;  /* of the body; NULL: none */
    Str body;
    bool accepts_html;
    HttpPending *pending; /* NULL for an event stream */
    HttpStream *stream;   /* NULL for other requests */
    Call *call;           /* NULL: not sent yet, or done */

    unsigned status; /* of the answer */
    Buf answer;
    Str type, location; /* empty: none */
} Relay;

struct PageProxy {
    const BerthAccess *access;
    Server *server;
    char key[DIGEST_TEXT_MAX];
    char cookie[DIGEST_TEXT_MAX + 128]; /* the header that sets it */
    pthread_mutex_t lock;               /* guards the next two */
    Relay *first;
    size_t n;
};

/* --- forwarded requests ----------------------------------------------------------------------- */

static void relay_free(Relay *relay) {
    PageProxy *proxy = relay->proxy;

    (void)pthread_mutex_lock(&proxy->lock);
    for (Relay **at = &proxy->first; *at; at = &(*at)->next)
        if (*at == relay) {
            *at = relay->next;
            proxy->n--;
            break;
        }
    (void)pthread_mutex_unlock(&proxy->lock);
    buf_done(&relay->answer);
    (void)arena_free(relay->arena);
}

/* A copy of @request; NULL when out of memory. */
static Relay *relay_new(PageProxy *proxy, const HttpRequest *request) {
    Arena *arena = arena_new(RELAY_MAX);
    Relay *relay = arena ? ARENA_NEW(arena, Relay) : NULL;
    const char *mark = str_is_empty(request->query) ? "" : "?";

    if (relay)
        *relay = (Relay){
            .proxy = proxy,
            .arena = arena,
            .method = arena_copy(arena, request->method).ptr,
            .path = arena_printf(arena, "%s%.*s%s%.*s", proxy->access->proxy.path,
                STR_FMT(request->path), mark, STR_FMT(request->query))
                        .ptr,
            .content_type =
                request->body_size > 0 ? arena_copy(arena, request->content_type).ptr : NULL,
            .body = arena_copy(arena, request->body),
            .accepts_html = request->accepts_html,
            .answer = BUF_INIT(BERTH_CLIENT_REPLY_MAX),
        };
    if (relay && !arena_has_failed(arena))
        return relay;
    (void)arena_free(arena);
    return NULL;
}

/* --- replies ---------------------------------------------------------------------------------- */

/* Sets the body to @text, which is in @arena or static. */
static void set_body(HttpReply *reply, Arena *arena, unsigned status, Str text) {
    Str *slice = ARENA_NEW(arena, Str);

    reply->status = slice ? status : 500;
    reply->content_type = "text/plain; charset=utf-8";
    if (!slice)
        return;
    *slice = text;
    reply->slices = slice;
    reply->n_slices = text.ptr ? 1 : 0;
}

/* Removes the path that the API server puts in front of every link of a page. */
static Str without_prefix(Str text, Str prefix, Arena *arena) {
    char *out = ARENA_RAW(arena, char, text.len + 1);
    size_t n = 0, i = 0;

    if (!out)
        return STR_NULL;
    while (i < text.len) {
        if (text.ptr[i] == prefix.ptr[0] && str_has_prefix(str_skip(text, i), prefix))
            i += prefix.len;
        else
            out[n++] = text.ptr[i++];
    }
    return str_of(out, n);
}

/* Adds the headers of the dashboard, which the client drops, and the location of a redirect. */
static void add_headers(const Relay *relay, Arena *arena, HttpReply *reply) {
    size_t n_dashboard;
    const HttpHeader *dashboard = dashboard_headers(&n_dashboard);
    HttpHeader *headers = ARENA_ARRAY(arena, HttpHeader, n_dashboard + 2);
    Str prefix = str_from_c(relay->proxy->access->proxy.path);
    size_t n = 0;

    if (!headers)
        return;
    for (; n < n_dashboard; n++)
        headers[n] = dashboard[n];
    if (str_has_prefix(relay->location, prefix))
        headers[n++] =
            (HttpHeader){"Location", arena_copy(arena, str_skip(relay->location, prefix.len)).ptr};
    if (str_is(relay->type, "application/gzip"))
        headers[n++] =
            (HttpHeader){"Content-Disposition", "attachment; filename=berth-bundle.tar.gz"};
    reply->headers = headers;
    reply->n_headers = n;
}

static void fill(void *context, const HttpRequest *request, HttpReply *reply) {
    const Relay *relay = context;
    Str prefix = str_from_c(relay->proxy->access->proxy.path), answer = buf_str(&relay->answer);
    bool is_text = str_has_prefix(relay->type, STR("text/"));

    set_body(reply, request->arena, relay->status,
        str_is(relay->type, "text/html") ? without_prefix(answer, prefix, request->arena)
                                         : arena_copy(request->arena, answer));
    reply->content_type = arena_printf(
        request->arena, "%.*s%s", STR_FMT(relay->type), is_text ? "; charset=utf-8" : "")
                              .ptr;
    add_headers(relay, request->arena, reply);
}

/* --- the API server --------------------------------------------------------------------------- */

static void take_head(void *context, const CallHead *head) {
    Relay *relay = context;

    relay->status = head->status;
    relay->type = arena_copy(relay->arena, head->content_type);
    relay->location = arena_copy(relay->arena, head->location);
}

static bool take_data(void *context, Str bytes) {
    Relay *relay = context;

    if (relay->stream)
        return relay->status == 200 && stream_send(relay->stream, bytes);
    buf_append(&relay->answer, bytes);
    return !buf_error(&relay->answer);
}

static void answer(Relay *relay) {
    if (relay->stream)
        (void)stream_close(relay->stream);
    else
        (void)server_answer(relay->pending, fill, relay);
    relay_free(relay);
}

static void take_end(void *context, const CallResult *result) {
    Relay *relay = context;

    if (result->outcome != CALL_DONE) {
        relay->status = 502;
        relay->type = STR("text/plain");
        buf_reset(&relay->answer);
        buf_append(&relay->answer, str_from_c(result->error));
        buf_append_char(&relay->answer, '\n');
    }
    answer(relay);
}

static void forward(Relay *relay) {
    const BerthProxy *proxy = &relay->proxy->access->proxy;
    const Header headers[] = {
        {STR(BERTH_CLIENT_TOKEN_HEADER), str_from_c(proxy->token)},
        {STR("Accept"), relay->accepts_html ? STR("text/html") : STR("*/*")},
    };
    const CallOptions options = {
        .method = relay->method,
        .path = relay->path,
        .content_type = relay->content_type,
        .body = relay->body,
        .first_byte_sec = REPLY_SEC,
        .total_sec = relay->stream ? 0 : REPLY_SEC,
        .headers = headers,
        .n_headers = ELEMENTS_OF(headers),
    };
    const CallHandler handler = {
        .context = relay, .head = take_head, .data = take_data, .done = take_end};

    relay->call = client_call(proxy->client, &options, &handler);
    if (relay->call)
        return;
    relay->status = 500;
    answer(relay);
}

/* The next request that was not sent yet; NULL: none. */
static Relay *next_new(PageProxy *proxy) {
    Relay *relay;

    (void)pthread_mutex_lock(&proxy->lock);
    for (relay = proxy->first; relay && relay->call;)
        relay = relay->next;
    (void)pthread_mutex_unlock(&proxy->lock);
    return relay;
}

/* Forwards requests for about a quarter of a second. 0, or a negative errno. */
static int page_proxy_step(PageProxy *proxy) {
    Relay *relay;

    server_tick(proxy->server, clock_monotonic_nsec());
    while ((relay = next_new(proxy)))
        forward(relay);
    return client_wait(proxy->access->proxy.client, STEP_MSEC);
}

/* --- access ----------------------------------------------------------------------------------- */

static bool is_key(const PageProxy *proxy, Str text) {
    size_t len = sizeof(proxy->key) - 1;

    return text.len == len && gnutls_memcmp(text.ptr, proxy->key, len) == 0;
}

static bool has_cookie(const PageProxy *proxy, Str cookies) {
    Str one;

    while (str_split(&cookies, ';', &one)) {
        one = str_trim(one);
        if (str_has_prefix(one, STR(COOKIE "=")) &&
            is_key(proxy, str_skip(one, sizeof(COOKIE "=") - 1)))
            return true;
    }
    return false;
}

/* Whether no part of the path leads up, escaped or not: then it stays below berth's prefix. */
static bool is_path_safe(Str path) {
    Str part;

    if (str_contains_nocase(path, STR("%2e")) || str_contains_nocase(path, STR("%2f")) ||
        str_contains_nocase(path, STR("%5c")) || str_find(path, '\\') != SIZE_MAX)
        return false;
    while (str_split(&path, '/', &part))
        if (str_is(part, ".") || str_is(part, ".."))
            return false;
    return true;
}

/* Answers the URL that was printed: the key becomes a cookie, and leaves the address bar. */
static bool exchange_key(const PageProxy *proxy, const HttpRequest *request, HttpReply *reply) {
    HttpHeader *headers = ARENA_ARRAY(request->arena, HttpHeader, 2);

    if (!headers || !str_has_prefix(request->query, STR("key=")) ||
        !is_key(proxy, str_skip(request->query, 4)))
        return false;
    headers[0] = (HttpHeader){"Set-Cookie", proxy->cookie};
    headers[1] = (HttpHeader){"Location", "/"};
    set_body(reply, request->arena, 303, STR(""));
    reply->headers = headers;
    reply->n_headers = 2;
    return true;
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    const PageProxy *proxy = context;
    const char *refusal = NULL;

    if (!str_is(request->method, "GET") && !str_is(request->method, "POST"))
        refusal = "berth open: only GET and POST\n";
    else if (request->is_misaddressed)
        refusal = "berth open: only for localhost\n";
    else if (request->has_origin && !request->is_same_origin)
        refusal = "berth open: the request comes from another site\n";
    else if (!is_path_safe(request->path))
        refusal = "berth open: such a path could lead out of berth\n";
    else if (!has_cookie(proxy, request->cookie) && !str_has_prefix(request->query, STR("key=")))
        refusal = "berth open: use the URL that it printed, with its key\n";
    if (!refusal)
        return true;
    set_body(reply, request->arena, 403, str_from_c(refusal));
    return false;
}

static void refuse_busy(const HttpRequest *request, HttpReply *reply, Relay *relay) {
    set_body(reply, request->arena, 503, STR("berth open: too many requests at once\n"));
    if (relay)
        relay_free(relay);
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    PageProxy *proxy = context;
    Relay *relay;
    bool is_full;

    if (exchange_key(proxy, request, reply))
        return;
    if (!has_cookie(proxy, request->cookie)) {
        set_body(reply, request->arena, 403, STR("berth open: the key is another one now\n"));
        return;
    }
    relay = relay_new(proxy, request);
    (void)pthread_mutex_lock(&proxy->lock);
    is_full = proxy->n >= PAGE_PROXY_REQUESTS_MAX;
    (void)pthread_mutex_unlock(&proxy->lock);
    if (!relay || is_full) {
        refuse_busy(request, reply, relay);
        return;
    }
    if (str_eq(request->path, EVENTS))
        relay->stream = server_stream(request, 0);
    else
        relay->pending = server_defer(request, 0);
    if (!relay->stream && !relay->pending) {
        refuse_busy(request, reply, relay);
        return;
    }
    (void)pthread_mutex_lock(&proxy->lock);
    relay->next = proxy->first;
    proxy->first = relay;
    proxy->n++;
    (void)pthread_mutex_unlock(&proxy->lock);
    client_wake(proxy->access->proxy.client);
}

static volatile sig_atomic_t is_over;

static void stop(int number) {
    is_over = 1;
}

/* The time of its last decision, in nanoseconds since 1970; 0: none, or no reply. */
static int64_t last_decision(const BerthAccess *access, Arena *arena) {
    char error[BERTH_CLIENT_ERROR_MAX];
    ApiPage page = {0};
    Str text = STR_NULL;
    JsonReader reader;

    if (!berth_client_get(access, STR("/api/v1/decisions?limit=1"), arena, &text, error))
        return 0;
    json_reader_init(&reader, text);
    api_page_decode(&reader, arena, &page);
    return json_error(&reader) == JSON_OK ? api_decision_time(&page.decision) : 0;
}

static size_t find_busiest(const Replicas *replicas, Arena *arena) {
    int64_t newest = -1;
    size_t at = 0;

    for (size_t i = 0; replicas->n > 1 && i < replicas->n; i++) {
        int64_t last = last_decision(&replicas->items[i], arena);

        if (last > newest) {
            newest = last;
            at = i;
        }
    }
    return at;
}

static size_t choose(const Settings *settings, const Replicas *replicas, Arena *arena) {
    if (!replicas->is_cluster)
        terminal_fail(
            "this command is for a berth in a cluster; this server has its dashboard at %s",
            replicas->names[0]);
    if (!settings->replica)
        return find_busiest(replicas, arena);
    for (size_t i = 0; i < replicas->n; i++)
        if (strcmp(replicas->names[i], settings->replica) == 0)
            return i;
    terminal_fail(
        "there is no replica %s; `%s status` lists them", settings->replica, program_name);
}

static void print_address(const Replicas *replicas, size_t chosen, const PageProxy *proxy) {
    char url[SERVER_URL_MAX];

    (void)printf("dashboard of %s\n  %s/?key=%s\n", replicas->items[chosen].server,
        server_url(proxy->server, url), proxy->key);
    for (size_t i = 0; i < replicas->n; i++)
        if (i != chosen)
            (void)printf("another replica: --replica %s\n", replicas->names[i]);
    (void)printf("Ctrl-C ends it.\n");
    (void)fflush(stdout);
}

static void make_key(PageProxy *proxy) {
    Digest random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        terminal_fail("the system gives no random bytes: %s", strerror(errno));
    (void)digest_print(random, proxy->key);
    (void)snprintf(proxy->cookie, sizeof(proxy->cookie),
        COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict", proxy->key);
}

static void serve(const Settings *settings, const Replicas *replicas, size_t chosen) {
    PageProxy proxy = {.access = &replicas->items[chosen], .lock = PTHREAD_MUTEX_INITIALIZER};
    const struct sigaction action = {.sa_handler = stop};
    ServerOptions options = server_default_options();
    int r;

    make_key(&proxy);
    options.address = ADDRESS;
    options.port = (uint16_t)settings->port;
    options.n_workers = WORKERS;
    options.body_max = BODY_MAX;
    r = server_new(&options,
        &(ServerCallbacks){.context = &proxy, .admit = admit, .handle = handle}, &proxy.server);
    if (r < 0)
        terminal_fail("cannot listen on 127.0.0.1, port %d: %s", (int)settings->port, strerror(-r));
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    print_address(replicas, chosen, &proxy);
    while (!is_over && r == 0)
        r = page_proxy_step(&proxy);
    (void)terminal_check(r, "the requests", NULL);
    server_free(proxy.server);
    while (proxy.first) {
        call_cancel(proxy.first->call);
        answer(proxy.first);
    }
    explicit_bzero(&proxy, sizeof(proxy));
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(replicas_done) Replicas replicas = {0};
    Settings *settings = context;

    replicas_open(&settings->source, &replicas);
    serve(settings, &replicas, choose(settings, &replicas, arguments->arena));
    return EXIT_FINE;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"port", OPTION_NUMBER, .argument = "PORT", AT(port), .min = 0, .max = UINT16_MAX,
        .initial = "0: the system picks one", .help = "port on 127.0.0.1"},
    {"replica", OPTION_TEXT, .argument = "POD", AT(replica), .initial = "the one that decided last",
        .help = "whose dashboard; each replica shows its own decisions"},

    OPTION_GROUP("The cluster"),
    CLUSTER_SOURCE_LIVE_OPTIONS(Settings, source.cluster),
    SERVER_SOURCE_NAMESPACE_OPTION(Settings, source),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return server_source_check(&((Settings *)context)->source);
}

const Command open_command = {
    .name = "open",
    .summary = "show the dashboard of a berth in a cluster",
    .usage = "[OPTIONS]",
    .about = "Serves the dashboard of a berth in a cluster on a port of this machine, through the "
             "API server: a kubeconfig is enough. Open the URL that it prints in a browser. The "
             "port is on 127.0.0.1, and answers only browsers that were given the URL, which has a "
             "random key.",
    .options = options,
    .budget = (size_t)64 * 1024 * 1024,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.source.prefers_cluster = true},
    .check = check,
    .run = run,
};
