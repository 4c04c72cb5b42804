#pragma once

/*
 * PolicyMistakes: a policy that comes from the API server, checked by itself.
 *
 * Its mistakes are those of `berth check`. Users do not see the text it is read from, so that each
 * has the path of its field instead of a line:
 *
 *     spec.filters[0].nodeLabel: unknown field "nodeLabel" in a filter; did you mean "nodeLabels"?
 */

#include "policy/program.h"

#define POLICY_MISTAKES_MAX ((size_t)8 * 1024) /* bytes; the others are counted */
#define POLICY_WARNINGS_MAX ((size_t)4 * 1024) /* the same; an API server passes on no more */

/* "placementpolicy/NAME": what kubectl calls it, as the name of its text. */
#define POLICY_OBJECT_FILE "placementpolicy/"

/* Compiles @text, one policy. 0 with *ret; POLICIES_E_INVALID with a line for each mistake appended
 * to @mistakes; or -ENOMEM. A line for each warning is appended to @warnings, unless that is NULL.
 * Both should be empty, with room for the above. */
int policy_check_alone(Str name, Str text, Program **ret, Buf *mistakes, Buf *warnings) MUST_CHECK;
