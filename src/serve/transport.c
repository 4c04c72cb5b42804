#include "serve/transport.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"

static bool is_open(const char *address) {
    return address && !server_is_loopback(address);
}

static int check_verbs(const DaemonOptions *options, char *error) {
    if (!is_open(options->server.address))
        return 0;
    if (!options->insecure_http) {
        (void)snprintf(error,
            DAEMON_ERROR_MAX,
            "plain HTTP on %s would let any client that reaches it influence scheduling: set "
            "--tls-cert and --tls-key (and --client-ca), listen on 127.0.0.1, or set "
            "--insecure-http",
            options->server.address);
        return -EPERM;
    }
    log_warn("INSECURE: plain HTTP on an address that others can reach",
        LOG_CSTR("address", options->server.address),
        LOG_CSTR("flag", "--insecure-http"));
    return 0;
}

/* Without a token there is nothing but health to be had: that may be plain. */
static int check_pages(const DaemonOptions *options, char *error) {
    if (!is_open(options->pages.address) || !options->pages.token_path)
        return 0;
    if (!options->insecure_http) {
        (void)snprintf(error,
            DAEMON_ERROR_MAX,
            "plain HTTP on %s would expose the token of --pages-token-file on the network: set "
            "--tls-cert and --tls-key, or --insecure-http",
            options->pages.address);
        return -EPERM;
    }
    log_warn("INSECURE: a token over plain HTTP on an address that others can reach",
        LOG_CSTR("address", options->pages.address),
        LOG_CSTR("flag", "--insecure-http"));
    return 0;
}

int transport_check(const DaemonOptions *options, char *error) {
    int r;

    if (options->tls.certificate)
        return 0;
    r = check_verbs(options, error);
    return r < 0 ? r : check_pages(options, error);
}
