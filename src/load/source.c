#include "load/source.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/origin.h"
#include "load/address.h"

const MetricSource *sources_find(const MetricSources *sources, Str name) {
    Str wanted = source_meant(name);

    for (size_t i = 0; i < sources->n; i++)
        if (str_eq(sources->items[i].name, wanted))
            return &sources->items[i];
    return NULL;
}

/* --- addresses --- */

const char *source_address_refusal(const void *address, size_t len, bool may_be_link_local) {
    switch (address_kind(address, len)) {
    case ADDRESS_PLAIN:
        return NULL;
    case ADDRESS_LINK_LOCAL:
        return may_be_link_local
                   ? NULL
                   : "(link-local): say allowLinkLocal: true for this source if that is meant";
    case ADDRESS_OF_CLOUD:
        return may_be_link_local ? NULL
                                 : "(where a cloud serves credentials): say allowLinkLocal: true "
                                   "for this source if that is meant";
    case ADDRESS_MULTICAST:
        return "(multicast): no server is reached there";
    case ADDRESS_UNSPECIFIED:
        return "(unspecified): say which address is meant; 127.0.0.1 is this machine";
    case ADDRESS_FOREIGN:
        break;
    }
    return "(neither IPv4 nor IPv6)";
}

static const char *refuse_usual(const void *address, size_t len) {
    return source_address_refusal(address, len, /* may_be_link_local= */ false);
}

static const char *refuse_few(const void *address, size_t len) {
    return source_address_refusal(address, len, /* may_be_link_local= */ true);
}

/* --- faults --- */

typedef struct Faults {
    SourceFault *items;
    size_t n;
} Faults;

/* The next one, to be filled; NULL over the ceiling. */
static SourceFault *add(Faults *faults, const char *field) {
    SourceFault *fault;

    if (faults->n == SOURCE_FAULTS_MAX)
        return NULL;
    fault = &faults->items[faults->n++];
    *fault = (SourceFault){.field = field};
    return fault;
}

static SourceFault *add_text(
    Faults *faults, const char *field, const char *text, const char *hint) {
    SourceFault *fault = add(faults, field);

    if (!fault)
        return NULL;
    (void)snprintf(fault->text, sizeof(fault->text), "%s", text);
    fault->hint = hint;
    return fault;
}

static void add_warning(Faults *faults, const char *field, const char *text, const char *hint) {
    SourceFault *fault = add_text(faults, field, text, hint);

    if (fault)
        fault->is_warning = true;
}

/* A path that we append ourselves. */
static bool names_the_query(Str url) {
    while (str_has_suffix(url, STR("/")))
        url.len--;
    return str_has_suffix(url, STR("/api/v1")) || str_has_suffix(url, STR("/api/v1/query"));
}

static const char *url_hint(Str url) {
    if (str_find(url, '@') != SIZE_MAX)
        return "basicAuth: {user: …, passwordFile: …} or bearerTokenFile: …, in a file of sources";
    if (str_find(url, '?') != SIZE_MAX || str_find(url, '#') != SIZE_MAX)
        return "only where the server is; what every request needs besides goes into headers";
    return "for example https://prometheus.monitoring.svc:9090";
}

static void check_url(Faults *faults, const MetricSource *source) {
    Str url = str_from_c(source->url);
    const char *complaint = origin_complaint(url);
    SourceFault *fault;

    if (url.len > SOURCE_URL_MAX) {
        (void)add_text(faults, "url", "url is longer than 2048 bytes", NULL);
        return;
    }
    if (!complaint && names_the_query(url))
        (void)add_text(faults, "url", "url ends in /api/v1", "leave it out: berth appends it");
    fault = complaint ? add(faults, "url") : NULL;
    if (!fault)
        return;
    (void)snprintf(fault->text, sizeof(fault->text), "url %s", complaint);
    fault->hint = url_hint(url);
    fault->is_secret = str_find(url, '@') != SIZE_MAX;
}

static void check_credentials(Faults *faults, const MetricSource *source) {
    Str user = str_from_c(source->user);
    bool is_plain = str_has_prefix(str_from_c(source->url), STR("http://"));

    if (source->token_file && source->user)
        (void)add_text(faults,
            "basicAuth",
            "a source cannot have both bearerTokenFile and basicAuth",
            "only one of them can be sent: remove the other");
    if (source->user && str_find(user, ':') != SIZE_MAX)
        (void)add_text(faults,
            "basicAuth.user",
            "user has a ':' in it, which basic authentication cannot say",
            NULL);
    if (is_plain && source->token_file)
        add_warning(faults,
            "bearerTokenFile",
            "the token is sent over http://, where it can be read on the way",
            "use https:// if the server speaks it");
    else if (is_plain && source->user)
        add_warning(faults,
            "basicAuth",
            "the password is sent over http://, where it can be read on the way",
            "use https:// if the server speaks it");
}

static bool has_tls(const MetricSource *source) {
    return source->ca_file || source->cert_file || source->key_file || source->server_name ||
           source->is_insecure;
}

static void check_tls(Faults *faults, const MetricSource *source) {
    if (source->cert_file && !source->key_file)
        (void)add_text(faults, "tls.certFile", "certFile needs a keyFile, too", NULL);
    if (source->key_file && !source->cert_file)
        (void)add_text(faults, "tls.keyFile", "keyFile needs a certFile, too", NULL);
    if (source->server_name && !origin_is_host_name(str_from_c(source->server_name)))
        (void)add_text(faults,
            "tls.serverName",
            "serverName is no host name",
            "a name or an address that the server's certificate is for, without a port");
    if (source->is_insecure && source->ca_file)
        (void)add_text(faults,
            "tls.insecureSkipVerify",
            "insecureSkipVerify and caFile contradict each other",
            "with caFile the certificate is verified: remove insecureSkipVerify");
    else if (source->is_insecure)
        add_warning(faults,
            "tls.insecureSkipVerify",
            "the certificate of this source is not verified: anybody on the way can answer for it",
            "name the CA that signed it: caFile");
    if (has_tls(source) && str_has_prefix(str_from_c(source->url), STR("http://")))
        add_warning(faults, "tls", "tls has no effect with http://", "the url may mean https://");
}

static bool is_doubled(const MetricSource *source, size_t number) {
    for (size_t i = 0; i < number; i++)
        if (str_eq_nocase(source->headers[i].name, source->headers[number].name))
            return true;
    return false;
}

static void check_header(Faults *faults, const MetricSource *source, size_t number) {
    const Header *header = &source->headers[number];
    const char *complaint = header_complaint(header->name, header->value);
    SourceFault *fault;

    if (!complaint && is_doubled(source, number))
        complaint = "is there twice";
    fault = complaint ? add(faults, "headers") : NULL;
    if (!fault)
        return;
    fault->header = header->name;
    (void)snprintf(fault->text,
        sizeof(fault->text),
        "the header \"%.*s\" %s",
        STR_FMT(str_take(header->name, 64)),
        complaint);
    if (str_eq_nocase(header->name, STR("Authorization")))
        fault->hint = "use bearerTokenFile or basicAuth, which read it from a file";
}

size_t source_faults(const MetricSource *source, SourceFault ret[SOURCE_FAULTS_MAX]) {
    Faults faults = {.items = ret};

    check_url(&faults, source);
    check_credentials(&faults, source);
    check_tls(&faults, source);
    if (source->n_headers > SOURCE_HEADERS_MAX)
        (void)add_text(&faults, "headers", "there are more than 16 headers", NULL);
    for (size_t i = 0; i < source->n_headers && i < SOURCE_HEADERS_MAX; i++)
        check_header(&faults, source, i);
    return faults.n;
}

/* --- access --- */

int source_access(const MetricSource *source, Access **ret, char *error) {
    char name[128];
    AccessServer server = {
        .name = name,
        .url = source->url,
        .token_file = source->token_file,
        .user = source->user,
        .password_file = source->password_file,
        .ca_file = source->ca_file,
        .cert_file = source->cert_file,
        .key_file = source->key_file,
        .server_name = source->server_name,
        .is_insecure = source->is_insecure,
        .is_direct = true,
        .refusal = source->may_be_link_local ? refuse_few : refuse_usual,
        .headers = source->headers,
        .n_headers = source->n_headers,
    };

    (void)snprintf(name, sizeof(name), "source %.*s", STR_FMT(str_take(source->name, 64)));
    return access_for_server(&server, ret, error);
}
