#pragma once

/*
 * Ask: questions to a berth that is running, over HTTP or HTTPS.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define ASK_REPLY_MAX ((size_t)64 * 1024 * 1024)
#define ASK_ERROR_MAX 512u
#define ASK_TIMEOUT_MSEC 10000L

/* Where it is, and how to get in; what is NULL is not used. */
typedef struct AskAccess {
    const char *server; /* "http://127.0.0.1:8080" */
    const char *ca;     /* PEM files: who may have signed its certificate, */
    const char *cert;   /* and our own, with its key */
    const char *key;
    const char *token; /* Authorization: Bearer …; in the clear to loopback only */
    long timeout_msec; /* for the whole answer; 0: ASK_TIMEOUT_MSEC */
} AskAccess;

typedef struct AskReply {
    unsigned status;
    int64_t date_sec; /* since 1970, by its clock; 0: it does not say */
    Str body;         /* in the arena */
} AskReply;

/* What it answers behind @path, whatever the status is; with a @body (JSON) it is POSTed. 0; 1
 * when it cannot be reached, with why in @error (ASK_ERROR_MAX); or -ENOMEM. */
int ask(const AskAccess *access, Str path, Str body, Arena *arena, AskReply *ret, char *error);

/* Why @reply is no success, for a person: what berth says, else the status. */
void ask_complain(const AskAccess *access, const AskReply *reply, Arena *arena, char *error);

/* The JSON behind @path, query included, in @arena. 0; 1 when berth says no (404, 403, …) or
 * cannot be reached, with why in @error (ASK_ERROR_MAX); or -ENOMEM. */
int ask_get(const AskAccess *access, Str path, Arena *arena, Str *ret, char *error);

/* @text as it may stand in a query. On failure ptr is NULL. */
Str ask_escape(Str text, Arena *arena);
