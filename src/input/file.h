#pragma once

/* File: reads a whole file up to a limit, and detects changes. */

#include "yaml/reader.h"

#define FILE_ERROR_MAX 512u

/* Appends the file to @out, up to the buffer's ceiling. "-" is standard input.
 * 0, or a negative errno with a sentence for users in @error (FILE_ERROR_MAX). */
int file_read(const char *path, Buf *out, char *error);

/* Parses the file at @path into the arena of @reader, and sets the reader's source. @path must
 * outlive *ret. 0; one of these with errors in the reader's diags; or -ENOMEM. */
enum { _FILE_E_SUCCESS, FILE_E_INVALID, FILE_E_UNREADABLE };
int file_read_yaml(const char *path, YamlReader *reader, YamlStream *ret) MUST_CHECK;

/* A number that changes when the file (or the target of a symlink) is replaced or written; for a
 * folder, when that happens to an entry that is not hidden. 0 if the file does not exist. */
uint64_t file_fingerprint(const char *path);
