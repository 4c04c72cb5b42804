#pragma once

/* Names for complete.c, from files, from the API server and from a running berth. */

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/server-source.h"

typedef VEC(Str) NameList;

/* Options on the line; NULL: not given. */
typedef struct CompleteOptions {
    const char *cluster, *kubeconfig, *context;
    ServerSource source; /* a running berth */
} CompleteOptions;

/* Each adds names to @names, which live in @arena, if there are any to be had. */
void complete_contexts(const CompleteOptions *options, Arena *arena, NameList *names);
void complete_nodes(const CompleteOptions *options, Arena *arena, NameList *names);

/* NAMESPACE/NAME; @prefix is what was typed of it. */
void complete_pods(const CompleteOptions *options, Str prefix, Arena *arena, NameList *names);

/* Pods that a running berth decided about lately. */
void complete_decided_pods(const CompleteOptions *options, Arena *arena, NameList *names);

/* Groups and codes of checks; and what each is, in the same order. */
void complete_checks(Arena *arena, NameList *names, NameList *abouts);
