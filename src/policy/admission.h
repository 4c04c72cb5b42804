#pragma once

/*
 * Admission: objects that let new pods of a policy use what it publishes (publish.h): request a
 * slot, avoid closed nodes. Kubernetes 1.36 and later has MutatingAdmissionPolicies for it, which
 * need a binding (before that as a beta, off by default); for others Kyverno has MutatingPolicies.
 *
 * An annotation has the digest of the pods that an object selects and of the change to them. `berth
 * check --live` compares it with that of the policies in force.
 *
 * The same kind of object sets the schedulerName of pods in namespaces that opt in by a label.
 */

#include "policy/policy.h"

#define ADMISSION_DIGEST "berth.dev/digest"
#define ADMISSION_NAME_MAX 256u /* the longest name of an object */

/* The label of a namespace that names the scheduler of its pods. A pod with this label and the name
 * of the default scheduler stays with that. */
#define OPT_IN_LABEL "berth.dev/scheduler"

typedef enum AdmissionKind { ADMISSION_SLOTS, ADMISSION_LABEL, _ADMISSION_KINDS } AdmissionKind;
typedef enum AdmissionFormat {
    ADMISSION_V1,
    ADMISSION_V1BETA1,
    ADMISSION_KYVERNO,
    _ADMISSION_FORMATS,
} AdmissionFormat;

/* Whether @policy publishes something that pods must use so. Objects select pods by labels and
 * namespaces only, so one with a match.expression needs other means. */
bool admission_is_needed(const Policy *policy, AdmissionKind kind);

/* berth-slots.POLICY or berth-label.POLICY: of all objects. */
void admission_name(const Policy *policy, AdmissionKind kind, Buf *out);

/* 0 or -ENOMEM, as the next one. */
int admission_digest(const Policy *policy, AdmissionKind kind, Digest *ret);

/* Adds the objects to @out, documents of YAML. */
int admission_write(const Policy *policy, AdmissionKind kind, AdmissionFormat format, Buf *out);

/* The same for pods of namespaces with OPT_IN_LABEL: @scheduler, which is a valid value of a label
 * and part of an object's name. They get it as their schedulerName, unless they have another than
 * the default scheduler already. 0 or -ENOMEM. */
int opt_in_write(Str scheduler, AdmissionFormat format, Buf *out);
