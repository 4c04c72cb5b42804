#pragma once

/*
 * PolicyMistakes: a policy that comes from the API server, checked by itself.
 *
 * Its mistakes are those of `berth check`. Users do not see the text it is read from, so that each
 * has the path of its field instead of a line:
 *
 *     spec.filters[0].nodeLabel: unknown field "nodeLabel" in a filter; did you mean "nodeLabels"?
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "policy/program.h"

#define POLICY_MISTAKES_MAX ((size_t)8 * 1024) /* bytes; the others are counted */

/* "placementpolicy/NAME": what kubectl calls it, as the name of its text. */
#define POLICY_OBJECT_FILE "placementpolicy/"

/* Compiles @text, one policy. 0 with *ret; POLICIES_E_INVALID with a line for each mistake appended
 * to @mistakes; or -ENOMEM. Warnings are not reported. */
int policy_check_alone(Str name, Str text, Program **ret, Buf *mistakes) MUST_CHECK;
