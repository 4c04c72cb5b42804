/* Certificates of servers and clients, identities, 401, proxies. */

#include <netdb.h>
#include <stdatomic.h>

#include "base/base64.h"
#include "kube/client.h"
#include "kube/test-client-scene.h"
#include "kube/test-pairs.h"

/* --- TLS --- */

static unsigned n_trusted_folders;

/* Replaces GnuTLS's function: counts whether libcurl also trusts the system's folder of CAs. */
int gnutls_certificate_set_x509_trust_dir(
    gnutls_certificate_credentials_t credentials, const char *path, gnutls_x509_crt_fmt_t format) {
    n_trusted_folders++;
    return 0;
}

static void write_certificate(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_certificate(pair);

    (void)folder_replace(&setup->folder, name, pem);
    free(pem);
}

static void write_key(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_key(pair);

    (void)folder_replace(&setup->folder, name, pem);
    free(pem);
}

/* A server with a valid certificate. */
static void setup_init_tls(Setup *setup, const char *user) {
    setup_init(setup, &loopback, NULL, user);
    write_certificate(setup, "ca.pem", &ca);
}

#define BY_FILE "certificate-authority: ca.pem"

static void test_server_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *server, *ca;
        const char *cluster;
        CallOutcome outcome;
        const char *says;
    } cases[] = {
        {"good", &loopback, &ca, BY_FILE, CALL_DONE, NULL},
        {"another CA", &loopback, &other_ca, BY_FILE, CALL_REFUSED,
            "its certificate is not signed by the CA of context c of /tmp/"},
        {"the system's CAs", &loopback, &ca, "", CALL_REFUSED,
            "its certificate is not signed by a CA of this system"},
        {"another name", &named, &ca, BY_FILE, CALL_REFUSED,
            "its certificate does not have the name 127.0.0.1"},
        {"expired", &expired, &ca, BY_FILE, CALL_REFUSED, "its certificate has expired"},
        {"early", &early, &ca, BY_FILE, CALL_REFUSED, "its certificate is not valid yet"},
        {"not verified", &named, &ca, "insecure-skip-tls-verify: true", CALL_DONE, NULL},
        {"a name of its own", &named, &ca, BY_FILE ", tls-server-name: named.example", CALL_DONE,
            NULL},
        {"a wrong name of its own", &loopback, &ca, BY_FILE ", tls-server-name: named.example",
            CALL_REFUSED, "does not have the name named.example"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(record_done) CallRecord record = {0};
        char host[64];
        Setup setup;

        setup_init(&setup, cases[i].server, NULL, "");
        write_certificate(&setup, "ca.pem", cases[i].ca);
        write_config(
            &setup, "https", test_server_port(setup.server), cases[i].cluster, "token: opensesame");
        open_client(&setup);
        n_trusted_folders = 0;
        get(setup.client, &record, "/echo");
        if (record.result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].name, record.error);
        if (cases[i].says && !strstr(record.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].name, cases[i].says, record.error);
        assert_null(strstr(record.error, "opensesame"));
        if (strstr(cases[i].cluster, BY_FILE))
            assert_case(cases[i].name, n_trusted_folders == 0);
        else if (!strstr(cases[i].cluster, "insecure"))
            assert_case(cases[i].name,
                n_trusted_folders > 0 || strstr(record.error, "of this system, which has none"));
        if (cases[i].outcome == CALL_DONE) {
            (void)snprintf(
                host, sizeof(host), "Host: 127.0.0.1:%u\n", test_server_port(setup.server));
            buf_append_char(&record.body, '\0');
            assert_non_null(strstr(record.body.data, host));
            assert_non_null(strstr(record.body.data, "Authorization: Bearer opensesame\n"));
        }
        setup_done(&setup);
    }
}

/* It has PEM lines without a certificate. */
static void test_unusable_ca_is_refused(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "");
    (void)folder_replace(
        &setup.folder, "ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    open_client(&setup);
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_non_null(strstr(record.error, ": the CA of context c of /tmp/"));
    assert_non_null(strstr(record.error, " cannot be used"));
    setup_done(&setup);
}

static void test_old_tls_versions_are_refused(void **state) {
    static const struct {
        const char *priorities;
        CallOutcome outcome;
    } cases[] = {
        {"NORMAL:-VERS-ALL:+VERS-TLS1.1", CALL_REFUSED},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.2", CALL_DONE},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.3", CALL_DONE},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(record_done) CallRecord record = {0};
        Setup setup;

        setup_init(&setup, &loopback, NULL, "");
        test_server_free(setup.server);
        setup.server = test_server_new(&(TestServerOptions){.handler = answer,
            .context = &setup.state,
            .pair = &loopback,
            .priorities = cases[i].priorities});
        write_certificate(&setup, "ca.pem", &ca);
        write_config(&setup, "https", test_server_port(setup.server), BY_FILE, "");
        open_client(&setup);
        get(setup.client, &record, "/echo");
        assert_case(cases[i].priorities, record.result.outcome == cases[i].outcome);
        setup_done(&setup);
    }
}

static void test_client_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *certificate, *key;
        CallOutcome outcome;
        const char *says;
    } cases[] = {
        {"good", &client_pair, &client_pair, CALL_DONE, NULL},
        {"of another CA", &other_client, &other_client, CALL_REFUSED,
            "it may not accept the client certificate of context c of /tmp/"},
        {"another key", &client_pair, &other_client, CALL_REFUSED,
            "the client certificate and key of context c of /tmp/"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(record_done) CallRecord record = {0};
        Setup setup;

        setup_init(&setup, &loopback, &ca, "client-certificate: c.pem, client-key: k.pem");
        write_certificate(&setup, "ca.pem", &ca);
        write_certificate(&setup, "c.pem", cases[i].certificate);
        write_key(&setup, "k.pem", cases[i].key);
        open_client(&setup);
        get(setup.client, &record, "/echo");
        if (record.result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].name, record.error);
        if (cases[i].says && !strstr(record.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].name, cases[i].says, record.error);
        setup_done(&setup);
    }
}

static void test_new_credentials_use_new_connections(void **state) {
    static const char *const want[] = {"1", "1", "2", "2", "3", "3", "4", "4"};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "tokenFile: token");
    write_config(&setup, /* so libcurl itself would reuse the connections */
        "https", test_server_port(setup.server), "insecure-skip-tls-verify: true",
        "tokenFile: token");
    (void)folder_replace(&setup.folder, "token", "one");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        _cleanup_(record_done) CallRecord record = {0};

        if (i > 0 && i % 2 == 0) {
            char token[16];

            (void)snprintf(token, sizeof(token), "token-%zu", i);
            (void)folder_replace(&setup.folder, "token", token);
            access_reject(setup.access); /* read the file at once */
        }
        get(setup.client, &record, "/number");
        assert_text("connection", buf_str(&record.body), want[i]);
    }
    setup_done(&setup);
}

/* --- 401 --- */

static void test_rejected_credentials_are_not_sent_again(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "token: wrong");
    (void)snprintf(setup.state.authorization, sizeof(setup.state.authorization), "Bearer right");
    open_client(&setup);
    get(setup.client, &record, "/auth");
    assert_int_equal(record.result.outcome, CALL_UNAUTHORIZED);
    assert_int_equal(record.result.status, 401);
    assert_int_equal(record.n_heads + record.n_data, 0);
    assert_int_equal(atomic_load(&setup.state.n_requests), 1); /* there are no newer credentials */
    assert_non_null(strstr(record.error, "does not accept the credentials of context c of"));
    assert_null(strstr(record.error, "wrong"));
    setup_done(&setup);
}

static void test_sends_basic_credentials(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "username: jane, password: pa:ss");
    (void)snprintf(
        setup.state.authorization, sizeof(setup.state.authorization), "Basic amFuZTpwYTpzcw==");
    open_client(&setup);
    get(setup.client, &record, "/auth");
    assert_int_equal(record.result.outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_endless_401_ends(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "token: wrong");
    open_client(&setup);
    get(setup.client, &record, "/401-without-end");
    assert_int_equal(record.result.outcome, CALL_UNAUTHORIZED);
    setup_done(&setup);
}

/* Also for concurrent calls. */
static void test_replaced_token_is_used_after_a_401(void **state) {
    CallRecord record[3] = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "tokenFile: token");
    (void)folder_replace(&setup.folder, "token", "old\n");
    (void)snprintf(setup.state.authorization, sizeof(setup.state.authorization), "Bearer new");
    open_client(&setup);
    setup.state.rotated = &setup.folder;
    for (size_t i = 0; i < ELEMENTS_OF(record); i++)
        start(setup.client, &record[i], "/auth");
    for (size_t i = 0; i < ELEMENTS_OF(record); i++) {
        finish(setup.client, &record[i]);
        assert_int_equal(record[i].result.outcome, CALL_DONE);
        assert_int_equal(record[i].n_heads, 1);
        assert_text("of the second answer only", buf_str(&record[i].body), "welcome");
        record_done(&record[i]);
    }
    assert_int_equal(atomic_load(&setup.state.n_requests), 2 * ELEMENTS_OF(record));
    setup_done(&setup);
}

/* The token is rejected, and its file was deleted. */
static void test_error_names_a_missing_token_file(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "tokenFile: token");
    (void)folder_replace(&setup.folder, "token", "old\n");
    (void)snprintf(setup.state.authorization, sizeof(setup.state.authorization), "Bearer new");
    open_client(&setup);
    setup.state.rotated = &setup.folder;
    setup.state.vanishes = true;
    get(setup.client, &record, "/auth");
    assert_int_equal(record.result.outcome, CALL_UNAUTHORIZED);
    assert_int_equal(record.result.status, 401);
    assert_non_null(strstr(record.error, "/token: No such file or directory"));
    setup_done(&setup);
}

static void test_failing_plugin_is_reported_by_done(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(
        &setup, "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
    (void)folder_write_script(&setup.folder, "plugin", "echo no luck >&2; exit 3");
    open_client(&setup);
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_UNAUTHORIZED);
    assert_int_equal(record.result.status, 0);
    assert_non_null(strstr(record.error, "exit code 3: no luck"));
    assert_int_equal(atomic_load(&setup.state.n_requests), 0);
    setup_done(&setup);
}

typedef struct Retrier {
    Client *client;
    unsigned n_done;
} Retrier;

/* A done() that starts the next call. */
static void start_again(void *context, const CallResult *result) {
    Retrier *retrier = context;

    retrier->n_done++;
    assert_int_equal(result->outcome, CALL_UNAUTHORIZED);
    assert_non_null(client_call(retrier->client, &(CallOptions){.method = "GET", .path = "/"},
        &(CallHandler){.context = retrier, .done = start_again}));
}

/* Each call fails before it is sent, and starts the next. */
static void test_wait_returns_while_calls_fail(void **state) {
    Retrier retrier = {0};
    Setup setup;

    (void)state;
    setup_init_tls(
        &setup, "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
    (void)folder_write_script(&setup.folder, "plugin", "exit 1");
    open_client(&setup);
    retrier.client = setup.client;
    assert_non_null(client_call(setup.client, &(CallOptions){.method = "GET", .path = "/"},
        &(CallHandler){.context = &retrier, .done = start_again}));
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(client_wait(setup.client, 1000), 0);
        assert_int_equal(retrier.n_done, i);
    }
    setup_done(&setup);
}

/* --- proxies --- */

/* Records the request and rejects it. */
static bool refuse_tunnel(void *context, TestPeer *peer, const TestRequest *request) {
    Buf *seen = context;

    buf_append(seen, request->head);
    test_answer(peer, "403 Forbidden", "", STR("no"));
    return false;
}

static void test_proxy_does_not_see_the_token(void **state) {
    _cleanup_(buf_done) Buf seen = BUF_INIT(4096);
    _cleanup_(record_done) CallRecord record = {0};
    TestServer *proxy =
        test_server_new(&(TestServerOptions){.handler = refuse_tunnel, .context = &seen});
    char cluster[256];
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "");
    (void)snprintf(cluster, sizeof(cluster), BY_FILE ", proxy-url: 'http://me:hidden@127.0.0.1:%u'",
        test_server_port(proxy));
    write_config(&setup, "https", test_server_port(setup.server), cluster, "token: opensesame");
    open_client(&setup);
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_int_equal(record.result.status, 0);
    assert_int_equal(record.n_heads, 0);
    assert_null(strstr(record.error, "hidden"));
    test_server_free(proxy);
    buf_append_char(&seen, '\0');
    assert_ptr_equal(strstr(seen.data, "CONNECT 127.0.0.1:"), seen.data);
    assert_non_null(strstr(seen.data, "Proxy-Authorization: Basic "));
    assert_null(strstr(seen.data, "opensesame")); /* only for the API server */
    assert_int_equal(atomic_load(&setup.state.n_requests), 0);
    setup_done(&setup);
}

/* The SOCKS proxy is down. */
static void test_server_is_not_contacted_without_its_proxy(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    TestServer *gone = test_server_new(&(TestServerOptions){.is_mute = true});
    char cluster[256];
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "");
    (void)snprintf(cluster, sizeof(cluster), BY_FILE ", proxy-url: 'socks5://127.0.0.1:%u'",
        test_server_port(gone));
    test_server_free(gone);
    write_config(&setup, "https", test_server_port(setup.server), cluster, "");
    open_client(&setup);
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_int_equal(atomic_load(&setup.state.n_requests), 0);
    setup_done(&setup);
}

/* Replaces libc's function: every name is unknown. */
int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret) {
    (void)name;
    (void)service;
    (void)hints;
    (void)ret;
    return EAI_NONAME;
}

static void test_unknown_proxy_is_an_error_without_its_password(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init_tls(&setup, "");
    write_config(&setup, "https", test_server_port(setup.server),
        BY_FILE ", proxy-url: 'http://me:hidden@proxy.test:3128'", "");
    open_client(&setup);
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_non_null(strstr(record.error, ": the name of its proxy cannot be resolved"));
    assert_null(strstr(record.error, "hidden"));
    setup_done(&setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_certificates),
        cmocka_unit_test(test_unusable_ca_is_refused),
        cmocka_unit_test(test_old_tls_versions_are_refused),
        cmocka_unit_test(test_client_certificates),
        cmocka_unit_test(test_new_credentials_use_new_connections),
        cmocka_unit_test(test_rejected_credentials_are_not_sent_again),
        cmocka_unit_test(test_sends_basic_credentials),
        cmocka_unit_test(test_endless_401_ends),
        cmocka_unit_test(test_replaced_token_is_used_after_a_401),
        cmocka_unit_test(test_error_names_a_missing_token_file),
        cmocka_unit_test(test_failing_plugin_is_reported_by_done),
        cmocka_unit_test(test_wait_returns_while_calls_fail),
        cmocka_unit_test(test_proxy_does_not_see_the_token),
        cmocka_unit_test(test_server_is_not_contacted_without_its_proxy),
        cmocka_unit_test(test_unknown_proxy_is_an_error_without_its_password),
    };

    return cmocka_run_group_tests(tests, make_pairs, drop_pairs);
}
