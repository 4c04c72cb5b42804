#pragma once

/*
 * Observers: everything that reacts to an answered verb, in one table, run in one place.
 *
 * Observers decide nothing and cannot fail; each has its own lock. They run on the worker that
 * answers, before the reply is sent. observers.c documents the order.
 */

#include "extender/verbs.h"
#include "extender/view.h"
#include "serve/answers.h"

typedef struct Observation {
    Verb verb;
    const View *view;
    const Decision *decision;
    const RequestTime *time; /* its rest may be used to judge again; NULL: none */
    Arena *arena;            /* for that; NULL: none */
    int64_t at_nsec;         /* since 1970: the time that rules were evaluated at */
    int64_t begin_nsec;      /* monotonic: when answering began; -1: not known */
    int64_t now_nsec;        /* monotonic */
} Observation;

void observers_run(Answers *answers, const Observation *observation);
