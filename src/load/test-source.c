#include "load/source.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "kube/client.h"
#include "kube/test-server.h"

/* --- addresses, by themselves --- */

static socklen_t make_address(const char *text, struct sockaddr_storage *ret) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};

    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(ret, &v4, sizeof(v4));
        return sizeof(v4);
    }
    assert_case(text, inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
    memcpy(ret, &v6, sizeof(v6));
    return sizeof(v6);
}

static void test_addresses(void **state) {
    static const struct {
        const char *text;
        AddressKind kind;
    } cases[] = {
        {"127.0.0.1", ADDRESS_PLAIN},
        {"10.0.0.7", ADDRESS_PLAIN},
        {"192.168.1.1", ADDRESS_PLAIN},
        {"203.0.113.9", ADDRESS_PLAIN},
        {"169.253.255.255", ADDRESS_PLAIN},
        {"169.254.0.0", ADDRESS_LINK_LOCAL},
        {"169.254.169.254", ADDRESS_LINK_LOCAL},
        {"169.254.170.2", ADDRESS_LINK_LOCAL},
        {"169.254.255.255", ADDRESS_LINK_LOCAL},
        {"169.255.0.0", ADDRESS_PLAIN},
        {"100.100.100.200", ADDRESS_OF_CLOUD},
        {"100.100.100.201", ADDRESS_PLAIN},
        {"168.63.129.16", ADDRESS_OF_CLOUD},
        {"192.0.0.192", ADDRESS_OF_CLOUD},
        {"0.0.0.0", ADDRESS_UNSPECIFIED},
        {"0.0.0.1", ADDRESS_UNSPECIFIED},
        {"1.0.0.0", ADDRESS_PLAIN},
        {"223.255.255.255", ADDRESS_PLAIN},
        {"224.0.0.1", ADDRESS_MULTICAST},
        {"239.255.255.255", ADDRESS_MULTICAST},
        {"240.0.0.0", ADDRESS_PLAIN},
        {"255.255.255.255", ADDRESS_MULTICAST},

        {"::1", ADDRESS_PLAIN},
        {"fd00::1", ADDRESS_PLAIN},
        {"2001:db8::1", ADDRESS_PLAIN},
        {"::", ADDRESS_UNSPECIFIED},
        {"fe7f::1", ADDRESS_PLAIN},
        {"fe80::1", ADDRESS_LINK_LOCAL},
        {"febf:ffff::1", ADDRESS_LINK_LOCAL},
        {"fec0::1", ADDRESS_PLAIN},
        {"ff02::1", ADDRESS_MULTICAST},
        {"fd00:ec2::254", ADDRESS_OF_CLOUD},
        {"fd00:ec2::253", ADDRESS_PLAIN},
        {"fd20:ce::254", ADDRESS_OF_CLOUD},

        {"::ffff:10.0.0.7", ADDRESS_PLAIN},
        {"::ffff:127.0.0.1", ADDRESS_PLAIN},
        {"::ffff:169.254.169.254", ADDRESS_LINK_LOCAL},
        {"::ffff:100.100.100.200", ADDRESS_OF_CLOUD},
        {"::ffff:0.0.0.0", ADDRESS_UNSPECIFIED},
        {"::169.254.169.254", ADDRESS_LINK_LOCAL},
        {"::ffff:0:169.254.169.254", ADDRESS_LINK_LOCAL},
        {"64:ff9b::169.254.169.254", ADDRESS_LINK_LOCAL},
        {"64:ff9b::10.0.0.7", ADDRESS_PLAIN},
        {"64:ff9b::100.100.100.200", ADDRESS_OF_CLOUD},
        {"64:ff9b:1::169.254.169.254", ADDRESS_LINK_LOCAL},
        {"64:ff9b:1:fefe:a9:fe00::", ADDRESS_PLAIN},
        {"64:ff9b:1:a9fe:a9:fe00::", ADDRESS_LINK_LOCAL},
        {"64:ff9b:2::169.254.169.254", ADDRESS_PLAIN},
        {"2002:a9fe:a9fe::", ADDRESS_LINK_LOCAL},
        {"2002:a9fe:a9fe::1", ADDRESS_LINK_LOCAL},
        {"2002:a00:7::1", ADDRESS_PLAIN},
        {"2002:e000:1::1", ADDRESS_MULTICAST},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        struct sockaddr_storage address;
        socklen_t len = make_address(cases[i].text, &address);

        assert_case(cases[i].text, address_kind(&address, len) == cases[i].kind);
        assert_case(cases[i].text, (source_address_refusal(&address, len, false) != NULL) ==
                                       (cases[i].kind != ADDRESS_PLAIN));
    }
}

static void test_foreign_addresses(void **state) {
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
    struct sockaddr_storage address;
    socklen_t len = make_address("fe80::1", &address);

    (void)state;
    assert_int_equal(address_kind(&local, sizeof(local)), ADDRESS_FOREIGN);
    assert_int_equal(address_kind(&address, len - 1), ADDRESS_FOREIGN);
    assert_int_equal(address_kind(&address, 0), ADDRESS_FOREIGN);
    assert_string_equal(
        source_address_refusal(&local, sizeof(local), true), "(neither IPv4 nor IPv6)");
}

static void test_allowed_addresses(void **state) {
    static const struct {
        const char *text;
        bool is_refused;
    } cases[] = {
        {"169.254.169.254", false},
        {"fe80::1", false},
        {"::ffff:169.254.169.254", false},
        {"100.100.100.200", false},
        {"fd00:ec2::254", false},
        {"0.0.0.0", true},
        {"::", true},
        {"224.0.0.1", true},
        {"ff02::1", true},
        {"10.0.0.1", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        struct sockaddr_storage address;
        socklen_t len = make_address(cases[i].text, &address);

        assert_case(cases[i].text,
            (source_address_refusal(&address, len, true) != NULL) == cases[i].is_refused);
    }
}

/* --- name resolution ------------------------------- */

/* Replaces libc's getaddrinfo(): names in *.test have the addresses of the table below, in this
 * order; other names are read as numbers. Names are resolved each time. */
static unsigned n_lookups;

static void add_address(struct addrinfo **list, const char *text, uint16_t port, int socktype) {
    struct Found {
        struct addrinfo info;
        struct sockaddr_storage address;
    } *found = calloc(1, sizeof(*found));
    struct sockaddr_in *v4;

    assert_non_null(found);
    found->info.ai_addrlen = make_address(text, &found->address);
    v4 = (struct sockaddr_in *)&found->address;
    v4->sin_port = htons(port); /* at the same offset in both families */
    found->info.ai_family = found->address.ss_family;
    found->info.ai_socktype = socktype;
    found->info.ai_protocol = IPPROTO_TCP;
    found->info.ai_addr = (struct sockaddr *)&found->address;
    while (*list)
        list = &(*list)->ai_next;
    *list = &found->info;
}

int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret) {
    static const struct {
        const char *name;
        const char *first, *second; /* addresses */
    } names[] = {
        {"good.test", "127.0.0.1", NULL},
        {"metadata.test", "169.254.169.254", NULL},
        {"mapped.test", "::ffff:169.254.169.254", NULL},
        {"both.test", "169.254.169.254", "127.0.0.1"},
        {"dead.test", "127.0.0.2", "169.254.169.254"},
    };
    int64_t port = 0;
    int socktype = hints ? hints->ai_socktype : SOCK_STREAM;
    struct in_addr digits;
    char text[INET_ADDRSTRLEN];

    *ret = NULL;
    n_lookups++;
    (void)(service && str_to_int64(str_from_c(service), &port));
    if (inet_aton(name, &digits)) {
        add_address(ret, inet_ntop(AF_INET, &digits, text, sizeof(text)), (uint16_t)port, socktype);
        return 0;
    }
    if (strcmp(name, "rebound.test") == 0) { /* allowed at the check, forbidden at the connect */
        add_address(
            ret, n_lookups == 1 ? "127.0.0.1" : "169.254.169.254", (uint16_t)port, socktype);
        return 0;
    }
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        if (strcmp(name, names[i].name) != 0)
            continue;
        add_address(ret, names[i].first, (uint16_t)port, socktype);
        if (names[i].second)
            add_address(ret, names[i].second, (uint16_t)port, socktype);
        return 0;
    }
    return EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list) {
    while (list) {
        struct addrinfo *next = list->ai_next;

        free(list);
        list = next;
    }
}

/* --- results of requests ------------------ */

static bool answer(void *context, TestPeer *peer, const TestRequest *request) {
    (void)context;
    (void)request;
    test_answer(peer, "200 OK", "Connection: close\r\n", STR("ok"));
    return false;
}

typedef struct Seen {
    bool is_done;
    CallOutcome outcome;
    char error[CLIENT_ERROR_MAX];
} Seen;

static void on_done(void *context, const CallResult *result) {
    Seen *seen = context;

    seen->is_done = true;
    seen->outcome = result->outcome;
    if (result->error)
        (void)snprintf(seen->error, sizeof(seen->error), "%s", result->error);
}

static Seen get(const MetricSource *source) {
    char error[ACCESS_ERROR_MAX] = "";
    Access *access = NULL;
    Client *client;
    Seen seen = {0};

    if (source_access(source, &access, error) < 0)
        fail_msg("%s", error);
    client = client_new(access);
    assert_non_null(client);
    assert_non_null(
        client_call(client, &(CallOptions){.method = "GET", .path = "/", .total_sec = 10},
            &(CallHandler){.context = &seen, .done = on_done}));
    for (int i = 0; i < 200 && !seen.is_done; i++)
        assert_int_equal(client_wait(client, 100), 0);
    assert_true(seen.is_done);
    client_free(client);
    access_free(access);
    return seen;
}

/* "%u" is the port of a server on the loopback. A forbidden address gets no packet. */
static void test_refuses_forbidden_addresses(void **state) {
    static const struct {
        const char *url;
        const char *refused; /* the address in the message; NULL: it works */
    } cases[] = {
        /* Ways to write an address. */
        {"http://127.0.0.1:%u", NULL},
        {"http://2130706433:%u", NULL},
        {"http://0x7f000001:%u", NULL},
        {"http://169.254.169.254", "169.254.169.254 (link-local)"},
        {"http://169.254.169.254:%u/latest/meta-data", "169.254.169.254 (link-local)"},
        {"https://169.254.169.254", "169.254.169.254 (link-local)"},
        {"http://2852039166/", "169.254.169.254 (link-local)"},
        {"http://0xA9FEA9FE/", "169.254.169.254 (link-local)"},
        {"http://0251.0376.0251.0376/", "169.254.169.254 (link-local)"},
        {"http://169.254.43518/", "169.254.169.254 (link-local)"},
        {"http://169.16689662/", "169.254.169.254 (link-local)"},
        {"http://0xa9.0xfe.0xa9.0xfe/", "169.254.169.254 (link-local)"},
        {"http://169.254.170.2/", "169.254.170.2 (link-local)"},
        {"http://100.100.100.200/", "100.100.100.200 (where a cloud serves credentials)"},
        {"http://168.63.129.16/", "168.63.129.16 (where a cloud serves credentials)"},
        {"http://0.0.0.0:%u/", "0.0.0.0 (unspecified)"},
        {"http://0:%u/", "0.0.0.0 (unspecified)"},
        {"http://224.0.0.1/", "224.0.0.1 (multicast)"},
        {"http://255.255.255.255/", "255.255.255.255 (multicast)"},

        /* IPv6, and IPv4 inside it. */
        {"http://[fe80::1]/", "fe80::1 (link-local)"},
        {"http://[::ffff:169.254.169.254]/", "::ffff:169.254.169.254 (link-local)"},
        {"http://[::ffff:a9fe:a9fe]/", "::ffff:169.254.169.254 (link-local)"},
        {"http://[64:ff9b::a9fe:a9fe]/", "64:ff9b::a9fe:a9fe (link-local)"},
        {"http://[2002:a9fe:a9fe::]/", "2002:a9fe:a9fe:: (link-local)"},
        {"http://[::]:%u/", ":: (unspecified)"},
        {"http://[fd00:ec2::254]/", "fd00:ec2::254 (where a cloud serves credentials)"},
        {"http://[ff02::1]/", "ff02::1 (multicast)"},

        /* Names. */
        {"http://good.test:%u", NULL},
        {"http://metadata.test:%u", "169.254.169.254 (link-local)"},
        {"https://metadata.test:%u", "169.254.169.254 (link-local)"},
        {"http://mapped.test:%u", "::ffff:169.254.169.254 (link-local)"},
        {"http://both.test:%u", NULL}, /* by the other address */
        {"http://dead.test:1", "169.254.169.254 (link-local)"},
    };
    TestServer *server = test_server_new(&(TestServerOptions){.handler = answer});
    unsigned n_good = 0;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *gap = strstr(cases[i].url, "%u");
        Str head =
            str_take(str_from_c(cases[i].url), gap ? (size_t)(gap - cases[i].url) : SIZE_MAX);
        char url[256], port[16], want[256];
        Seen seen;

        (void)snprintf(port, sizeof(port), "%u", test_server_port(server));
        (void)snprintf(
            url, sizeof(url), "%.*s%s%s", STR_FMT(head), gap ? port : "", gap ? gap + 2 : "");
        seen = get(&(MetricSource){.name = STR("default"), .server.url = url});
        n_good += !cases[i].refused;
        assert_case(cases[i].url, seen.outcome == (cases[i].refused ? CALL_REFUSED : CALL_DONE));
        if (!cases[i].refused)
            continue;
        (void)snprintf(want, sizeof(want), ": refused to connect to %s: ", cases[i].refused);
        if (!strstr(seen.error, want))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].url, want, seen.error);
    }
    assert_int_equal(test_server_connections(server), n_good);
    test_server_free(server);
}

/* The first lookup gives an allowed address; the lookup for the next connection does not. */
static void test_rebinding(void **state) {
    TestServer *server = test_server_new(&(TestServerOptions){.handler = answer});
    char url[64];
    MetricSource source = {.name = STR("default"), .server.url = url};
    Seen seen;

    (void)state;
    (void)snprintf(url, sizeof(url), "http://rebound.test:%u", test_server_port(server));
    n_lookups = 0;
    assert_int_equal(get(&source).outcome, CALL_DONE);
    seen = get(&source);
    assert_int_equal(n_lookups, 2);
    assert_int_equal(seen.outcome, CALL_REFUSED);
    assert_non_null(strstr(seen.error,
        "refused to connect to 169.254.169.254 (link-local): set allowLinkLocal: true for this "
        "source if that is meant"));
    test_server_free(server);
}

/* --- faults --- */

#define MANY_A                                                                                     \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"
#define LONG_PATH MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A MANY_A

static const Header tenant[] = {{STR("X-Scope-OrgID"), STR("a")}};
static const Header doubled[] = {
    {STR("X-Scope-OrgID"), STR("a")}, {STR("x-scope-orgid"), STR("b")}};
static const Header forbidden[] = {
    {STR("authorization"), STR("Bearer x")}, {STR("Host"), STR("evil")}};

static void test_faults(void **state) {
    static const struct {
        const char *name;
        AccessServer source;
        const char *field, *text; /* of the first; NULL: none */
        size_t n;
        bool is_warning, is_secret;
    } cases[] = {
        {"good", {.url = "https://h", .token_file = "t", .headers = tenant, .n_headers = 1}, NULL,
            NULL, 0, 0, 0},
        {"plain", {.url = "http://h:9090/prometheus/"}, NULL, NULL, 0, 0, 0},
        {"no scheme", {.url = "h:9090"}, "url", "url must begin with https:// (or http://)", 1, 0,
            0},
        {"a password", {.url = "http://u:p@h"}, "url", "url has a user in it", 1, 0, true},
        {"the query", {.url = "http://h/api/v1/query"}, "url", "url ends in /api/v1", 1, 0, 0},
        {"the API", {.url = "http://h/x/api/v1/"}, "url", "url ends in /api/v1", 1, 0, 0},
        {"long", {.url = "http://h/" LONG_PATH LONG_PATH}, "url", "url is longer than 2048 bytes",
            1, 0, 0},
        {"both", {.url = "https://h", .token_file = "t", .user = "u", .password_file = "p"},
            "basicAuth", "a source cannot have both bearerTokenFile and basicAuth", 1, 0, 0},
        {"a colon", {.url = "https://h", .user = "a:b", .password_file = "p"}, "basicAuth.user",
            "user has a ':' in it, which basic authentication cannot encode", 1, 0, 0},
        {"a token over http", {.url = "http://h", .token_file = "t"}, "bearerTokenFile",
            "the token is sent over http://, where it can be read on the way", 1, true, 0},
        {"capitals", {.url = "HTTP://h", .token_file = "t"}, "bearerTokenFile",
            "the token is sent over http://, where it can be read on the way", 1, true, 0},
        {"tls over capitals", {.url = "Http://h", .ca_file = "c"}, "tls",
            "tls has no effect with http://", 1, true, 0},
        {"a password over http", {.url = "http://h", .user = "u", .password_file = "p"},
            "basicAuth", "the password is sent over http://, where it can be read on the way", 1,
            true, 0},
        {"no key", {.url = "https://h", .cert_file = "c"}, "tls.certFile",
            "certFile needs a keyFile, too", 1, 0, 0},
        {"no certificate", {.url = "https://h", .key_file = "k"}, "tls.keyFile",
            "keyFile needs a certFile, too", 1, 0, 0},
        {"no name", {.url = "https://h", .server_name = "a b"}, "tls.serverName",
            "serverName is no host name", 1, 0, 0},
        {"contradiction", {.url = "https://h", .ca_file = "c", .is_insecure = true},
            "tls.insecureSkipVerify", "insecureSkipVerify and caFile contradict each other", 1, 0,
            0},
        {"insecure", {.url = "https://h", .is_insecure = true}, "tls.insecureSkipVerify",
            "the certificate of this source is not verified: any host on the way can answer for it",
            1, true, 0},
        {"tls over http", {.url = "http://h", .ca_file = "c"}, "tls",
            "tls has no effect with http://", 1, true, 0},
        {"twice", {.url = "http://h", .headers = doubled, .n_headers = 2}, "headers",
            "the header \"x-scope-orgid\" is there twice", 1, 0, 0},
        {"ours", {.url = "http://h", .headers = forbidden, .n_headers = 2}, "headers",
            "the header \"authorization\" is set by berth itself", 2, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        SourceFault faults[SOURCE_FAULTS_MAX];
        size_t n = source_faults(&cases[i].source, faults);

        assert_case(cases[i].name, n == cases[i].n);
        if (n == 0)
            continue;
        assert_text(cases[i].name, str_from_c(faults[0].field), cases[i].field);
        assert_text(cases[i].name, str_from_c(faults[0].text), cases[i].text);
        assert_case(cases[i].name, faults[0].is_warning == cases[i].is_warning);
        assert_case(cases[i].name, faults[0].is_secret == cases[i].is_secret);
    }
}

/* Sources with only warnings can be used; sources with a fault cannot. */
static void test_access(void **state) {
    static const MetricSource good = {
        .name = STR("a"), .server = {.url = "http://h", .token_file = "t"}};
    static const MetricSource bad = {.name = STR("a"), .server.url = "http://u:secret@h"};
    char error[ACCESS_ERROR_MAX] = "";
    Access *access = NULL;

    (void)state;
    assert_int_equal(source_access(&good, &access, error), 0);
    assert_string_equal(access_origin(access), "source a");
    access = access_free(access);
    assert_int_equal(source_access(&bad, &access, error), -EINVAL);
    assert_string_equal(error, "source a: the URL has a user in it");
}

static void test_find(void **state) {
    static const MetricSource items[] = {{.name = STR("a")}, {.name = STR("default")}};
    const MetricSources sources = {.items = items, .n = 2};

    (void)state;
    assert_ptr_equal(sources_find(&sources, STR("a")), &items[0]);
    assert_ptr_equal(sources_find(&sources, STR("")), &items[1]);
    assert_ptr_equal(sources_find(&sources, STR("default")), &items[1]);
    assert_null(sources_find(&sources, STR("b")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_foreign_addresses),
        cmocka_unit_test(test_allowed_addresses),
        cmocka_unit_test(test_refuses_forbidden_addresses),
        cmocka_unit_test(test_rebinding),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_find),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
