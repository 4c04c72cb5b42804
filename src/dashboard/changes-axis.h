#pragma once

/*
 * ChangesAxis: the last hour, or as much of it as there was, on one axis of time: what filters
 * rejected, how long they took, and what changed meanwhile, as numbered marks. Most incidents
 * follow a change, and here it is seen.
 *
 * The numbers are those of the table of changes, which says everything in words.
 */

#include <stddef.h>

#include "dashboard/dashboard.h"
#include "history/changes.h"

/* @changes: the newest first. Draws a <figure>. */
void changes_axis_draw(const PageContext *context, Html *html, const Change *changes, size_t n);
