#pragma once

/* CertsReport: the report of `berth certs`: files, expiry and next steps.
 */

#include <stdio.h>

#include "certs/pem-folder.h"

#define CERTS_CLIENT_NAME "system:kube-scheduler" /* whom `berth serve` lets in by default */

typedef struct CertsReport {
    FILE *out;
    Str namespace;                             /* of Secrets */
    bool is_renewed, is_ca_new, is_ca_retired; /* none: all of it was made, or is only shown */
} CertsReport;

/* Both: 0, or a negative errno with a message for a person in @error (PEM_FOLDER_ERROR_MAX). */
int certs_report(const CertsReport *report, const PemFolder *folder, char *error);

/* The Secrets berth-server and berth-client as YAML on standard output. The CA's key is in
 * neither. */
int certs_print_secrets(const CertsReport *report, const PemFolder *folder, char *error);
