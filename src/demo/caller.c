#include "demo/caller.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"

struct Caller {
    CURL *curl;
    struct curl_slist *headers;
    Buf reply;
    char *urls[_VERB_MAX];
    char error[CURL_ERROR_SIZE];
};

static size_t take(char *bytes, size_t size, size_t n, void *context) {
    Caller *client = context;

    buf_append(&client->reply, str_of(bytes, size * n));
    return buf_error(&client->reply) == 0 ? size * n : 0;
}

/* What kube-scheduler's Go client sends, and nothing else: no Expect, no Accept. */
static bool set_headers(Caller *client) {
    static const char *const lines[] = {
        "Content-Type: application/json", "User-Agent: berth-demo", "Accept:", "Expect:"};

    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        struct curl_slist *longer = curl_slist_append(client->headers, lines[i]);

        if (!longer)
            return false;
        client->headers = longer;
    }
    return curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK;
}

static bool set_options(Caller *client) {
    CURL *curl = client->curl;

    return curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, CLIENT_TIMEOUT_MSEC) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->error) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, client) == CURLE_OK && set_headers(client);
}

static bool caller_init(Caller *client, const char *url) {
    client->reply = BUF_INIT(CLIENT_REPLY_MAX);
    client->curl = curl_easy_init();
    if (!client->curl || !set_options(client))
        return false;
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        if (asprintf(&client->urls[verb], "%s/%s", url, verb_name(verb)) < 0) {
            client->urls[verb] = NULL;
            return false;
        }
    return true;
}

Caller *caller_new(const char *url) {
    Caller *client = calloc(1, sizeof(*client));

    if (client && !caller_init(client, url))
        return caller_free(client);
    return client;
}

Caller *caller_free(Caller *client) {
    if (!client)
        return NULL;
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(client->headers);
    buf_done(&client->reply);
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        free(client->urls[verb]);
    free(client);
    return NULL;
}

static int perform(Caller *client, Verb verb, Str body) {
    long status = 0;
    CURLcode code;

    client->error[0] = '\0';
    buf_reset(&client->reply);
    code = curl_easy_setopt(client->curl, CURLOPT_URL, client->urls[verb]);
    if (code == CURLE_OK)
        code = curl_easy_setopt(
            client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len); /* before the body */
    if (code == CURLE_OK)
        code = curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body.ptr); /* borrowed */
    if (code == CURLE_OK)
        code = curl_easy_perform(client->curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
        if (client->error[0] == '\0')
            (void)snprintf(client->error, sizeof(client->error), "%s", curl_easy_strerror(code));
        return CLIENT_E_CONNECTION;
    }
    if (status == 200)
        return 0;
    (void)snprintf(client->error, sizeof(client->error), "%s: status %ld", verb_name(verb), status);
    return CLIENT_E_STATUS;
}

int caller_call(
    Caller *client, Verb verb, Str body, Arena *arena, Str *ret_reply, int64_t *ret_nsec) {
    int64_t start = clock_monotonic_nsec();
    int r = perform(client, verb, body);

    if (r != 0)
        return r;
    *ret_nsec = clock_monotonic_nsec() - start;
    *ret_reply = arena_copy(arena, buf_str(&client->reply));
    return ret_reply->ptr ? 0 : error_origin(-ENOMEM);
}

const char *caller_error(const Caller *client) {
    return client->error;
}
