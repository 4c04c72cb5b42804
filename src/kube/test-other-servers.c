/* access_for_server(), and calls to servers other than the API server. */

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buf.h"
#include "base/test-folder.h"
#include "kube/client.h"
#include "kube/test-pairs.h"
#include "kube/test-server.h"

/* --- a server --- */

typedef struct ServerState {
    atomic_uint n_requests;
    const char *authorization; /* the required Authorization header; NULL: any */
} ServerState;

static const struct {
    const char *path, *bytes;
} scripts[] = {
    {"/moved", "HTTP/1.1 302 Found\r\nLocation:  /else?x=1 \r\nContent-Length: 0\r\n\r\n"},
    {"/away", "HTTP/1.1 307 No\r\nlocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"},
    {"/interim",
        "HTTP/1.1 103 Early\r\nLocation: /no\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
    {"/date",
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n"},
    {"/bad-date", "HTTP/1.1 200 OK\r\nDate: yesterday\r\nContent-Length: 0\r\n\r\n"},
    {"/long-date",
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT "
        "                                                      GMT\r\nContent-Length: 0\r\n\r\n"},
};

static void send_long_location(TestPeer *peer, size_t n) {
    _cleanup_(buf_done) Buf out = BUF_INIT((size_t)1 << 20);

    buf_append(&out, STR("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /"));
    buf_append_repeat(&out, 'a', n - 1);
    buf_append(&out, STR("\r\n\r\n"));
    test_send(peer, buf_str(&out));
}

static void echo(TestPeer *peer, const TestRequest *request) {
    static const char *const names[] = {"Host", "Authorization", "X-Scope-OrgID", "X-Two"};
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);

    buf_printf(&out, "%.*s %.*s\n", STR_FMT(request->method), STR_FMT(request->path));
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (test_header(request, names[i]).len > 0)
            buf_printf(&out, "%s: %.*s\n", names[i], STR_FMT(test_header(request, names[i])));
    test_answer(peer, "200 OK", "", buf_str(&out));
}

static bool answer(void *context, TestPeer *peer, const TestRequest *request) {
    ServerState *state = context;

    atomic_fetch_add(&state->n_requests, 1);
    for (size_t i = 0; i < ELEMENTS_OF(scripts); i++)
        if (str_is(request->path, scripts[i].path)) {
            test_send(peer, str_from_c(scripts[i].bytes));
            return true;
        }
    if (str_is(request->path, "/longest"))
        send_long_location(peer, CLIENT_LOCATION_MAX);
    else if (str_is(request->path, "/too-long"))
        send_long_location(peer, CLIENT_LOCATION_MAX + 1);
    else if (state->authorization &&
             !str_is(test_header(request, "Authorization"), state->authorization))
        test_answer(peer, "401 Unauthorized", "", STR("who?"));
    else
        echo(peer, request);
    return true;
}

/* --- a client of it --- */

typedef struct Setup {
    Folder folder;
    char paths[8][512];
    size_t n_paths;
    ServerState state;
    TestServer *server;
    char url[128];
    Access *access;
    Client *client;
} Setup;

static void setup_init(Setup *setup, const TestPair *pair, const TestPair *client_ca) {
    *setup = (Setup){0};
    folder_init(&setup->folder);
    setup->server = test_server_new(&(TestServerOptions){
        .handler = answer, .context = &setup->state, .pair = pair, .client_ca = client_ca});
    (void)snprintf(setup->url, sizeof(setup->url), "%s://127.0.0.1:%u", pair ? "https" : "http",
        test_server_port(setup->server));
}

static void setup_done(Setup *setup) {
    client_free(setup->client);
    access_free(setup->access);
    test_server_free(setup->server);
    folder_done(&setup->folder);
}

/* A path that stays valid until setup_done(). */
static const char *path_of(Setup *setup, const char *name) {
    char *path = setup->paths[setup->n_paths++];

    assert_true(setup->n_paths <= ELEMENTS_OF(setup->paths));
    (void)snprintf(path, sizeof(setup->paths[0]), "%s", folder_path(&setup->folder, name));
    return path;
}

static const char *write_file(Setup *setup, const char *name, const char *text) {
    (void)folder_replace(&setup->folder, name, text);
    return path_of(setup, name);
}

static const char *write_certificate(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_certificate(pair);
    const char *path = write_file(setup, name, pem);

    free(pem);
    return path;
}

static const char *write_key(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_key(pair);
    const char *path = write_file(setup, name, pem);

    free(pem);
    return path;
}

/* Sets the name of @server, and its URL if it has none. */
static void open_client(Setup *setup, AccessServer server) {
    char error[ACCESS_ERROR_MAX] = "";

    server.name = "source default";
    server.url = server.url ? server.url : setup->url;
    if (access_for_server(&server, &setup->access, error) < 0)
        fail_msg("%s", error);
    setup->client = client_new(setup->access);
    assert_non_null(setup->client);
}

typedef struct CallRecord {
    bool is_done;
    CallOutcome outcome;
    unsigned status;
    char location[256];
    size_t location_len;
    int64_t date_sec;
    char body[1024];
    size_t n_body;
    char error[CLIENT_ERROR_MAX];
} CallRecord;

static void on_head(void *context, const CallHead *head) {
    CallRecord *record = context;

    (void)snprintf(record->location, sizeof(record->location), "%.*s", STR_FMT(head->location));
    record->location_len = head->location.len;
    record->date_sec = head->date_sec;
}

static bool on_data(void *context, Str bytes) {
    CallRecord *record = context;

    assert_true(record->n_body + bytes.len < sizeof(record->body));
    memcpy(record->body + record->n_body, bytes.ptr, bytes.len);
    record->n_body += bytes.len;
    return true;
}

static void on_done(void *context, const CallResult *result) {
    CallRecord *record = context;

    record->is_done = true;
    record->outcome = result->outcome;
    record->status = result->status;
    if (result->error)
        (void)snprintf(record->error, sizeof(record->error), "%s", result->error);
}

static CallRecord ask(Setup *setup, CallOptions options) {
    CallRecord record = {0};

    options.method = "GET";
    assert_non_null(client_call(setup->client, &options,
        &(CallHandler){.context = &record, .head = on_head, .data = on_data, .done = on_done}));
    for (int i = 0; i < 200 && !record.is_done; i++)
        assert_int_equal(client_wait(setup->client, 100), 0);
    assert_true(record.is_done);
    return record;
}

static CallRecord get(Setup *setup, const char *path) {
    return ask(setup, (CallOptions){.path = path});
}

#define assert_says(record, part)                                                                  \
    do {                                                                                           \
        if (!strstr((record).error, (part)))                                                       \
            fail_msg("\"%s\" is not in \"%s\"", (part), (record).error);                           \
    } while (0)

/* --- heads --- */

static void test_reads_location_and_date(void **state) {
    static const struct {
        const char *path;
        unsigned status;
        const char *location;
        int64_t date_sec;
    } cases[] = {
        {"/moved", 302, "/else?x=1", 0},
        {"/away", 307, "http://elsewhere/", 0},
        {"/interim", 200, "", 0},
        {"/date", 200, "", 784111777},
        {"/bad-date", 200, "", 0},
        {"/long-date", 200, "", 0},
        {"/too-long", 302, "", 0},
        {"/echo", 200, "", 0},
    };
    Setup setup;
    CallRecord record;

    (void)state;
    setup_init(&setup, NULL, NULL);
    open_client(&setup, (AccessServer){.is_direct = true});
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        record = get(&setup, cases[i].path);
        assert_case(cases[i].path, record.outcome == CALL_DONE && record.status == cases[i].status);
        assert_text(cases[i].path, str_from_c(record.location), cases[i].location);
        assert_case(cases[i].path, record.date_sec == cases[i].date_sec);
    }
    record = get(&setup, "/longest");
    assert_int_equal(record.location_len, CLIENT_LOCATION_MAX);
    assert_int_equal(atomic_load(&setup.state.n_requests),
        ELEMENTS_OF(cases) + 1); /* no redirect was followed */
    setup_done(&setup);
}

static void test_paths_are_relative_to_the_url_or_its_root(void **state) {
    static const struct {
        const char *tail, *path;
        bool is_from_root;
        const char *says;
    } cases[] = {
        {"", "/api/v1/query", false, "GET /api/v1/query\n"},
        {"/", "/api/v1/query", false, "GET /api/v1/query\n"},
        {"/prometheus//", "/api/v1/query", false, "GET /prometheus/api/v1/query\n"},
        {"/prometheus", "/else?a=b", true, "GET /else?a=b\n"},
        {"", "/else", true, "GET /else\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char url[256];
        Setup setup;
        CallRecord record;

        setup_init(&setup, NULL, NULL);
        (void)snprintf(url, sizeof(url), "%s%s", setup.url, cases[i].tail);
        open_client(&setup, (AccessServer){.url = url});
        record = ask(
            &setup, (CallOptions){.path = cases[i].path, .is_from_root = cases[i].is_from_root});
        assert_case(cases[i].tail, record.outcome == CALL_DONE);
        assert_text(
            cases[i].tail, str_take(str_from_c(record.body), strlen(cases[i].says)), cases[i].says);
        setup_done(&setup);
    }
}

/* --- addresses --- */

static unsigned n_checked;

static const char *refuse_loopback(const void *address, size_t len) {
    struct sockaddr_in v4;

    n_checked++;
    assert_int_equal(len, sizeof(v4));
    memcpy(&v4, address, sizeof(v4));
    assert_int_equal(v4.sin_family, AF_INET);
    return v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK) ? "(refused by the test)" : NULL;
}

static const char *refuse_nothing(const void *address, size_t len) {
    (void)address;
    (void)len;
    n_checked++;
    return NULL;
}

static void test_refused_addresses_are_not_connected_to(void **state) {
    Setup setup;
    CallRecord record;

    (void)state;
    n_checked = 0;
    setup_init(&setup, NULL, NULL);
    open_client(&setup, (AccessServer){.refusal = refuse_loopback});
    record = get(&setup, "/echo");
    assert_int_equal(record.outcome, CALL_REFUSED);
    assert_int_equal(record.status, 0);
    assert_says(record, ": refused to connect to 127.0.0.1 (refused by the test)");
    assert_int_equal(n_checked, 1);
    record = get(&setup, "/echo");
    assert_int_equal(record.outcome, CALL_REFUSED); /* each time */
    assert_int_equal(test_server_connections(setup.server), 0);
    setup_done(&setup);

    n_checked = 0;
    setup_init(&setup, NULL, NULL);
    open_client(&setup, (AccessServer){.refusal = refuse_nothing});
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(&setup, "/echo").outcome, CALL_DONE);
    assert_int_equal(n_checked, 1); /* the connection was kept */
    setup_done(&setup);
}

/* --- proxies, headers --- */

static bool count(void *context, TestPeer *peer, const TestRequest *request) {
    (void)request;
    atomic_fetch_add((atomic_uint *)context, 1);
    test_answer(peer, "200 OK", "", STR("from the proxy"));
    return true;
}

static void test_direct_access_ignores_proxies(void **state) {
    atomic_uint n_proxied = 0;
    TestServer *proxy =
        test_server_new(&(TestServerOptions){.handler = count, .context = &n_proxied});
    char url[64], at[64];

    (void)state;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", test_server_port(proxy));
    assert_int_equal(setenv("HTTP_PROXY", url, 1), 0);
    assert_int_equal(setenv("http_proxy", url, 1), 0);
    assert_int_equal(setenv("ALL_PROXY", url, 1), 0);
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        Setup setup;
        CallRecord record;

        setup_init(&setup, NULL, NULL);
        /* Addresses of this machine never use a proxy. */
        (void)snprintf(at, sizeof(at), "http://0.0.0.0:%u", test_server_port(setup.server));
        open_client(&setup, (AccessServer){.url = at, .is_direct = is_direct});
        record = get(&setup, "/echo");
        assert_int_equal(record.outcome, CALL_DONE);
        assert_int_equal(atomic_load(&setup.state.n_requests), is_direct);
        setup_done(&setup);
    }
    assert_int_equal(atomic_load(&n_proxied), 1);
    assert_int_equal(unsetenv("HTTP_PROXY"), 0);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("ALL_PROXY"), 0);
    test_server_free(proxy);
}

static void test_sends_headers_of_the_server(void **state) {
    static const Header headers[] = {
        {STR("X-Scope-OrgID"), STR("tenant-1")}, {STR("X-Two"), STR("a: b")}};
    Setup setup;
    CallRecord record;
    char want[256];

    (void)state;
    setup_init(&setup, NULL, NULL);
    open_client(&setup, (AccessServer){.headers = headers, .n_headers = ELEMENTS_OF(headers)});
    record = get(&setup, "/echo");
    (void)snprintf(want, sizeof(want),
        "GET /echo\nHost: 127.0.0.1:%u\nX-Scope-OrgID: tenant-1\nX-Two: a: b\n",
        test_server_port(setup.server));
    assert_text("headers", str_from_c(record.body), want);
    setup_done(&setup);
}

/* --- TLS --- */

static void test_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *server, *ca; /* NULL: the system's */
        const char *server_name;
        bool is_insecure;
        const char *says; /* NULL: it works */
    } cases[] = {
        {"good", &loopback, &ca, NULL, false, NULL},
        {"another CA", &loopback, &other_ca, NULL, false,
            "its certificate is not signed by the CA of source default"},
        {"the system's CAs", &loopback, NULL, NULL, false,
            "its certificate is not signed by a CA of this system"},
        {"expired", &expired, &ca, NULL, false, "its certificate has expired"},
        {"early", &early, &ca, NULL, false, "its certificate is not valid yet"},
        {"another name", &named, &ca, NULL, false,
            "its certificate does not have the name 127.0.0.1"},
        {"by its name", &named, &ca, "named.example", false, NULL},
        {"by a wrong name", &loopback, &ca, "named.example", false,
            "does not have the name named.example"},
        {"not verified", &expired, NULL, NULL, true, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Setup setup;
        CallRecord record;

        setup_init(&setup, cases[i].server, NULL);
        open_client(&setup,
            (AccessServer){
                .ca_file = cases[i].ca ? write_certificate(&setup, "ca.pem", cases[i].ca) : NULL,
                .server_name = cases[i].server_name,
                .is_insecure = cases[i].is_insecure,
                .token_file = write_file(&setup, "token", "opensesame"),
            });
        assert_int_equal(access_is_insecure(setup.access), cases[i].is_insecure);
        record = get(&setup, "/echo");
        assert_case(cases[i].name, record.outcome == (cases[i].says ? CALL_REFUSED : CALL_DONE));
        if (cases[i].says)
            assert_says(record, cases[i].says);
        assert_null(strstr(record.error, "opensesame"));
        assert_int_equal(atomic_load(&setup.state.n_requests), !cases[i].says);
        setup_done(&setup);
    }
}

/* A server that closes the connection may do so before its TLS alert is read. */
static bool is_ended(const CallRecord *record) {
    return record->outcome == CALL_BROKEN && strstr(record->error, "connection");
}

static void test_client_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *certificate, *key; /* NULL: none */
        const char *says;
    } cases[] = {
        {"good", &client_pair, &client_pair, NULL},
        {"none", NULL, NULL, "it ended the TLS handshake"},
        {"of another CA", &other_client, &other_client,
            "it may not accept the client certificate of source default"},
        {"another key", &client_pair, &other_client,
            "the client certificate and key of source default"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const TestPair *pair = cases[i].certificate;
        Setup setup;
        CallRecord record;

        setup_init(&setup, &loopback, &ca);
        open_client(&setup, (AccessServer){
                                .ca_file = write_certificate(&setup, "ca.pem", &ca),
                                .cert_file = pair ? write_certificate(&setup, "c.pem", pair) : NULL,
                                .key_file = pair ? write_key(&setup, "k.pem", cases[i].key) : NULL,
                            });
        record = get(&setup, "/echo");
        if (!cases[i].says)
            assert_case(cases[i].name, record.outcome == CALL_DONE);
        else if (!is_ended(&record)) {
            assert_case(cases[i].name, record.outcome == CALL_REFUSED);
            assert_says(record, cases[i].says);
        }
        assert_int_equal(atomic_load(&setup.state.n_requests), !cases[i].says);
        setup_done(&setup);
    }
}

/* --- credentials --- */

/* Sent over plain HTTP, too, which Prometheus in a cluster often uses. */
static void test_sends_credentials_over_plain_http(void **state) {
    static const struct {
        const char *name, *token, *user, *password, *want;
    } cases[] = {
        {"none", NULL, NULL, NULL, ""},
        {"token", "abc\n", NULL, NULL, "Authorization: Bearer abc\n"},
        {"basic", NULL, "jane", "pa:ss\n", "Authorization: Basic amFuZTpwYTpzcw==\n"},
        {"basic with blanks", NULL, "jane", "two words",
            "Authorization: Basic amFuZTp0d28gd29yZHM=\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *token = cases[i].token, *password = cases[i].password;
        char want[256];
        Setup setup;
        CallRecord record;

        setup_init(&setup, NULL, NULL);
        open_client(
            &setup, (AccessServer){
                        .token_file = token ? write_file(&setup, "token", token) : NULL,
                        .user = cases[i].user,
                        .password_file = password ? write_file(&setup, "password", password) : NULL,
                    });
        assert_string_equal(access_origin(setup.access), "source default");
        record = get(&setup, "/echo");
        (void)snprintf(want, sizeof(want), "GET /echo\nHost: 127.0.0.1:%u\n%s",
            test_server_port(setup.server), cases[i].want);
        assert_text(cases[i].name, str_from_c(record.body), want);
        setup_done(&setup);
    }
}

static void test_replaced_secret_is_used_after_a_401(void **state) {
    static const struct {
        const char *name, *user, *first, *second;
    } cases[] = {
        {"token", NULL, "Bearer old", "Bearer new"},
        {"password", "u", "Basic dTpvbGQ=", "Basic dTpuZXc="},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *user = cases[i].user, *path;
        Setup setup;
        CallRecord record;

        setup_init(&setup, NULL, NULL);
        setup.state.authorization = cases[i].first;
        path = write_file(&setup, "secret", "old\n");
        open_client(&setup, (AccessServer){
                                .token_file = user ? NULL : path,
                                .user = user,
                                .password_file = user ? path : NULL,
                            });
        assert_int_equal(get(&setup, "/x").outcome, CALL_DONE);

        setup.state.authorization = cases[i].second;
        (void)write_file(&setup, "secret", "new\n");
        record = get(&setup, "/x");
        assert_case(cases[i].name, record.outcome == CALL_DONE);

        /* An unusable file changes nothing. */
        (void)write_file(&setup, "secret", "");
        (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 50000000}, NULL);
        assert_case(cases[i].name, get(&setup, "/x").outcome == CALL_DONE);

        setup.state.authorization = "nobody";
        (void)write_file(&setup, "secret", "newer\n");
        record = get(&setup, "/x");
        assert_case(cases[i].name, record.outcome == CALL_UNAUTHORIZED && record.status == 401);
        assert_says(record, "it does not accept the credentials of source default (401");
        assert_null(strstr(record.error, "newer"));
        setup_done(&setup);
    }
}

/* Without them nothing is sent. */
static void test_files_may_appear_later(void **state) {
    Setup setup;
    CallRecord record;

    (void)state;
    setup_init(&setup, NULL, NULL);
    setup.state.authorization = "Bearer abc";
    open_client(&setup, (AccessServer){.token_file = path_of(&setup, "token")});
    for (int i = 0; i < 3; i++) {
        record = get(&setup, "/x");
        assert_int_equal(record.outcome, CALL_UNAUTHORIZED);
        assert_int_equal(record.status, 0);
        assert_says(record, "source default: /tmp/");
        assert_says(record, "/token: No such file or directory");
    }
    assert_int_equal(atomic_load(&setup.state.n_requests), 0);
    (void)write_file(&setup, "token", "abc");
    assert_int_equal(get(&setup, "/x").outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_unusable_password_files_are_errors(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "secret: is empty"},
        {" \n", "secret: is empty"},
        {"one\ntwo\n", "secret: is no password: it has several lines"},
        {"bell\a", "secret: is no password: it has several lines"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Setup setup;
        CallRecord record;

        setup_init(&setup, NULL, NULL);
        open_client(&setup, (AccessServer){.user = "u",
                                .password_file = write_file(&setup, "secret", cases[i].text)});
        record = get(&setup, "/x");
        assert_int_equal(record.outcome, CALL_UNAUTHORIZED);
        assert_says(record, cases[i].says);
        setup_done(&setup);
    }
}

/* --- invalid servers ---------- */

static const Header bad_header[] = {{STR("Host"), STR("evil")}};
static const Header many_headers[ACCESS_HEADERS_MAX + 1];

static void test_invalid_servers_are_errors(void **state) {
    static const struct {
        AccessServer server;
        const char *says;
    } cases[] = {
        {{.url = "prometheus:9090"}, "source x: the URL must begin with https:// (or http://)"},
        {{.url = "http://u:p@h"}, "source x: the URL has a user in it"},
        {{.url = "http://h", .token_file = "t", .user = "u", .password_file = "p"},
            "source x: there are a token and a user, and only one of them can be sent"},
        {{.url = "http://h", .user = "u"},
            "source x: a user and a password file are needed, both or neither"},
        {{.url = "http://h", .password_file = "p"},
            "source x: a user and a password file are needed, both or neither"},
        {{.url = "http://h", .user = "a:b", .password_file = "p"},
            "source x: the name of the user is empty, or has a ':' in it, which basic "
            "authentication cannot encode"},
        {{.url = "https://h", .cert_file = "c"},
            "source x: a client certificate and its key are needed, both or neither"},
        {{.url = "https://h", .key_file = "k"},
            "source x: a client certificate and its key are needed, both or neither"},
        {{.url = "https://h", .ca_file = "c", .is_insecure = true},
            "source x: there is a CA, and the certificate is not to be verified; remove one"},
        {{.url = "https://h", .server_name = "a/b"}, "source x: the server's name is no host name"},
        {{.url = "http://h", .headers = bad_header, .n_headers = 1},
            "source x: the header \"Host\" is set by berth itself"},
        {{.url = "http://h", .headers = many_headers, .n_headers = ELEMENTS_OF(many_headers)},
            "source x: there are more than 16 headers"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        AccessServer server = cases[i].server;
        char error[ACCESS_ERROR_MAX] = "";
        Access *access = NULL;

        server.name = "source x";
        assert_case(cases[i].says, access_for_server(&server, &access, error) == -EINVAL);
        assert_null(access);
        assert_text("message", str_from_c(error), cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_location_and_date),
        cmocka_unit_test(test_paths_are_relative_to_the_url_or_its_root),
        cmocka_unit_test(test_refused_addresses_are_not_connected_to),
        cmocka_unit_test(test_direct_access_ignores_proxies),
        cmocka_unit_test(test_sends_headers_of_the_server),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_client_certificates),
        cmocka_unit_test(test_sends_credentials_over_plain_http),
        cmocka_unit_test(test_replaced_secret_is_used_after_a_401),
        cmocka_unit_test(test_files_may_appear_later),
        cmocka_unit_test(test_unusable_password_files_are_errors),
        cmocka_unit_test(test_invalid_servers_are_errors),
    };

    return cmocka_run_group_tests(tests, make_pairs, drop_pairs);
}
