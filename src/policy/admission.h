#pragma once

/*
 * Admission: objects that let new pods of a policy use what it publishes (publish.h): request a
 * slot, avoid closed nodes. Kubernetes 1.36 and later has MutatingAdmissionPolicies for it, which
 * need a binding; before that Kyverno has MutatingPolicies.
 *
 * An annotation has the digest of the pods that an object selects and of the change to them. `berth
 * check --live` compares it with that of the policies in force.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "policy/policy.h"

#define ADMISSION_DIGEST "berth.dev/digest"
#define ADMISSION_NAME_MAX 256u /* the longest name of an object */

typedef enum AdmissionKind { ADMISSION_SLOTS, ADMISSION_LABEL, _ADMISSION_KINDS } AdmissionKind;
typedef enum AdmissionFormat { ADMISSION_KUBERNETES, ADMISSION_KYVERNO } AdmissionFormat;

/* Whether @policy publishes something that pods must use so. Objects select pods by labels and
 * namespaces only, so one with a match.expression needs other means. */
bool admission_is_needed(const Policy *policy, AdmissionKind kind);

/* berth-slots.POLICY or berth-label.POLICY: of all objects. */
void admission_name(const Policy *policy, AdmissionKind kind, Buf *out);

/* 0 or -ENOMEM, as the next one. */
int admission_digest(const Policy *policy, AdmissionKind kind, Digest *ret);

/* Adds the objects to @out, documents of YAML. */
int admission_write(const Policy *policy, AdmissionKind kind, AdmissionFormat format, Buf *out);
