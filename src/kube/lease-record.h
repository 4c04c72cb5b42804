#pragma once

/*
 * LeaseRecord: a Lease object (coordination.k8s.io/v1) as it stands in the API server, read and
 * written.
 *
 * Its metadata goes back as it came: with the resourceVersion, so that a write fails if another
 * client has written since, and with its labels.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define LEASE_HOLDER_MAX 288u  /* a pod's name and a random part; what is longer is cut */
#define LEASE_VERSION_MAX 256u /* a resourceVersion */
#define LEASE_METADATA_MAX ((size_t)64 * 1024)
#define LEASE_OTHERS_MAX_SEC 3600 /* the longest duration of another holder that is honoured */

typedef struct LeaseRecord {
    bool exists;
    char holder[LEASE_HOLDER_MAX]; /* empty: none */
    char version[LEASE_VERSION_MAX + 1];
    int64_t duration_sec; /* 1 to LEASE_OTHERS_MAX_SEC; @default_sec where it is not given */
    int64_t transitions;
    Buf metadata; /* raw JSON */
} LeaseRecord;

#define LEASE_RECORD_INIT ((LeaseRecord){.metadata = BUF_INIT(LEASE_METADATA_MAX)})

void lease_record_done(LeaseRecord *record);

/* There is none. */
void lease_record_clear(LeaseRecord *record);

/* False, and nothing is changed: @text is no Lease, or too large, or out of memory. */
bool lease_record_read(LeaseRecord *record, Str text, int default_sec);

/* The lease as it is written. */
typedef struct LeaseClaim {
    Str namespace, name;
    Str holder; /* empty: given up */
    int duration_sec;
    int64_t acquired_nsec, renewed_nsec; /* since 1970 */
    int64_t transitions;
} LeaseClaim;

/* Appends the object: in place of @record if that exists, else a new one. */
void lease_record_write(const LeaseRecord *record, const LeaseClaim *claim, Buf *out);
