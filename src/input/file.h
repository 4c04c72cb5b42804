#pragma once

/* File: a file's bytes, whole and bounded; and whether it has changed. */

#include "base/buf.h"

#define FILE_ERROR_MAX 512u

/* Appends the file to @out, up to the buffer's ceiling. "-" is standard input.
 * 0, or a negative errno with a sentence for a person in @error (FILE_ERROR_MAX). */
int file_read(const char *path, Buf *out, char *error);

/* A number that changes when the file, or the target of a symlink, is replaced or written; for a
 * folder, when any entry that is not hidden is. 0 when it does not exist. */
uint64_t file_fingerprint(const char *path);
