#pragma once

/* The host of plans: what they may read of the table without the scalar machine. */

#include "schema/schema.h"

/* Sets schema->host up. False: out of memory. */
bool schema_host_init(Schema *schema, Arena *arena) MUST_CHECK;
