#pragma once

/* The host of plans (columnar/plan.h): reads of the table without the scalar machine. */

#include "schema/schema.h"

/* Initializes schema->host. False: out of memory. */
bool schema_plan_host_init(Schema *schema, Arena *arena) MUST_CHECK;
