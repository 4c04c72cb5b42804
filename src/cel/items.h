#pragma once

/* Items: the elements of a list as one array, whoever the list belongs to. */

#include "cel/run.h"
#include "cel/value.h"

/* All list->n of them: the list's own array when it is plain, else fetched from its host.
 * Charges one an element. NULL: @ret_error says why. Never NULL for an empty list. */
const CelValue *cel_items(CelRun *run, const CelList *list, CelValue *ret_error) MUST_CHECK;
