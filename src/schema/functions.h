#pragma once

/* The functions of expressions that the language does not have. */

#include "cel/library.h"

/* node.domain(key), cluster.domains(key), cluster.nodesByLabel(key), pod.tolerates(taint),
 * amount(resource, number), pow(x, y). */
extern const CelOverloadSpec schema_functions[];
extern const Str schema_function_abouts[]; /* one a function, for people */
extern const size_t schema_n_functions;

CelFunction schema_call_domain, schema_call_domains, schema_call_nodes_by_label;
