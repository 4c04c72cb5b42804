#include "demo/caller.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"

struct Caller {
    CURL *curl;
    struct curl_slist *headers;
    Buf reply;
    char *urls[_VERB_MAX];
    char error[CURL_ERROR_SIZE];
};

static size_t take(char *bytes, size_t size, size_t n, void *context) {
    Caller *caller = context;

    buf_append(&caller->reply, str_of(bytes, size * n));
    return buf_error(&caller->reply) == 0 ? size * n : 0;
}

/* As kube-scheduler's Go client: no Expect, no Accept. Who it is, is said. */
static bool set_headers(Caller *caller) {
    static const char *const lines[] = {
        "Content-Type: application/json", "User-Agent: berth-demo", "Accept:", "Expect:"};

    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        struct curl_slist *longer = curl_slist_append(caller->headers, lines[i]);

        if (!longer)
            return false;
        caller->headers = longer;
    }
    return curl_easy_setopt(caller->curl, CURLOPT_HTTPHEADER, caller->headers) == CURLE_OK;
}

static bool set_options(Caller *caller) {
    CURL *curl = caller->curl;

    return curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, CALLER_TIMEOUT_MSEC) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, caller->error) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, caller) == CURLE_OK && set_headers(caller);
}

static bool caller_init(Caller *caller, const char *url) {
    caller->reply = BUF_INIT(CALLER_REPLY_MAX);
    caller->curl = curl_easy_init();
    if (!caller->curl || !set_options(caller))
        return false;
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        if (asprintf(&caller->urls[verb], "%s/%s", url, verb_name(verb)) < 0) {
            caller->urls[verb] = NULL;
            return false;
        }
    return true;
}

Caller *caller_new(const char *url) {
    Caller *caller = calloc(1, sizeof(*caller));

    if (caller && !caller_init(caller, url))
        return caller_free(caller);
    return caller;
}

Caller *caller_free(Caller *caller) {
    if (!caller)
        return NULL;
    curl_easy_cleanup(caller->curl);
    curl_slist_free_all(caller->headers);
    buf_done(&caller->reply);
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        free(caller->urls[verb]);
    free(caller);
    return NULL;
}

static int perform(Caller *caller, Verb verb, Str body) {
    long status = 0;
    CURLcode code;

    caller->error[0] = '\0';
    buf_reset(&caller->reply);
    code = curl_easy_setopt(caller->curl, CURLOPT_URL, caller->urls[verb]);
    if (code == CURLE_OK)
        code = curl_easy_setopt(
            caller->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len); /* before the body */
    if (code == CURLE_OK)
        code = curl_easy_setopt(caller->curl, CURLOPT_POSTFIELDS, body.ptr); /* borrowed */
    if (code == CURLE_OK)
        code = curl_easy_perform(caller->curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(caller->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
        if (caller->error[0] == '\0')
            (void)snprintf(caller->error, sizeof(caller->error), "%s", curl_easy_strerror(code));
        return CALLER_E_CONNECTION;
    }
    if (status == 200)
        return 0;
    (void)snprintf(caller->error, sizeof(caller->error), "%s: status %ld", verb_name(verb), status);
    return CALLER_E_STATUS;
}

int caller_call(
    Caller *caller, Verb verb, Str body, Arena *arena, Str *ret_reply, int64_t *ret_nsec) {
    int64_t start = clock_monotonic_nsec();
    int r = perform(caller, verb, body);

    if (r != 0)
        return r;
    *ret_nsec = clock_monotonic_nsec() - start;
    *ret_reply = arena_copy(arena, buf_str(&caller->reply));
    return ret_reply->ptr ? 0 : -ENOMEM;
}

const char *caller_error(const Caller *caller) {
    return caller->error;
}
