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
#include "input/file.h"
#include "load/source.h"

/* Each: 0, perhaps with warnings in @diags; FILE_E_INVALID or FILE_E_UNREADABLE
 * with errors in @diags; or -ENOMEM. *ret and all that it points to live in @arena. */

/* Those of a file. */
int sources_load(const char *path, Arena *arena, DiagList *diags, MetricSources *ret) MUST_CHECK;

/* The default one, by its URL (--prometheus), and those of a file; each may be NULL. Only one of
 * them can define the default. */
int sources_gather(const char *url, const char *path, Arena *arena, DiagList *diags,
    MetricSources *ret) MUST_CHECK;
