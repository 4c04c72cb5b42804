#pragma once

/*
 * Workload: what the demo's pods are.
 *
 * A workload is a kind of pod (a Deployment, a Job, …): all its pods ask for the
 * same and differ in their names only. One workload is a mistake that people make:
 * it asks for a GPU and forgot the toleration, so it fits nowhere and the demo has
 * a reason to show.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "demo/fleet.h"
#include "json/write.h"

typedef struct Workload {
    const char *name; /* prefix of its pods' names */
    const char *namespace;
    const char *owner_kind;
    struct {
        const char *key, *value;
    } label; /* besides app.kubernetes.io/name */
    const char *cpu, *memory;
    int gpus;
    bool tolerates_gpu_taint;
    Pool home;          /* where its pods ran before the demo began */
    unsigned n_cards;   /* how many of each WORKLOAD_DECK new pods are its */
    unsigned home_max;  /* its pods on one node before the demo began */
    unsigned life_span; /* in percent of the average */
} Workload;

/* New pods are dealt like cards, so that every workload comes up before long. */
#define WORKLOAD_DECK 20u

extern const Workload workloads[];
extern const size_t n_workloads;

/* What tells one pod of a workload from another. */
typedef struct PodIdentity {
    Str name, uid;
    Str node; /* where it runs; empty while pending */
} PodIdentity;

/* Writes the pod as an API server would give it. @is_typed: with apiVersion and
 * kind, as kubectl shows it; kube-scheduler sends it without. */
void workload_write_pod(
    const Workload *workload, const PodIdentity *identity, bool is_typed, JsonWriter *writer);
