#pragma once

/*
 * Secret: a certificate, a key or a token; from a file that may be replaced while we
 * run, or given once and for all. Memory is wiped before it is freed.
 */

#include "base/buf.h"

/* Differs when a file was changed or replaced, also through a swapped symlink. */
typedef struct FileMark {
    uint64_t device, inode, size;
    int64_t sec, nsec;
} FileMark;

typedef enum SecretKind {
    SECRET_PEM,      /* holds at least one PEM block */
    SECRET_TOKEN,    /* one word that fits into an HTTP header */
    SECRET_PASSWORD, /* one line; blanks at its ends do not count */
} SecretKind;

typedef struct Secret {
    SecretKind kind;
    char *path; /* NULL: it never changes */
    char *text; /* in force now; NULL: none */
    FileMark mark;
} Secret;

void secret_done(Secret *secret); /* leaves it empty */

static inline bool secret_is_given(const Secret *secret) {
    return secret->path || secret->text;
}

/* Reads the file again if it is another than last time, or in any case with @force.
 * *ret_changed is set, never cleared, when the text is another now. 0, or a negative errno
 * with a message in @error (ACCESS_ERROR_MAX): the text in force stays. */
int secret_refresh(Secret *secret, bool force, bool *ret_changed, char *error);

/* Whether @text is valid for @kind; if not, the reason ("is empty", …). */
const char *secret_complaint(SecretKind kind, Str text);

/* A whole file; the text is the caller's (secret_wipe() and free()), with a NUL after it.
 * Not for secrets only: kubeconfigs are read with it. 0, or a negative errno with a
 * message in @error (ACCESS_ERROR_MAX). */
int secret_read_file(const char *path, size_t max, Str *ret, FileMark *ret_mark, char *error);

/* Text that is wiped: a copy with a NUL after it (NULL when out of memory) and its end. */
char *secret_copy(Str text);
char *secret_free(char *text); /* takes NULL, returns NULL */

void secret_wipe(Str text);     /* bytes that are ours to write, in spite of const */
void secret_buf_done(Buf *buf); /* buf_done(), wiped */
