/* One request to a source, with redirects, and a GET where POST is refused. */

#include "load/poll-request.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/origin.h"
#include "base/url.h"
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

/* --- handlers of a call --- */

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

/* --- on its way --- */

static unsigned seconds_left(const PollRequest *request) {
    int64_t gone = (clock_monotonic_nsec() - request->uptime_nsec) / NSEC_PER_SEC;

    return gone < (int64_t)request->timeout_sec ? request->timeout_sec - (unsigned)gone : 1;
}

static void forget_answer(PollRequest *request) {
    request->is_over = request->is_html = false;
    request->status = 0;
    request->date_sec = 0;
    request->retry_after_sec = -1;
    request->error[0] = '\0';
    buf_reset(&request->location);
    buf_reset(&request->body);
}

static bool poll_request_fail(PollRequest *request) {
    request->is_over = true;
    request->outcome = CALL_BROKEN;
    request->ended_nsec = clock_monotonic_nsec();
    (void)snprintf(request->error, sizeof(request->error), "out of memory");
    return false;
}

/* False: out of memory; it is over. */
static bool poll_request_send(PollRequest *request) {
    const CallHandler handler = {.context = request, .head = on_head, .done = on_end};
    bool has_form = request->form.len > 0;
    CallOptions options = {
        .method = request->is_get || !has_form ? "GET" : "POST",
        .is_from_root = request->is_from_root,
        .may_repeat = true,
        .total_sec = seconds_left(request),
        .bytes_max = VECTOR_BYTES_MAX,
        .answer = &request->body,
    };

    forget_answer(request);
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

/* The path again, with the parameters behind it. */
static void become_get(PollRequest *request) {
    Str form = buf_str(&request->form);

    request->is_get = true;
    buf_append_char(&request->path, str_find(buf_str(&request->path), '?') == SIZE_MAX ? '?' : '&');
    buf_append(&request->path, form);
}

bool poll_request_start(PollRequest *request, PollJob *job, SourceConnection *server) {
    request->is_get = request->is_from_root = request->is_led_astray = false;
    request->n_redirects = 0;
    request->timeout_sec = poll_job_timeout_sec(job);
    request->asked_nsec = clock_wall_nsec();
    request->uptime_nsec = clock_monotonic_nsec();
    request->server = server;
    buf_reset(&request->path);
    buf_reset(&request->form);
    buf_append(&request->path, str_from_c(poll_job_path(job)));
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

/* --- sent elsewhere --- */

static bool is_redirect(unsigned status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* 303 means a GET of the new place; the others the same request there. True: it is
 * on its way again. */
static bool follow_redirect(PollRequest *request) {
    Str path;

    request->is_led_astray = true;
    if (request->n_redirects == POLLER_REDIRECTS_MAX ||
        !origin_is_same(
            str_from_c(access_server(request->server->access)), buf_str(&request->location), &path))
        return false;
    request->n_redirects++;
    request->is_from_root = true;
    request->is_led_astray = false;
    buf_reset(&request->path);
    buf_append(&request->path, str_is_empty(path) ? STR("/") : path);
    if (request->status == 303)
        request->is_get = true;
    return poll_request_send(request);
}

static bool retry_as_get(PollRequest *request) {
    if (request->status != 405 || request->is_get || request->form.len == 0)
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
    if (is_redirect(request->status))
        return !follow_redirect(request);
    return !retry_as_get(request);
}
