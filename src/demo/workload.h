#pragma once

/*
 * Workload: what the demo's pods are.
 *
 * A workload is a kind of pod (a Deployment, a Job, …): all its pods ask for the
 * same and differ in their names, ages and persons only. One workload is a mistake that people
 * make: it asks for a GPU and forgot the toleration, so it fits nowhere and the demo has a reason
 * to show.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "demo/demo-node.h"
#include "demo/json-put.h"

#define WORKLOAD_PAIRS_MAX 6u

typedef struct Workload {
    const char *name; /* prefix of its pods' names */
    const char *namespace;
    const char *owner_kind;
    JsonPair labels[WORKLOAD_PAIRS_MAX]; /* NULL behind the last; besides app.kubernetes.io/name */
    JsonPair annotations[WORKLOAD_PAIRS_MAX];
    bool has_person; /* label owner: whose it is */
    const char *image;
    const char *cpu, *memory;
    int gpus;
    bool tolerates_gpu_taint;
    bool is_fixed;      /* the same as the one before it, without its mistake; for scenarios */
    NodePool home;      /* where its pods ran before the demo began */
    unsigned share;     /* how many of each WORKLOAD_SHARES new pods are its */
    unsigned home_max;  /* its pods on one node before the demo began */
    unsigned life_span; /* in percent of the average */
} Workload;

/* New pods are dealt like cards, so that every workload comes up before long. */
#define WORKLOAD_SHARES 20u

extern const Workload workloads[];
extern const size_t n_workloads;

/* The one of this name, as people wrote it; NULL: there is none. */
const Workload *workload_named(const char *name);

/* What tells one pod of a workload from another. */
typedef struct PodIdentity {
    Str name, uid;
    Str node;           /* where it runs; empty while pending */
    int64_t created_at; /* seconds since 1970 */
    int64_t placed_at;  /* the same: when it got its node */
    unsigned person;    /* below WORKLOAD_PEOPLE */
} PodIdentity;

#define WORKLOAD_PEOPLE 9u

/* Writes the pod as an API server would give it. @is_typed: with apiVersion and
 * kind, as kubectl shows it; kube-scheduler sends it without. */
void workload_write_pod(
    const Workload *workload, const PodIdentity *identity, bool is_typed, Buf *out);
