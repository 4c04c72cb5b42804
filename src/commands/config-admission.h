#pragma once

/* What published filters need besides berth (policy/publish.h): admission policies for pods, and
 * what Karpenter's new nodes offer. And the admission policy for namespaces that opt in. */

#include "policy/admission.h"
#include "policy/program.h"

/* Objects for new pods (policy/admission.h): for all policies of @program that publish something,
 * and for namespaces that opt in to @scheduler. Either may be missing. Reports on stderr what
 * cannot be written. 0 or an exit code. */
int config_admission_write(const Program *program, Str scheduler, AdmissionFormat format, Buf *out);

/* NodeOverlays for nodes of Karpenter's NodePool @pool, for all policies that publish slots. The
 * same. */
int config_node_overlay_write(const Program *program, const char *pool, Buf *out);
