#pragma once

/*
 * MetricSources: the servers that measured values come from, as the operator names them.
 *
 *     apiVersion: berth.dev/v1alpha1
 *     kind: MetricSources
 *     sources:
 *       - name: default
 *         url: https://thanos.monitoring.svc:9091
 *         bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
 *         basicAuth: {user: berth, passwordFile: /etc/berth/password}      # or this
 *         tls: {caFile: ca.pem, certFile: …, keyFile: …, serverName: …, insecureSkipVerify: true}
 *         headers: {X-Scope-OrgID: tenant-1}
 *         allowLinkLocal: false
 *
 * Relative paths are relative to the file. Secrets stand in files of their own, never here; the
 * files are not read here, and need not be there yet.
 */

#include "base/diag.h"
#include "load/source.h"

enum {
    _SOURCES_E_SUCCESS,
    SOURCES_E_INVALID,    /* at least one source is wrong */
    SOURCES_E_UNREADABLE, /* the file cannot be read */
};

/* Each: 0, perhaps with warnings in @diags; one of the above with errors in @diags; or -ENOMEM.
 * *ret and all that it points to live in @arena. */

/* Those of a file. */
int sources_load(const char *path, Arena *arena, DiagList *diags, MetricSources *ret) MUST_CHECK;

/* The default one, by its URL: what --prometheus is given. */
int sources_from_url(const char *url, Arena *arena, DiagList *diags, MetricSources *ret) MUST_CHECK;

/* Both, @url's first; each may be NULL. Only one of them can define the default. */
int sources_gather(const char *url, const char *path, Arena *arena, DiagList *diags,
    MetricSources *ret) MUST_CHECK;
