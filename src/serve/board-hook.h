#pragma once

/*
 * BoardHook: who draws pages for people.
 *
 * The dashboard (src/board) reads everything the daemon knows, so it is above this layer, and the
 * daemon knows it only as this. NULL in DaemonOptions: there is none, and "/" is a list of paths.
 */

#include <stdbool.h>

#include "http/server.h"

typedef struct Answers Answers;
typedef struct Reader Reader;

typedef struct BoardHook {
    /* Whether @path (no query) is one of its pages or assets: "/", "/pods", "/assets/board.css". */
    bool (*has)(Str path);

    /* Draws it, GET or HEAD, like page_show(). Runs on a clerk (serve/clerk.h). */
    void (*show)(
        Answers *answers, const HttpRequest *request, const Reader *reader, HttpReply *reply);
} BoardHook;
