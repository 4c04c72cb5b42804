/* One request to a source, with redirects, and a GET where POST is refused. */

#include "load/poll-request.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/origin.h"
#include "base/url.h"
#include "kube/api-objects.h"
#include "load/vector.h"

#define PATH_MAX_BYTES (POLL_FORM_MAX + (size_t)8 * 1024)

void poll_request_init(PollRequest *request) {
    *request = (PollRequest){
        .path = BUF_INIT(PATH_MAX_BYTES),
        .form = BUF_INIT(POLL_FORM_MAX),
        .location = BUF_INIT(POLL_REQUEST_LOCATION_MAX),
        .body = BUF_INIT(VECTOR_BYTES_MAX),
    };
}

void poll_request_done(PollRequest *request) {
    poll_request_end(request);
    buf_done(&request->path);
    buf_done(&request->form);
    buf_done(&request->location);
    buf_done(&request->body);
}

static void on_head(void *context, const CallHead *head) {
    PollRequest *request = context;

    request->status = head->status;
    if (head->date_sec > 0)
        request->date_sec =
            head->date_sec - (clock_monotonic_nsec() - request->uptime_nsec) / NSEC_PER_SEC;
    request->is_html = str_eq_nocase(head->content_type, STR("text/html"));
    buf_append(&request->location, head->location);
}

static void on_end(void *context, const CallResult *result) {
    PollRequest *request = context;

    request->call = NULL;
    request->is_over = true;
    request->outcome = result->outcome;
    request->status = result->status;
    request->retry_after_sec = result->retry_after_sec;
    request->ended_nsec = clock_monotonic_nsec();
    (void)snprintf(
        request->error, sizeof(request->error), "%s", result->error ? result->error : "");
}

static bool poll_request_fail(PollRequest *request) {
    request->is_over = true;
    request->outcome = CALL_BROKEN;
    request->ended_nsec = clock_monotonic_nsec();
    (void)snprintf(request->error, sizeof(request->error), "out of memory for the query");
    return false;
}

/* Returns false if out of memory; the request has ended. */
static bool poll_request_send(PollRequest *request) {
    const CallHandler handler = {.context = request, .head = on_head, .done = on_end};
    bool has_form = request->form.len > 0;
    int64_t gone = (clock_monotonic_nsec() - request->uptime_nsec) / NSEC_PER_SEC;
    CallOptions options = {
        .method = request->is_get || !has_form ? "GET" : "POST",
        .is_from_root = request->is_from_root,
        .may_repeat = true,
        .total_sec =
            gone < (int64_t)request->timeout_sec ? request->timeout_sec - (unsigned)gone : 1,
        .bytes_max = VECTOR_BYTES_MAX,
        .answer = &request->body,
    };

    request->is_over = request->is_html = false;
    request->status = 0;
    request->date_sec = 0;
    request->retry_after_sec = -1;
    request->error[0] = '\0';
    buf_reset(&request->location);
    buf_reset(&request->body);
    if (has_form && !request->is_get) {
        options.content_type = "application/x-www-form-urlencoded";
        options.body = buf_str(&request->form);
    }
    options.path = url_text(&request->path);
    if (!options.path || buf_error(&request->form))
        return poll_request_fail(request);
    request->call = client_call(request->server->client, &options, &handler);
    return request->call ? true : poll_request_fail(request);
}

/* The path with the parameters appended. */
static void become_get(PollRequest *request) {
    Str form = buf_str(&request->form);

    request->is_get = true;
    buf_append_char(&request->path, str_find(buf_str(&request->path), '?') == SIZE_MAX ? '?' : '&');
    buf_append(&request->path, form);
}

bool poll_request_start(PollRequest *request, PollJob *job, SourceConnection *server) {
    request->is_get = request->is_from_root = request->is_redirect_refused = false;
    request->n_redirects = 0;
    request->timeout_sec = poll_job_timeout_sec(job);
    request->asked_nsec = clock_wall_nsec();
    request->uptime_nsec = clock_monotonic_nsec();
    request->server = server;
    buf_reset(&request->path);
    buf_reset(&request->form);
    poll_job_path(job, &request->path);
    poll_job_form(job, &request->form);
    if (server->wants_get && request->form.len > 0)
        become_get(request);
    if (!poll_request_send(request))
        return false;
    request->job = job;
    job->is_under_way = true;
    server->n_requests++;
    return true;
}

void poll_request_end(PollRequest *request) {
    if (!request->job)
        return;
    call_cancel(request->call);
    request->call = NULL;
    request->job->is_under_way = false;
    request->job = NULL;
    request->server->n_requests--;
    request->server = NULL;
    if (request->body.size > POLL_REQUEST_KEPT)
        buf_done(&request->body);
}

/* 303 means a GET of the new location, other codes the same request there. True: sent again. */
static bool follow_redirect(PollRequest *request) {
    Str path;

    request->is_redirect_refused = true;
    if (request->n_redirects == POLLER_REDIRECTS_MAX ||
        !origin_is_same(
            str_from_c(access_server(request->server->access)), buf_str(&request->location), &path))
        return false;
    request->n_redirects++;
    request->is_from_root = true;
    request->is_redirect_refused = false;
    buf_reset(&request->path);
    buf_append(&request->path, str_is_empty(path) ? STR("/") : path);
    if (request->status == 303)
        request->is_get = true;
    return poll_request_send(request);
}

static bool retry_as_get(PollRequest *request) {
    if (request->is_get || request->form.len == 0)
        return false;
    request->server->wants_get = true;
    become_get(request);
    return poll_request_send(request);
}

bool poll_request_settle(PollRequest *request) {
    if (!request->is_over)
        return false;
    if (request->outcome != CALL_DONE)
        return true;
    switch (request->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return !follow_redirect(request);
    case 405:
        return !retry_as_get(request);
    default:
        return true;
    }
}

#define QUOTE_MAX 160u /* columns of a server's error text */

typedef struct Advice {
    unsigned status;
    const char *name;
    const char *source; /* suggestion for a source */
    const char *api;    /* for metrics.k8s.io */
    const char *custom; /* for custom.metrics.k8s.io; NULL: that of @api */
} Advice;

static const Advice advices[] = {
    {400, "Bad Request", "", ""},
    {401, "Unauthorized", "it does not accept our credentials: check bearerTokenFile or basicAuth",
        "it does not accept our credentials"},
    {403, "Forbidden",
        "we may not query it: check bearerTokenFile or basicAuth, and what that account may do",
        "berth's account needs the right to list nodes and pods of metrics.k8s.io",
        "berth's account needs the right to get nodes/NAME of custom.metrics.k8s.io"},
    {404, "Not Found", "is the path before /api/v1 right?",
        "there is no metrics.k8s.io: is metrics-server installed?",
        "is an adapter installed that serves this metric for nodes?"},
    {405, "Method Not Allowed", "it takes neither POST nor GET: is it a Prometheus?", ""},
    {413, "Content Too Large", "the query is too long for it", ""},
    {414, "URI Too Long", "the query is too long for it", ""},
    {422, "Unprocessable Content", "", ""},
    {429, "Too Many Requests", "a longer interval would help", "a longer interval would help"},
    {500, "Internal Server Error", "", ""},
    {502, "Bad Gateway", "is what is behind that proxy up?", "is metrics-server up?",
        "is the adapter up?"},
    {503, "Service Unavailable", "it may still be starting", "is metrics-server up?",
        "is the adapter up?"},
    {504, "Gateway Timeout", "is what is behind that proxy up?", "is metrics-server up?",
        "is the adapter up?"},
};

static bool is_api(const PollRequest *request) {
    return request->server->name == NULL;
}

static const char *server_url(const PollRequest *request) {
    return access_server(request->server->access);
}

static bool is_html(const PollRequest *request) {
    return request->is_html || str_has_prefix(str_trim(buf_str(&request->body)), STR("<"));
}

/* The server's own error text; empty: nothing that could be shown. */
static Str own_words(const PollRequest *request, Arena *scratch, char text[VECTOR_ERROR_MAX]) {
    Str body = buf_str(&request->body);
    ApiStatus status;
    Vector vector;

    if (str_has_prefix(body, STR("{")) && is_api(request))
        return api_status_read(body, scratch, &status) ? status.message : STR_NULL;
    if (str_has_prefix(body, STR("{")))
        return vector_read_prometheus(body, scratch, &vector, text) == -EPROTO ? str_from_c(text)
                                                                               : STR_NULL;
    if (is_html(request))
        return STR_NULL;
    body = str_trim(body);
    return str_trim(str_take(body, str_find(body, '\n')));
}

static void complain_status(const PollRequest *request, Arena *scratch, Message *message) {
    bool is_custom = request->job->model->gauge.source == GAUGE_CUSTOM;
    const Advice *advice = NULL;
    const char *help = "";
    char text[VECTOR_ERROR_MAX];
    Str words = request->status == 401 ? STR_NULL : own_words(request, scratch, text);

    for (size_t i = 0; i < ELEMENTS_OF(advices) && !advice; i++)
        if (advices[i].status == request->status)
            advice = &advices[i];
    if (advice)
        help = !is_api(request)              ? advice->source
               : is_custom && advice->custom ? advice->custom
                                             : advice->api;
    message_add(message, "%s: answers %u%s%s", server_url(request), request->status,
        advice ? " " : "", advice ? advice->name : "");
    if (!str_is_empty(words) && !(advice && str_is(words, advice->name))) {
        message_add(message, ": ");
        message_show(message, words, QUOTE_MAX);
    }
    if (help[0] != '\0')
        message_add(message, "; %s", help);
}

static void complain_redirect(const PollRequest *request, Message *message) {
    if (request->location.len == 0) {
        message_add(message, "%s: redirects without a Location that could be followed",
            server_url(request));
        return;
    }
    message_add(message, "%s: redirects to ", server_url(request));
    message_show(message, buf_str(&request->location), QUOTE_MAX);
    if (request->n_redirects == POLLER_REDIRECTS_MAX)
        message_add(
            message, ", after %u redirects: none is followed any more", POLLER_REDIRECTS_MAX);
    else
        message_add(message,
            ", another server, which gets neither credentials nor queries; if it is the right "
            "one, let the source's url name it");
}

static const char *outcome_advice(const PollRequest *request) {
    /* CALL_REFUSED also stands for certificate errors, for which this advice would be wrong. */
    bool is_unreachable =
        strstr(request->error, "connection refused") || strstr(request->error, "resolve");

    if (request->outcome == CALL_TIMEOUT)
        return request->status != 0 || is_api(request)
                   ? "; it, or the way to it, is too slow"
                   : "; is it up, and is the query a cheap one? A recording rule may help";
    return request->outcome == CALL_REFUSED && !is_api(request) && is_unreachable
               ? "; is it up, and is the source's url right?"
               : "";
}

static void complain_outcome(const PollRequest *request, Message *message) {
    if (request->outcome == CALL_TOO_LARGE || buf_error(&request->body) == -EFBIG)
        message_add(message, "%s: the answer is larger than %zu MiB%s", server_url(request),
            VECTOR_BYTES_MAX >> 20,
            is_api(request) ? "" : "; aggregate in the query, as in sum by (node) (…)");
    else if (buf_error(&request->body) != 0)
        message_add(message, "%s: out of memory for its answer", server_url(request));
    else
        message_add(message, "%s%s", request->error, outcome_advice(request));
}

bool poll_request_error(const PollRequest *request, Arena *scratch, char *ret) {
    Message message = message_begin(ret, POLLER_ERROR_MAX);

    if (request->outcome == CALL_DONE && request->status == 200 && !is_html(request))
        return false;
    if (request->is_redirect_refused)
        complain_redirect(request, &message);
    else if (request->status == 401 || (request->outcome == CALL_DONE && request->status != 200))
        complain_status(request, scratch, &message);
    else if (request->outcome == CALL_DONE)
        message_add(&message,
            "%s: answers with a web page instead of JSON; is a login in front of it, or is its url "
            "not that of a Prometheus?",
            server_url(request));
    else
        complain_outcome(request, &message);
    return true;
}
