#pragma once

/*
 * Token: a secret in a file, for clients without a certificate.
 *
 * Accepted as "Authorization: Bearer SECRET"; as password of Basic with any user name, for which
 * browsers prompt; and as "Berth-Token: SECRET", because the API server removes Authorization from
 * requests that it proxies to a pod. Whitespace at the end of the file is ignored. A secret that is
 * too short to be safe, or that a header cannot carry, is rejected, and the one in use stays.
 *
 * Threads: any may compare; one reloads.
 */

#include "base/cleanup.h"
#include "base/str.h"

#define TOKEN_MIN 16u
#define TOKEN_MAX 4096u

typedef struct Token Token;

/* Reads and checks the file. @path is borrowed. 0, or a negative errno with a message for users in
 * @error. */
int token_new(const char *path, Token **ret, char *error, size_t error_size);
Token *token_free(Token *token); /* takes NULL */
DEFINE_CLEANUP(Token *, token_free)

/* Reads the file again. 0; or a negative errno, the reason in @error, and the old secret stays. */
int token_reload(Token *token, char *error, size_t error_size);

/* Whether Authorization or Berth-Token (empty: not sent) has the secret. Takes constant time. */
bool token_opens(Token *token, Str authorization, Str berth_token);
