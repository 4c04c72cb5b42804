/*
 * A call of the Client, waited for.
 */

#include "kube/inquiry.h"

#include <errno.h>
#include <stdbool.h>

#include "base/buf.h"
#include "kube/client.h"
#include "kube/message.h"
#include "kube/status.h"

typedef struct Answer {
    Buf body;
    int64_t date_sec;
    unsigned status;
    CallOutcome outcome;
    bool is_done;
    char *error;
} Answer;

static void take_head(void *context, const CallHead *head) {
    Answer *answer = context;

    answer->date_sec = head->date_sec;
}

static bool take_data(void *context, Str bytes) {
    Answer *answer = context;

    buf_append(&answer->body, bytes);
    return buf_error(&answer->body) == 0;
}

static void take_end(void *context, const CallResult *result) {
    Answer *answer = context;

    answer->is_done = true;
    answer->outcome = result->outcome;
    answer->status = result->status;
    if (result->outcome != CALL_DONE)
        message_set(answer->error, INQUIRY_ERROR_MAX, "%s", result->error);
}

static int await(Client *client, const Inquiry *inquiry, Answer *answer) {
    bool has_body = !str_is_empty(inquiry->body);
    const CallOptions options = {
        .method = inquiry->method ? inquiry->method : "GET",
        .path = inquiry->path,
        .content_type = has_body ? "application/json" : NULL,
        .body = inquiry->body,
        .total_sec = inquiry->sec > 0 ? inquiry->sec : INQUIRY_SEC,
        .bytes_max = INQUIRY_BYTES_MAX,
    };
    const CallHandler handler = {
        .context = answer, .head = take_head, .data = take_data, .done = take_end};

    if (!client_call(client, &options, &handler))
        return -ENOMEM;
    while (!answer->is_done) {
        int r = client_wait(client, 1000);

        if (r < 0)
            return r;
    }
    return 0;
}

static int conclude(const Answer *answer, Arena *arena, InquiryReply *ret) {
    if (buf_error(&answer->body) == -ENOMEM)
        return -ENOMEM;
    if (answer->outcome != CALL_DONE)
        return 1;
    ret->status = answer->status;
    ret->date_sec = answer->date_sec;
    ret->body = arena_copy(arena, buf_str(&answer->body));
    return ret->body.ptr ? 0 : -ENOMEM;
}

int inquiry_run_with(
    Client *client, const Inquiry *inquiry, Arena *arena, InquiryReply *ret, char *error) {
    Answer answer = {.body = BUF_INIT(INQUIRY_BYTES_MAX), .error = error};
    int r;

    *ret = (InquiryReply){0};
    message_set(error, INQUIRY_ERROR_MAX, "out of memory");
    r = await(client, inquiry, &answer);
    r = r < 0 ? -ENOMEM : conclude(&answer, arena, ret);
    buf_done(&answer.body);
    return r;
}

int inquiry_run(
    Access *access, const Inquiry *inquiry, Arena *arena, InquiryReply *ret, char *error) {
    _cleanup_(client_freep) Client *client = client_new(access);

    *ret = (InquiryReply){0};
    return client ? inquiry_run_with(client, inquiry, arena, ret, error) : -ENOMEM;
}

void inquiry_complain(const InquiryReply *reply, Arena *arena, char *error) {
    ApiStatus status;

    if (api_status_read(reply->body, arena, &status) && !str_is_empty(status.message))
        message_set(error,
            INQUIRY_ERROR_MAX,
            "the API server says %u: %.*s",
            reply->status,
            STR_FMT(status.message));
    else
        message_set(error, INQUIRY_ERROR_MAX, "the API server says %u", reply->status);
}
