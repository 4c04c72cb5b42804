/* Starts one call of the Client and waits for its end. */

#include "kube/blocking-client.h"

#include <errno.h>

#include "base/message.h"
#include "kube/api-objects.h"

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

static void take_end(void *context, const CallResult *result) {
    Answer *answer = context;

    answer->is_done = true;
    answer->outcome = result->outcome;
    answer->status = result->status;
    if (result->outcome != CALL_DONE)
        message_set(answer->error, BLOCKING_CLIENT_ERROR_MAX, "%s", result->error);
}

static int await(Client *client, BlockingRequest request, Answer *answer) {
    const CallHandler handler = {.context = answer, .head = take_head, .done = take_end};

    request.method = request.method ?: "GET";
    request.total_sec = request.total_sec ?: BLOCKING_CLIENT_SEC;
    request.bytes_max = request.bytes_max ?: BLOCKING_CLIENT_BYTES_MAX;
    if (str_is_empty(request.body))
        request.content_type = NULL;
    else if (!request.content_type)
        request.content_type = "application/json";
    answer->body = BUF_INIT(request.bytes_max);
    request.answer = &answer->body;
    if (!client_call(client, &request, &handler))
        return -ENOMEM;
    while (!answer->is_done) {
        int r = client_wait(client, 1000);

        if (r < 0)
            return r;
    }
    return 0;
}

int blocking_client_request_with(
    Client *client, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error) {
    Answer answer = {.error = error};
    int r;

    *ret = (BlockingReply){0};
    message_set(error, BLOCKING_CLIENT_ERROR_MAX, "out of memory for the reply");
    r = await(client, *request, &answer);
    if (r < 0 || buf_error(&answer.body) == -ENOMEM) {
        r = -ENOMEM;
    } else if (answer.outcome != CALL_DONE) {
        r = 1;
    } else {
        ret->status = answer.status;
        ret->date_sec = answer.date_sec;
        ret->body = arena_copy(arena, buf_str(&answer.body));
        r = ret->body.ptr ? 0 : -ENOMEM;
    }
    buf_done(&answer.body);
    return r;
}

int blocking_client_request(
    Access *access, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error) {
    _cleanup_(client_freep) Client *client = client_new(access);

    *ret = (BlockingReply){0};
    return client ? blocking_client_request_with(client, request, arena, ret, error) : -ENOMEM;
}

void blocking_client_explain(const BlockingReply *reply, Arena *arena, char *error) {
    ApiStatus status;

    if (api_status_read(reply->body, arena, &status) && !str_is_empty(status.message))
        message_set(error, BLOCKING_CLIENT_ERROR_MAX, "the API server answered %u: %.*s",
            reply->status, STR_FMT(status.message));
    else
        message_set(error, BLOCKING_CLIENT_ERROR_MAX, "the API server answered %u", reply->status);
}
