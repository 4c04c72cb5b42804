#pragma once

/*
 * DashboardHook: draws the pages of the dashboard.
 *
 * The dashboard (src/dashboard) reads everything the daemon knows, so it is above this layer, and
 * the daemon knows it only as this. NULL in DaemonOptions: there is none, and "/" is a list of
 * paths.
 */

#include "http/server.h"

typedef struct ApiContext ApiContext;

typedef struct DashboardHook {
    /* Whether @path (no query) is one of its pages or assets: "/", "/assets/dashboard.css". */
    bool (*has)(Str path);

    /* Draws it, GET or HEAD; for any other path a 404 page. Runs on a page worker
     * (api/page-workers.h). */
    void (*show)(ApiContext *api, const HttpRequest *request, HttpReply *reply);
} DashboardHook;
