#pragma once

/* The answer of a verb as the reply to a request. */

#include "extender/verbs.h"
#include "http/server.h"

static inline void reply_with(HttpReply *reply, const Answer *answer) {
    reply->status = answer->status;
    reply->content_type = "application/json";
    reply->slices = answer->body.slices.items;
    reply->n_slices = answer->body.slices.n;
    reply->secret = answer->decision.pod_text;
}
