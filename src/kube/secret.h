#pragma once

/* Secret: a certificate, key, token or password, given once, or from a file that may be replaced
 * while berth runs. Memory is wiped before it is freed. */

#include "base/buf.h"

/* Changes when a file is changed or replaced, also by replacing a symlink. */
typedef struct FileMark {
    uint64_t device, inode, size;
    int64_t sec, nsec;
} FileMark;

typedef enum SecretKind {
    SECRET_PEM,      /* has at least one PEM block */
    SECRET_TOKEN,    /* one word that fits into an HTTP header */
    SECRET_PASSWORD, /* one line; blanks at its ends are removed */
} SecretKind;

typedef struct Secret {
    SecretKind kind;
    char *path; /* NULL: given once, never changes */
    char *text; /* the current value; NULL: none */
    FileMark mark;
} Secret;

void secret_done(Secret *secret); /* leaves it empty */

static inline bool secret_is_given(const Secret *secret) {
    return secret->path || secret->text;
}

/* Reads the file again if it has changed, or with @force. Sets *ret_changed to true, never to
 * false, if the text changes. 0, or a negative errno with a message in @error (ACCESS_ERROR_MAX):
 * then the old text stays. */
int secret_refresh(Secret *secret, bool force, bool *ret_changed, char *error);

/* Why @text is invalid for @kind ("is empty", …); NULL: valid. */
const char *secret_complaint(SecretKind kind, Str text);

/* Reads a whole file, not only secrets; the caller owns the text (secret_wipe() and free()), which
 * has a NUL after it. 0, or a negative errno with a message in @error (ACCESS_ERROR_MAX). */
int secret_read_file(const char *path, size_t max, Str *ret, FileMark *ret_mark, char *error);

/* A copy with a NUL after it (NULL when out of memory), and the function to wipe and free it. */
char *secret_copy(Str text);
char *secret_free(char *text); /* takes NULL, returns NULL */

void secret_wipe(Str text);     /* overwrites the bytes, despite const */
void secret_buf_done(Buf *buf); /* buf_done(), wiped */
