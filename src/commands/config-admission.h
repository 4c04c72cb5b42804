#pragma once

/* The admission policies that let pods request the slots of published rules (policy/publish.h). */

#include "base/arena.h"
#include "base/buf.h"
#include "policy/program.h"

/* MutatingAdmissionPolicies with their bindings, for all policies of @program that publish slots.
 * Reports on stderr what cannot be written. 0 or an exit code. */
int config_admission_write(const Program *program, Buf *out);
