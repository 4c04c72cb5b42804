#pragma once

/*
 * Admission: objects that let new pods of a policy use what it publishes (publish.h): request a
 * slot, avoid closed nodes. They are MutatingAdmissionPolicies with bindings (Kubernetes 1.36 and
 * later; before that a beta, off by default), or MutatingPolicies of Kyverno.
 *
 * An annotation has a digest of the selection and the mutation. `berth check --live` compares it
 * with the policies in force.
 *
 * The same kind of object sets the schedulerName of pods in namespaces that opt in by a label.
 */

#include "policy/policy.h"

#define ADMISSION_DIGEST "berth.dev/digest"
#define ADMISSION_NAME_MAX 256u /* limit of an object's name */

/* A namespace's label with the scheduler of its pods. On a pod, with the default scheduler as
 * value, it opts out. */
#define OPT_IN_LABEL "berth.dev/scheduler"

typedef enum AdmissionKind { ADMISSION_SLOTS, ADMISSION_LABEL, _ADMISSION_KINDS } AdmissionKind;
typedef enum AdmissionFormat {
    ADMISSION_V1,
    ADMISSION_V1BETA1,
    ADMISSION_KYVERNO,
    _ADMISSION_FORMATS,
} AdmissionFormat;

/* Whether @policy publishes something for which pods need the mutation. Objects select pods only by
 * labels and namespaces, so a policy with match.expression needs other means. */
bool admission_is_needed(const Policy *policy, AdmissionKind kind);

/* Appends the name of the objects: berth-slots.POLICY or berth-label.POLICY. */
void admission_name(const Policy *policy, AdmissionKind kind, Buf *out);

/* The digest of the objects. 0 or -ENOMEM. */
int admission_digest(const Policy *policy, AdmissionKind kind, Digest *ret);

/* Appends the objects as YAML documents. 0 or -ENOMEM. */
int admission_write(const Policy *policy, AdmissionKind kind, AdmissionFormat format, Buf *out);

/* Appends the object that sets @scheduler as schedulerName of pods in namespaces with OPT_IN_LABEL,
 * unless they have another than the default scheduler. @scheduler must be valid as a label value
 * and in an object's name. 0 or -ENOMEM. */
int opt_in_write(Str scheduler, AdmissionFormat format, Buf *out);
