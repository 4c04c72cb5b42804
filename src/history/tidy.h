#pragma once

/*
 * Tidy: secrets do not stay.
 *
 * A worker that answers writes the pod down as it was sent: a copy is all that it has time for. In
 * there is everything that a person wrote into the pod: environment values, arguments, volumes.
 * Soon afterwards, on another thread, what policies can read of it is written anew and takes its
 * place: a decision can be explained and made again from that just as well. The copy is wiped with
 * the last reference to it.
 *
 * Threads: any; the daemon's about four times a second, and whoever copies texts before.
 */

#include "history/decisions.h"

/* How many decisions at a time, and for how long about: the rest is for the next. */
#define TIDY_MAX 4096u
#define TIDY_NSEC INT64_C(20000000)

/* @decisions NULL: there are none. False: there are more to do. */
bool decisions_tidy(Decisions *decisions);
