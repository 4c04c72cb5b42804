#pragma once

/*
 * PemFolder: the files of `berth certs`, read together and written together.
 *
 * Each is written under another name and renamed, keys before their certificates. A new file has
 * owner and mode of the old one, so that a berth that can read the old key can read the new one.
 * One process at a time works in a folder: it is locked from reading to pem_folder_done().
 */

#include "base/buf.h"

typedef enum PemFile {
    PEM_CA_KEY,
    PEM_CA,
    PEM_SERVER_KEY,
    PEM_SERVER,
    PEM_CLIENT_KEY,
    PEM_CLIENT,
    _PEM_FILE_MAX,
} PemFile;

typedef struct PemFolder {
    const char *path; /* the caller's */
    int fd;           /* -1: it is not there yet */
    Buf texts[_PEM_FILE_MAX];
    bool is_there[_PEM_FILE_MAX]; /* on disk */
    bool is_new[_PEM_FILE_MAX];   /* made anew, and perhaps not yet written */
} PemFolder;

#define PEM_FOLDER_INIT ((PemFolder){.fd = -1})

const char *pem_file_name(PemFile file); /* "ca.crt" */

/* If one of these two fails, the process ends (cli/terminal.h). */

/* Locks the folder @path and reads its files. A missing folder counts as empty. */
void pem_folder_read(PemFolder *folder, const char *path);

/* Writes the new files; creates the folder, for its owner only, if it is missing. */
void pem_folder_write(PemFolder *folder);

/* Empties the text of @file and returns it, for the new content that pem_folder_write() writes. */
Buf *pem_folder_renew(PemFolder *folder, PemFile file);

static inline Str pem_folder_text(const PemFolder *folder, PemFile file) {
    return buf_str(&folder->texts[file]);
}

/* The name of the first file on disk; NULL: none. */
const char *pem_folder_first(const PemFolder *folder);

/* Whether users other than its owner may write to the folder. */
bool pem_folder_is_open(const PemFolder *folder);

void pem_folder_done(PemFolder *folder);
