/* The secret of --pages-token-file, compared in constant time. */

#include "api/token.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/message.h"
#include "base/thread.h"
#include "input/file.h"

/* Limit of the file: the secret and white space around it. */
#define FILE_MAX ((size_t)2 * TOKEN_MAX)

/* Limit of Basic credentials: a name, and the secret as password. */
#define BASIC_MAX ((size_t)2 * TOKEN_MAX)

struct Token {
    const char *path;
    pthread_mutex_t lock; /* protects secret and len */
    char secret[TOKEN_MAX];
    size_t len;
};

static void forget(Buf *text) {
    if (text->data)
        explicit_bzero(text->data, text->size);
    buf_done(text);
}

/* Returns the error in @secret; NULL if it is valid. */
static const char *find_fault(Str secret) {
    if (secret.len < TOKEN_MIN)
        return "a token has at least 16 characters; `openssl rand -hex 32` makes a good one";
    if (secret.len > TOKEN_MAX)
        return "a token has at most 4096 characters";
    for (size_t i = 0; i < secret.len; i++) /* allowed in a header (RFC 9110), except spaces */
        if (secret.ptr[i] <= ' ' || secret.ptr[i] > '~')
            return "a token is one word of visible ASCII characters";
    return NULL;
}

int token_reload(Token *token, char *error, size_t error_size) {
    _cleanup_(forget) Buf text = BUF_INIT(FILE_MAX);
    char problem[FILE_ERROR_MAX];
    const char *fault;
    Str secret;
    int r = file_read(token->path, &text, problem);

    if (r < 0) {
        (void)snprintf(error, error_size, "token %s", problem);
        return r;
    }
    secret = str_trim(buf_str(&text));
    fault = find_fault(secret);
    if (fault) {
        (void)snprintf(error, error_size, "token %s: %s", token->path, fault);
        return -EINVAL;
    }
    (void)pthread_mutex_lock(&token->lock);
    memcpy(token->secret, secret.ptr, secret.len);
    token->len = secret.len;
    (void)pthread_mutex_unlock(&token->lock);
    return 0;
}

int token_new(const char *path, Token **ret, char *error, size_t error_size) {
    _cleanup_(token_freep) Token *token = calloc(1, sizeof(*token));
    int r;

    if (!token)
        return message_no_memory(error, error_size, "the token", NULL);
    token->path = path;
    (void)pthread_mutex_init(&token->lock, NULL);
    r = token_reload(token, error, error_size);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(token);
    return 0;
}

Token *token_free(Token *token) {
    if (!token)
        return NULL;
    explicit_bzero(token->secret, sizeof(token->secret));
    (void)pthread_mutex_destroy(&token->lock);
    free(token);
    return NULL;
}

static bool is_secret(Token *token, Str shown) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&token->lock);

    return shown.len == token->len && gnutls_memcmp(shown.ptr, token->secret, token->len) == 0;
}

/* Finds the text after @scheme. False: another scheme. */
static bool take_scheme(Str authorization, Str scheme, Str *ret) {
    *ret = str_trim(str_skip(authorization, scheme.len));
    return str_eq_nocase(str_take(authorization, scheme.len), scheme);
}

/* Whether @shown, base64 of NAME:PASSWORD (RFC 7617), has the secret as password. */
static bool is_password(Token *token, Str shown) {
    _cleanup_(forget) Buf text = BUF_INIT(BASIC_MAX);
    size_t colon;

    if (!base64_decode(shown, &text) || buf_error(&text) != 0)
        return false;
    colon = str_find(buf_str(&text), ':');
    return colon != SIZE_MAX && is_secret(token, str_skip(buf_str(&text), colon + 1));
}

bool token_opens(Token *token, Str authorization, Str berth_token) {
    Str shown;

    if (!str_is_empty(berth_token))
        return is_secret(token, berth_token);
    if (take_scheme(authorization, STR("Bearer "), &shown))
        return is_secret(token, shown);
    return take_scheme(authorization, STR("Basic "), &shown) && is_password(token, shown);
}
