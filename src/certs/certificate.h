#pragma once

/* Certificate: what a certificate in PEM says of itself. */

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define CERTIFICATE_NAMES_MAX 128u

typedef struct CertificateFacts {
    Str common_name; /* empty: none */
    Str *names;      /* DNS names and addresses, as people write them */
    size_t n_names;
    /* By what berth serve --client-name knows its holder: the common name, unless there are two;
     * DNS names, URIs and mail addresses. */
    Str *identities;
    size_t n_identities;
    int64_t until_sec; /* since 1970 */
} CertificateFacts;

/* The first certificate of @pem; all of *ret lives in @arena. 0, or a negative errno with a
 * message for a person in @error (ACCESS_ERROR_MAX). */
int certificate_read(Str pem, Arena *arena, CertificateFacts *ret, char *error);
