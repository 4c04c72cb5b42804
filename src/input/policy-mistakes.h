#pragma once

/*
 * PolicyMistakes: a policy that comes from the API server, checked by itself.
 *
 * Finds the same mistakes as `berth check`. Users do not see the text that is checked, so each
 * mistake has the path of its field in place of a line:
 *
 *     spec.filters[0].nodeLabel: unknown field "nodeLabel" in a filter; did you mean "nodeLabels"?
 */

#include "policy/program.h"

#define POLICY_MISTAKES_MAX ((size_t)8 * 1024) /* bytes; further mistakes are only counted */
#define POLICY_WARNINGS_MAX ((size_t)4 * 1024) /* the same; an API server passes on no more */

/* The file name of a policy's text is "placementpolicy/NAME", as in kubectl. */
#define POLICY_OBJECT_FILE "placementpolicy/"

/* Compiles @text, one policy. 0 with *ret; POLICIES_E_INVALID with a line for each mistake appended
 * to @mistakes; or -ENOMEM. Appends a line for each warning to @warnings (may be NULL). Both should
 * be empty, with room for POLICY_MISTAKES_MAX and POLICY_WARNINGS_MAX bytes. */
int policy_check_alone(Str name, Str text, Program **ret, Buf *mistakes, Buf *warnings) MUST_CHECK;
