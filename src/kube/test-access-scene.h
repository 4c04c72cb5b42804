#pragma once

/* Makes an Access from a kubeconfig with one context. */

#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/test-folder.h"
#include "kube/access.h"

#define SEC NSEC_PER_SEC
#define PEM(text) "-----BEGIN X-----\n" text "\n-----END X-----\n"
#define V1 "client.authentication.k8s.io/v1"

static char error[ACCESS_ERROR_MAX];

static inline void assert_says(const char *part) {
    if (!strstr(error, part))
        fail_msg("\"%s\" is not in \"%s\"", part, error);
}

/* Writes a kubeconfig with one context; @cluster and @user are more fields of its cluster and
 * user. */
static const char *write_config(Folder *folder, const char *cluster, const char *user) {
    char text[8192];

    (void)snprintf(text, sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://h'%s%s}}]\n"
        "users: [{name: u, user: {%s}}]\n",
        cluster[0] ? ", " : "", cluster, user);
    return folder_replace(folder, "config", text);
}

static Access *open_config(const char *path) {
    Access *access = NULL;

    if (access_from_kubeconfig(path, NULL, &access, error) < 0)
        fail_msg("%s", error);
    return access;
}

static Credentials authorize(Access *access, int64_t now_nsec, int64_t wall_sec) {
    Credentials credentials;

    if (access_authorize(access, now_nsec, wall_sec, &credentials, error) < 0)
        fail_msg("%s", error);
    return credentials;
}
