#pragma once

/*
 * DemoFolder: the folder of the demo's files, ${TMPDIR:-/tmp}/berth-demo-UID.
 *
 * It is private to the user, remains after the demo because suggested commands read it, and is used
 * again by the next demo. While one demo has it locked, another uses berth-demo-UID-2, and so on.
 * Files are replaced atomically.
 */

#include "base/str.h"

#define DEMO_FOLDER_PATH_MAX 512u
#define DEMO_FOLDER_ERROR_MAX 1024u

typedef struct DemoFolder {
    char path[DEMO_FOLDER_PATH_MAX];
    int fd; /* locked; -1: none */
} DemoFolder;

#define DEMO_FOLDER_NONE ((DemoFolder){.fd = -1})

/* 0; or a negative errno with a message in @error (DEMO_FOLDER_ERROR_MAX). */
int demo_folder_open(DemoFolder *folder, char *error);
void demo_folder_done(DemoFolder *folder);

/* Replaces the file @name. 0, or a negative errno with @error. */
int demo_folder_write(const DemoFolder *folder, const char *name, Str text, char *error);
