/*
 * libcurl has one code for many causes, and words for those who know it. A person wants to know
 * what the server, the network or the configuration did.
 */

#include <errno.h>
#include <gnutls/x509.h>
#include <string.h>

#include "kube/client-internal.h"

/* Why a certificate was not taken. */
static void explain_certificate(Call *call) {
    const char *server = access_server(call->client->access);
    const char *origin = access_origin(call->client->access);
    long status = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &status);
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
        call_stop(call, CALL_REFUSED, "%s: its certificate is not signed by the CA of %s", server,
            origin);
    else if (status & GNUTLS_CERT_EXPIRED)
        call_stop(call, CALL_REFUSED, "%s: its certificate has expired", server);
    else if (status & GNUTLS_CERT_NOT_ACTIVATED)
        call_stop(call, CALL_REFUSED, "%s: its certificate is not valid yet", server);
    else if (status != 0)
        call_stop(call, CALL_REFUSED,
            "%s: its certificate cannot be trusted (verification status 0x%lx)", server, status);
    else
        call_stop(call, CALL_REFUSED, "%s: %s", server, call->curl_error);
}

/* "connection refused": the error of the system; NULL: none. */
static const char *system_words(const Call *call) {
    long number = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    switch (number) {
    case 0:
        return NULL;
    case ECONNREFUSED:
        return "connection refused";
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "no route to it";
    default:
        return strerror((int)number);
    }
}

static const char *curl_words(const Call *call, CURLcode code) {
    if (strstr(call->curl_error, "getpeername()")) /* so libcurl notices it at times */
        return "the connection ended before an answer came";
    return call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(code);
}

/* An alert of GnuTLS for which libcurl has no code: with TLS 1.3 a server rejects a client
 * certificate only after the handshake, when the request was sent already. */
static bool is_alert(const Call *call) {
    return call->n_header_bytes == 0 && strstr(call->curl_error, "fatal alert");
}

static bool is_key_unusable(const Call *call) {
    return strstr(call->curl_error, "X.509 key or certificate file") != NULL;
}

static void explain_tls(Call *call, const char *words) {
    const char *server = access_server(call->client->access);
    const char *origin = access_origin(call->client->access);

    if (is_key_unusable(call))
        call_stop(call, CALL_REFUSED,
            "%s: the client certificate and key of %s cannot be used, or are no pair", server,
            origin);
    else if (is_alert(call) && identity_has_certificate(call->identity))
        call_stop(call, CALL_REFUSED,
            "%s: it ended the TLS handshake; it may not accept the client certificate of %s (%s)",
            server, origin, words);
    else if (is_alert(call))
        call_stop(call, CALL_REFUSED, "%s: it ended the TLS handshake (%s)", server, words);
}

void client_explain(Call *call, CURLcode code) {
    const char *server = access_server(call->client->access);
    const char *origin = access_origin(call->client->access);
    const char *words = curl_words(call, code);

    switch (code) {
    case CURLE_COULDNT_CONNECT:
        words = call->refusal[0] != '\0' ? call->refusal
                : system_words(call)     ? system_words(call)
                                         : words;
        call_stop(call, CALL_REFUSED, "%s: %s", server, words);
        break;
    case CURLE_COULDNT_RESOLVE_PROXY: /* libcurl would repeat its URL, password and all */
        call_stop(call, CALL_REFUSED, "%s: the proxy on the way to it is not known", server);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        explain_certificate(call);
        break;
    case CURLE_SSL_CACERT_BADFILE:
        call_stop(call, CALL_REFUSED, "%s: the CA of %s cannot be used", server, origin);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        call_stop(call, CALL_TIMEOUT, "%s: no connection within %d s", server, CLIENT_CONNECT_SEC);
        break;
    case CURLE_OUT_OF_MEMORY:
        if (call->n_sent > 0 && !call->has_head) /* so libcurl calls a line over 100 KiB, too */
            words = "the headers of the answer are too long, or out of memory";
        call_stop(call, CALL_BROKEN, "%s: %s", server, words);
        break;
    case CURLE_OK: /* so libcurl calls a head that ends in the middle */
        call_stop(call, CALL_BROKEN, "%s: the answer ended in its headers", server);
        break;
    default:
        explain_tls(call, words);
        /* Before a request went out, everything is a connection that did not come about. */
        call_stop(call, call->n_sent == 0 ? CALL_REFUSED : CALL_BROKEN, "%s: %s", server, words);
        break;
    }
}
