#pragma once

/*
 * AdmissionReview: the API server's question before it stores a PlacementPolicy
 * (admission.k8s.io/v1), and berth's answer.
 *
 * An object that is created, or whose spec is changed, is denied if berth would not accept it
 * (live/cluster-policies.h), with the same errors, and gets the warnings of `berth check`.
 * Everything else is allowed: deletions, other kinds, subresources, and updates that keep the spec,
 * so that labels and finalizers of an object with a mistake can be edited.
 *
 * Nothing is kept or changed, so dry runs need no special case. Threads: any.
 */

#include "live/cluster-policies.h"

#define ADMISSION_PATH "/admission/validate"

/* Limit of a review, which has two objects, in bytes. An API server stores 1.5 MiB of each. */
#define ADMISSION_BODY_MAX ((size_t)4 * 1024 * 1024)

/* Limit of a spec, in bytes. Compiling one may need 100 times as much memory. */
#define ADMISSION_SPEC_MAX ((size_t)1024 * 1024)

#define ADMISSION_REPLY_MAX ((size_t)64 * 1024)
#define ADMISSION_ERROR_MAX 256u

enum {
    _ADMISSION_E_SUCCESS,
    ADMISSION_E_MALFORMED, /* not a review of admission.k8s.io/v1 */
    ADMISSION_E_SIZE,      /* a spec over ADMISSION_SPEC_MAX */
};

/* Answers the review @body with a review, appended to @out. 0; one of the codes above with a
 * message in @error; or -ENOMEM. */
int admission_review_answer(ClusterPolicies *policies, Str body, Arena *arena, Buf *out,
    bool *ret_is_allowed, char error[static ADMISSION_ERROR_MAX]) MUST_CHECK;
