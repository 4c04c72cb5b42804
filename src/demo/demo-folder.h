#pragma once

/*
 * DemoFolder: where the demo leaves its files.
 *
 * ${TMPDIR:-/tmp}/berth-demo-UID, private to the user, kept at the end because the
 * commands that the demo suggests read from it, and used again by the next demo. A
 * demo that finds it taken by another one uses berth-demo-UID-2, and so on.
 *
 * Files are replaced whole: who reads one sees the old or the new.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

#define DEMO_FOLDER_PATH_MAX 512u
#define DEMO_FOLDER_ERROR_MAX 1024u

typedef struct DemoFolder {
    char path[DEMO_FOLDER_PATH_MAX];
    int fd; /* locked; -1: none */
} DemoFolder;

#define DEMO_FOLDER_NONE ((DemoFolder){.fd = -1})

/* 0; or a negative errno with a sentence for a person in @error
 * (DEMO_FOLDER_ERROR_MAX). */
int demo_folder_open(DemoFolder *folder, char *error);
void demo_folder_done(DemoFolder *folder);

/* Makes @text the content of the file @name. 0, or a negative errno with @error. */
int demo_folder_write(const DemoFolder *folder, const char *name, Str text, char *error);
