/* One Binding: the POST, and GETs of the pod if the answer does not tell whether it was bound. */

#include "kube/binding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/url.h"
#include "kube/api-objects.h"
#include "model/node.h"
#include "json/fields.h"
#include "json/write.h"

#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define ANSWER_BUDGET ((size_t)1024 * 1024)

struct Binding {
    BindingOptions options;
    int64_t retry_at; /* when to read the pod again; INT64_MAX: a call runs */
    Call *call;
    Buf answer;
    bool is_reading;             /* the call reads the pod */
    bool is_refused;             /* the POST conflicted (409) */
    char why[BINDING_ERROR_MAX]; /* the error of the POST */
    char found_on[NODE_NAME_MAX + 1];
};

/* The fields of a pod that tell its node. */
typedef struct PodLocation {
    Str uid, node;
} PodLocation;

/* Calls done(), which may free @binding: do not use it afterwards. */
__attribute__((format(printf, 3, 4))) static void finish(
    Binding *binding, BindingOutcome outcome, const char *format, ...) {
    char error[BINDING_ERROR_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error, sizeof(error), format, arguments);
    va_end(arguments);
    binding->options.done(
        binding->options.context, outcome, outcome == BINDING_BOUND ? NULL : error);
}

static void finish_unknown(Binding *binding, const char *why) {
    finish(binding, BINDING_UNKNOWN,
        "it is not known whether the pod was bound: %.200s; then: %.200s", binding->why, why);
}

/* The pod has no node. Before decided_nsec, an earlier Binding may still be committed. */
static void finish_unbound(Binding *binding) {
    const BindingOptions *options = &binding->options;

    if (clock_monotonic_nsec() >= options->decided_nsec)
        finish(binding, BINDING_UNBOUND, "the pod has no node");
    else if (options->decided_nsec >= options->deadline_nsec)
        finish_unknown(binding, "the pod has no node");
    else
        binding->retry_at = options->decided_nsec;
}

Str binding_found_on(const Binding *binding) {
    return str_from_c(binding->found_on);
}

static bool read_location(Str text, Arena *arena, PodLocation *ret) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.uid", TEXT, PodLocation, uid),
        JSON_MEMBER("spec.nodeName", TEXT, PodLocation, node),
    };

    *ret = (PodLocation){0};
    return JSON_READ_DOCUMENT(text, arena, fields, ret) && !str_is_empty(ret->uid);
}

static void conclude(Binding *binding, const PodLocation *pod) {
    if (!str_eq(pod->uid, binding->options.uid))
        finish(binding, BINDING_FAILED, "the pod was recreated: it has another UID");
    else if (str_eq(pod->node, binding->options.node))
        finish(binding, BINDING_BOUND, "bound");
    else if (!str_is_empty(pod->node)) {
        (void)snprintf(binding->found_on, sizeof(binding->found_on), "%.*s", STR_FMT(pod->node));
        finish(binding, BINDING_FAILED, "the pod is on node %s already", binding->found_on);
    } else if (binding->options.only_reads)
        finish_unbound(binding);
    else if (binding->is_refused)
        finish(binding, BINDING_FAILED, "the pod was not bound: %s", binding->why);
    else /* an unanswered POST may still be committed */
        finish_unknown(binding, "the pod has no node");
}

/* The API server may be restarting: reads again until the deadline. */
static void read_later(Binding *binding, const char *why) {
    int64_t at = clock_monotonic_nsec() + BINDING_PAUSE_MSEC * NSEC_PER_MSEC;

    if (at >= binding->options.deadline_nsec)
        finish_unknown(binding, why);
    else
        binding->retry_at = at;
}

static void on_pod_read(Binding *binding, const CallResult *result) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    char why[64];
    PodLocation pod;

    if (result->outcome != CALL_DONE) {
        read_later(binding, result->error);
    } else if (result->status == 404) {
        finish(binding, BINDING_FAILED, "the pod is gone");
    } else if (result->status != 200) {
        /* Also a 403: a starting API server sends it until it has its RBAC rules. */
        (void)snprintf(why, sizeof(why), "HTTP %u%s", result->status,
            result->status == 403 ? " (needs the right get on pods)" : "");
        read_later(binding, why);
    } else if (arena && read_location(buf_str(&binding->answer), arena, &pod)) {
        conclude(binding, &pod);
    } else {
        finish_unknown(binding, "the answer is no pod");
    }
}

static void explain_refusal(Binding *binding, unsigned code) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    ApiStatus status = {0};

    if (arena)
        (void)api_status_read(buf_str(&binding->answer), arena, &status);
    (void)snprintf(binding->why, sizeof(binding->why), "HTTP %u%s%.*s%s", code,
        str_is_empty(status.message) ? "" : ": ", STR_FMT(str_take(status.message, 300)),
        code == 403 ? " (needs the right create on pods/binding)" : "");
}

static void start_reading(Binding *binding);

/* Whether the pod is certainly not bound. A 200 proves nothing: an API server sends 201, and a pod
 * that is wrongly reported as bound would stay pending. A conflict proves nothing: an earlier try
 * may have bound the pod. */
static bool is_certain(const CallResult *result) {
    unsigned code = result->status;

    if (result->outcome == CALL_UNAUTHORIZED || !result->was_sent)
        return true;
    return result->outcome == CALL_DONE && code >= 400 && code < 500 && code != 408 && code != 409;
}

static void on_posted(Binding *binding, const CallResult *result) {
    if (result->outcome == CALL_DONE && result->status == 201) {
        finish(binding, BINDING_BOUND, "bound");
        return;
    }
    if (result->outcome == CALL_DONE)
        explain_refusal(binding, result->status);
    else
        (void)snprintf(binding->why, sizeof(binding->why), "%s", result->error);

    binding->is_refused = result->outcome == CALL_DONE && result->status == 409;
    if (result->outcome == CALL_DONE && result->status == 404)
        finish(binding, BINDING_FAILED, "the pod is gone: %s", binding->why);
    else if (is_certain(result))
        finish(binding, BINDING_FAILED, "the pod was not bound: %s", binding->why);
    else
        start_reading(binding);
}

/* Reading the pod is always allowed. */
static bool may_send(void *context) {
    const Binding *binding = context;
    const BindingOptions *options = &binding->options;

    return binding->is_reading || !options->may_send || options->may_send(options->context);
}

static void on_done(void *context, const CallResult *result) {
    Binding *binding = context;

    binding->call = NULL;
    if (binding->is_reading)
        on_pod_read(binding, result);
    else
        on_posted(binding, result);
}

static void write_body(const BindingOptions *options, Buf *out) {
    const Labels *annotations = &options->annotations;
    JsonWriter writer = JSON_WRITER(out);

    /* The API server rejects the UID of another pod. */
    json_write(&writer,
        "{apiVersion: 'v1', kind: 'Binding', metadata: {name: %.*s, namespace: %.*s, uid: %.*s",
        STR_FMT(options->name), STR_FMT(options->namespace), STR_FMT(options->uid));
    if (annotations->n > 0) {
        json_member_object(&writer, "annotations");
        for (size_t i = 0; i < annotations->n; i++)
            json_write_member(&writer, annotations->items[i].key, annotations->items[i].value);
        json_write_end_object(&writer);
    }
    json_write(&writer, "}, target: {kind: 'Node', name: %.*s}}", STR_FMT(options->node));
}

/* False when out of memory. */
static bool start_call(Binding *binding, const char *subresource, CallOptions *call) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    const CallHandler handler = {.context = binding, .may_send = may_send, .done = on_done};

    buf_done(&binding->answer);
    binding->retry_at = INT64_MAX;
    pod_path(&path, binding->options.namespace, binding->options.name);
    buf_append(&path, str_from_c(subresource));
    call->path = url_text(&path);
    call->bytes_max = BINDING_ANSWER_MAX;
    call->answer = &binding->answer;
    if (call->path)
        binding->call = client_call(binding->options.client, call, &handler);
    return binding->call != NULL;
}

static void start_reading(Binding *binding) {
    CallOptions call = {.method = "GET", .total_sec = BINDING_GET_SEC};

    binding->is_reading = true;
    if (!start_call(binding, "", &call)) /* out of memory: retry soon */
        binding->retry_at = clock_monotonic_nsec() + BINDING_PAUSE_MSEC * NSEC_PER_MSEC;
}

Binding *binding_new(const BindingOptions *options) {
    _cleanup_(buf_done) Buf body = BUF_INIT(BINDING_BODY_MAX);
    CallOptions call = {
        .method = "POST",
        .content_type = "application/json",
        .total_sec = BINDING_POST_SEC,
    };
    Binding *binding = calloc(1, sizeof(*binding));

    if (!binding)
        return NULL;
    binding->options = *options;
    binding->answer = BUF_INIT(BINDING_ANSWER_MAX);
    if (options->only_reads) {
        (void)snprintf(binding->why, sizeof(binding->why), "an earlier try got no answer");
        start_reading(binding);
        return binding;
    }
    write_body(options, &body);
    call.body = buf_str(&body);
    return !buf_error(&body) && start_call(binding, "/binding", &call) ? binding
                                                                       : binding_free(binding);
}

Binding *binding_free(Binding *binding) {
    if (!binding)
        return NULL;
    call_cancel(binding->call);
    buf_done(&binding->answer);
    free(binding);
    return NULL;
}

int64_t binding_tick(Binding *binding, int64_t now_nsec) {
    if (now_nsec >= binding->options.deadline_nsec) {
        call_cancel(TAKE_PTR(binding->call));
        if (binding->why[0] == '\0')
            (void)snprintf(binding->why, sizeof(binding->why), "no answer");
        finish_unknown(binding, "its time is over");
        return INT64_MAX;
    }
    if (now_nsec >= binding->retry_at)
        start_reading(binding);
    return binding->retry_at < binding->options.deadline_nsec ? binding->retry_at
                                                              : binding->options.deadline_nsec;
}
