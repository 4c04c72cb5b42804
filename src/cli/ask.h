#pragma once

/*
 * Ask: questions to a berth that is running, over HTTP or HTTPS.
 */

#include "base/arena.h"
#include "base/str.h"

#define ASK_REPLY_MAX ((size_t)64 * 1024 * 1024)
#define ASK_ERROR_MAX 512u

/* Where it is, and how to get in; what is NULL is not used. */
typedef struct AskAccess {
    const char *server; /* "http://127.0.0.1:8080" */
    const char *ca;     /* PEM files: who may have signed its certificate, */
    const char *cert;   /* and our own, with its key */
    const char *key;
} AskAccess;

/* The JSON behind @path, query included, in @arena. 0; 1 when berth says no (404, 403, …) or
 * cannot be reached, with why in @error (ASK_ERROR_MAX); or -ENOMEM. */
int ask_get(const AskAccess *access, Str path, Arena *arena, Str *ret, char *error);

/* @text as it may stand in a query. On failure ptr is NULL. */
Str ask_escape(Str text, Arena *arena);
