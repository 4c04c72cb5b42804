/* Sources of metrics: their settings checked, addresses that are refused, connections. */

#include "load/source.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/message.h"
#include "base/origin.h"
#include "kube/proxy.h"

typedef struct AddressRange {
    uint8_t prefix[16];
    unsigned bits;
    AddressKind kind;
} AddressRange;

static const AddressRange v4_ranges[] = {
    {{0}, 8, ADDRESS_UNSPECIFIED}, {{169, 254}, 16, ADDRESS_LINK_LOCAL},
    {{224}, 4, ADDRESS_MULTICAST}, {{255, 255, 255, 255}, 32, ADDRESS_MULTICAST}, /* broadcast */
    {{100, 100, 100, 200}, 32, ADDRESS_OF_CLOUD}, /* Alibaba Cloud */
    {{168, 63, 129, 16}, 32, ADDRESS_OF_CLOUD},   /* Azure */
    {{192, 0, 0, 192}, 32, ADDRESS_OF_CLOUD},     /* Oracle Cloud */
};

static const AddressRange v6_ranges[] = {
    {{0}, 128, ADDRESS_UNSPECIFIED}, {{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
    {{0xff}, 8, ADDRESS_MULTICAST},
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, ADDRESS_OF_CLOUD}, /* AWS */
    {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, ADDRESS_OF_CLOUD}, /* Google Cloud */
};

#define MAPPED 0

/* IPv6 addresses with an IPv4 address inside, at these bytes. */
static const struct {
    AddressRange range;
    uint8_t at[4];
} inner[] = {
    [MAPPED] = {{{[10] = 0xff, [11] = 0xff}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}}, /* mapped */
    {{{0}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},                                   /* compatible */
    {{{[8] = 0xff, [9] = 0xff}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},              /* SIIT */
    {{{0x00, 0x64, 0xff, 0x9b}, 96, ADDRESS_PLAIN}, {12, 13, 14, 15}},              /* NAT64 */
    {{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_PLAIN}, {12, 13, 14, 15}}, /* local NAT64 */
    {{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_PLAIN}, {6, 7, 9, 10}},    /* ... by /48 */
    {{{0x20, 0x02}, 16, ADDRESS_PLAIN}, {2, 3, 4, 5}},                             /* 6to4 */
};

static bool is_in(const uint8_t *bytes, const AddressRange *range) {
    return address_starts_alike(bytes, range->prefix, range->bits);
}

static AddressKind find_kind(const uint8_t *bytes, const AddressRange *ranges, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_in(bytes, &ranges[i]))
            return ranges[i].kind;
    return ADDRESS_PLAIN;
}

static AddressKind v4_kind(const uint8_t *bytes) {
    return find_kind(bytes, v4_ranges, ELEMENTS_OF(v4_ranges));
}

static AddressKind v6_kind(const uint8_t *bytes) {
    static const AddressRange this_machine = {{[15] = 1}, 128, ADDRESS_PLAIN};
    AddressKind kind = find_kind(bytes, v6_ranges, ELEMENTS_OF(v6_ranges));

    if (is_in(bytes, &this_machine))
        return ADDRESS_PLAIN;
    for (size_t i = 0; kind == ADDRESS_PLAIN && i < ELEMENTS_OF(inner); i++) {
        const uint8_t *at = inner[i].at;
        const uint8_t v4[4] = {bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]};

        if (is_in(bytes, &inner[i].range))
            kind = v4_kind(v4);
        /* Zeros match other prefixes too; only the mapped form is IPv4. */
        if (kind == ADDRESS_UNSPECIFIED && i != MAPPED)
            kind = ADDRESS_PLAIN;
    }
    return kind;
}

AddressKind address_kind(const void *address, size_t len) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } copy;

    if (len < sizeof(copy.any) || len > sizeof(copy.storage))
        return ADDRESS_FOREIGN;
    memcpy(&copy, address, len);
    if (copy.any.sa_family == AF_INET && len >= sizeof(copy.v4))
        return v4_kind((const uint8_t *)&copy.v4.sin_addr);
    if (copy.any.sa_family == AF_INET6 && len >= sizeof(copy.v6))
        return v6_kind(copy.v6.sin6_addr.s6_addr);
    return ADDRESS_FOREIGN;
}

const MetricSource *sources_find(const MetricSources *sources, Str name) {
    Str wanted = source_meant(name);

    for (size_t i = 0; i < sources->n; i++)
        if (str_eq(sources->items[i].name, wanted))
            return &sources->items[i];
    return NULL;
}

const char *source_address_refusal(const void *address, size_t len, bool may_be_link_local) {
    static const char *const texts[] = {
        [ADDRESS_LINK_LOCAL] =
            "(link-local): set allowLinkLocal: true for this source if that is meant",
        [ADDRESS_OF_CLOUD] = ("(where a cloud serves credentials): set allowLinkLocal: true for "
                              "this source if that is meant"),
        [ADDRESS_MULTICAST] = "(multicast): no server is reached there",
        [ADDRESS_UNSPECIFIED] = "(unspecified): name an address; 127.0.0.1 is this machine",
        [ADDRESS_FOREIGN] = "(neither IPv4 nor IPv6)",
    };
    AddressKind kind = address_kind(address, len);
    bool is_local = kind == ADDRESS_LINK_LOCAL || kind == ADDRESS_OF_CLOUD;

    return is_local && may_be_link_local ? NULL : texts[kind];
}

static const char *refuse_usual(const void *address, size_t len) {
    return source_address_refusal(address, len, /* may_be_link_local= */ false);
}

static const char *refuse_few(const void *address, size_t len) {
    return source_address_refusal(address, len, /* may_be_link_local= */ true);
}

typedef struct Faults {
    SourceFault *items;
    size_t n;
    SourceFault dropped; /* overwritten by each fault over the ceiling */
} Faults;

__attribute__((format(printf, 4, 5))) static SourceFault *add(
    Faults *faults, const char *field, const char *hint, const char *format, ...) {
    SourceFault *fault =
        faults->n == SOURCE_FAULTS_MAX ? &faults->dropped : &faults->items[faults->n++];
    va_list arguments;

    *fault = (SourceFault){.field = field, .hint = hint};
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, arguments);
    va_end(arguments);
    return fault;
}

static const char *url_hint(Str url) {
    if (str_find(url, '@') != SIZE_MAX)
        return "basicAuth: {user: …, passwordFile: …} or bearerTokenFile: …, in a file of sources";
    if (str_find(url, '?') != SIZE_MAX || str_find(url, '#') != SIZE_MAX)
        return "only where the server is; what every request needs besides goes into headers";
    return "for example https://prometheus.monitoring.svc:9090";
}

static void check_url(Faults *faults, const AccessServer *server) {
    Str url = str_from_c(server->url);
    const char *complaint = origin_complaint(url);

    if (url.len > SOURCE_URL_MAX) {
        (void)add(faults, "url", NULL, "url is longer than 2048 bytes");
        return;
    }
    if (complaint)
        add(faults, "url", url_hint(url), "url %s", complaint)->is_secret =
            str_find(url, '@') != SIZE_MAX;
    while (str_has_suffix(url, STR("/")))
        url.len--;
    if (!complaint &&
        (str_has_suffix(url, STR("/api/v1")) || str_has_suffix(url, STR("/api/v1/query"))))
        (void)add(faults, "url", "leave it out: berth appends it", "url ends in /api/v1");
}

static bool is_plain_http(const AccessServer *server) {
    Str url = str_from_c(server->url);
    bool is_tls;

    return origin_cut_scheme(&url, &is_tls) && !is_tls;
}

static void check_credentials(Faults *faults, const AccessServer *server) {
    Str user = str_from_c(server->user);
    bool is_plain = is_plain_http(server);

    if (server->token_file && server->user)
        (void)add(faults, "basicAuth", "only one of them can be sent: remove the other",
            "a source cannot have both bearerTokenFile and basicAuth");
    if (server->user && str_find(user, ':') != SIZE_MAX)
        (void)add(faults, "basicAuth.user", NULL,
            "user has a ':' in it, which basic authentication cannot encode");
    if (is_plain && server->token_file)
        add(faults, "bearerTokenFile", "use https:// if the server speaks it",
            "the token is sent over http://, where it can be read on the way")
            ->is_warning = true;
    else if (is_plain && server->user)
        add(faults, "basicAuth", "use https:// if the server speaks it",
            "the password is sent over http://, where it can be read on the way")
            ->is_warning = true;
}

static void check_tls(Faults *faults, const AccessServer *server) {
    bool has_tls = server->ca_file || server->cert_file || server->key_file ||
                   server->server_name || server->is_insecure;

    if (server->cert_file && !server->key_file)
        (void)add(faults, "tls.certFile", NULL, "certFile needs a keyFile, too");
    if (server->key_file && !server->cert_file)
        (void)add(faults, "tls.keyFile", NULL, "keyFile needs a certFile, too");
    if (server->server_name && !origin_is_host_name(str_from_c(server->server_name)))
        (void)add(faults, "tls.serverName",
            "a name or an address that the server's certificate is for, without a port",
            "serverName is no host name");
    if (server->is_insecure && server->ca_file)
        (void)add(faults, "tls.insecureSkipVerify",
            "with caFile the certificate is verified: remove insecureSkipVerify",
            "insecureSkipVerify and caFile contradict each other");
    else if (server->is_insecure)
        add(faults, "tls.insecureSkipVerify", "name the CA that signed it: caFile",
            "the certificate of this source is not verified: any host on the way can answer for it")
            ->is_warning = true;
    if (has_tls && is_plain_http(server))
        add(faults, "tls", "the url may mean https://", "tls has no effect with http://")
            ->is_warning = true;
}

static void check_header(Faults *faults, const AccessServer *server, size_t number) {
    const Header *header = &server->headers[number];
    const char *complaint = header_complaint(header->name, header->value);
    const char *hint = str_eq_nocase(header->name, STR("Authorization"))
                           ? "use bearerTokenFile or basicAuth, which read it from a file"
                           : NULL;

    for (size_t i = 0; i < number && !complaint; i++)
        if (str_eq_nocase(server->headers[i].name, header->name))
            complaint = "is there twice";
    if (complaint)
        add(faults, "headers", hint, "the header \"%.*s\" %s", STR_FMT(str_take(header->name, 64)),
            complaint)
            ->header = header->name;
}

size_t source_faults(const AccessServer *server, SourceFault ret[SOURCE_FAULTS_MAX]) {
    Faults faults = {.items = ret};

    check_url(&faults, server);
    check_credentials(&faults, server);
    check_tls(&faults, server);
    if (server->n_headers > SOURCE_HEADERS_MAX)
        (void)add(&faults, "headers", NULL, "there are more than 16 headers");
    for (size_t i = 0; i < server->n_headers && i < SOURCE_HEADERS_MAX; i++)
        check_header(&faults, server, i);
    return faults.n;
}

int source_access(const MetricSource *source, Access **ret, char *error) {
    char name[128];
    AccessServer server = source->server;

    (void)snprintf(name, sizeof(name), "source %.*s", STR_FMT(str_take(source->name, 64)));
    server.name = name;
    server.is_direct = true;
    server.refusal = source->may_be_link_local ? refuse_few : refuse_usual;
    return access_for_server(&server, ret, error);
}

void source_connection_done(SourceConnection *server) {
    client_free(server->client);
    if (server->owns_access)
        access_free(server->access);
    free(server->name);
    *server = (SourceConnection){0};
}

int source_connections_new(const MetricSources *sources, SourceConnections **ret, char *error) {
    _cleanup_(source_connections_freep) SourceConnections *connections =
        calloc(1, sizeof(*connections));

    if (!connections)
        return message_fail(-ENOMEM, error, "out of memory for the metric sources");
    if (sources->n > SOURCES_MAX)
        return message_fail(-E2BIG, error, "there are more than %u sources", SOURCES_MAX);
    for (size_t i = 0; i < sources->n; i++) {
        const MetricSource *source = &sources->items[i];
        SourceConnection *server = &connections->items[connections->n++];
        int r;

        server->owns_access = true;
        server->name = strndup(source->name.len > 0 ? source->name.ptr : "", source->name.len);
        if (!server->name)
            return message_fail(-ENOMEM, error, "out of memory for the metric source");
        r = source_access(source, &server->access, error);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(connections);
    return 0;
}

SourceConnections *source_connections_free(SourceConnections *connections) {
    for (size_t i = 0; connections && i < connections->n; i++)
        source_connection_done(&connections->items[i]);
    free(connections);
    return NULL;
}

SourceConnection *source_connections_find(SourceConnections *connections, Str name) {
    name = source_meant(name);
    for (size_t i = 0; i < connections->n; i++)
        if (str_is(name, connections->items[i].name))
            return &connections->items[i];
    return NULL;
}
