#pragma once

/*
 * Token: a secret in a file, for clients without a certificate.
 *
 * It is accepted as "Authorization: Bearer SECRET", as the password of Basic with any user name,
 * because that is what a browser prompts for, and as "Berth-Token: SECRET", because the API server
 * removes Authorization from requests that it passes on to a pod. Whitespace at the end of the file
 * does not count. A secret that is too short to be safe, or that no header can carry, is rejected,
 * and the one in use stays.
 *
 * Any thread may compare; one thread reloads.
 */

#include "base/cleanup.h"
#include "base/str.h"

#define TOKEN_MIN 16u
#define TOKEN_MAX 4096u

typedef struct Token Token;

/* Reads and checks. 0, or a negative errno with a sentence for users in @error. The path is
 * borrowed. */
int token_new(const char *path, Token **ret, char *error, size_t error_size);
Token *token_free(Token *token); /* takes NULL */
DEFINE_CLEANUP(Token *, token_free)

/* Reads the file again. 0, or a negative errno with why in @error: the old one stays. */
int token_reload(Token *token, char *error, size_t error_size);

/* Whether one of the headers Authorization and Berth-Token (empty: not sent) carries the secret.
 * Takes constant time. */
bool token_opens(Token *token, Str authorization, Str berth_token);
