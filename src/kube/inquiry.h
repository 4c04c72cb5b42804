#pragma once

/*
 * Inquiry: one request to the API server and its whole answer, for commands that then end.
 *
 * It blocks, up to INQUIRY_SEC; nothing that serves uses it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "kube/access.h"
#include "kube/client.h"

#define INQUIRY_SEC 15
#define INQUIRY_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define INQUIRY_ERROR_MAX 1024u

typedef struct Inquiry {
    const char *method; /* NULL: "GET" */
    const char *path;   /* with the query; begins with '/' */
    Str body;           /* JSON; empty: none */
    unsigned sec;       /* 0: INQUIRY_SEC */
} Inquiry;

typedef struct InquiryReply {
    unsigned status;  /* of HTTP */
    int64_t date_sec; /* since 1970, by the server's clock; 0: it does not say */
    Str body;         /* in the arena */
} InquiryReply;

/* @access is borrowed. 0 when it was answered, whatever the status is; 1 when it was not (no
 * connection, no right to ask at all, too late, too large), with why in @error
 * (INQUIRY_ERROR_MAX); or -ENOMEM. */
int inquiry_run(
    Access *access, const Inquiry *inquiry, Arena *arena, InquiryReply *ret, char *error);

/* The same through @client, whose connections are kept for the next. */
int inquiry_run_with(
    Client *client, const Inquiry *inquiry, Arena *arena, InquiryReply *ret, char *error);

/* Why @reply is no success, for a person: what its Status says, else its number. */
void inquiry_complain(const InquiryReply *reply, Arena *arena, char *error);
