#pragma once

/* For tests: whether two configurations are equal. */

#include "wiring/scheduler-config.h"

static inline bool tls_is_same(const ExtenderTls *a, const ExtenderTls *b) {
    return a->is_given == b->is_given && a->is_insecure == b->is_insecure &&
           str_eq(a->server_name, b->server_name) && str_eq(a->ca_file, b->ca_file) &&
           str_eq(a->ca_data, b->ca_data) && str_eq(a->cert_file, b->cert_file) &&
           str_eq(a->cert_data, b->cert_data) && str_eq(a->key_file, b->key_file) &&
           str_eq(a->key_data, b->key_data);
}

static inline bool entry_is_same(const ExtenderEntry *a, const ExtenderEntry *b) {
    bool is_same = a->n_managed == b->n_managed && str_eq(a->url_prefix, b->url_prefix) &&
                   str_eq(a->filter_verb, b->filter_verb) &&
                   str_eq(a->prioritize_verb, b->prioritize_verb) &&
                   str_eq(a->preempt_verb, b->preempt_verb) && str_eq(a->bind_verb, b->bind_verb) &&
                   a->is_https == b->is_https && tls_is_same(&a->tls, &b->tls) &&
                   a->timeout_nsec == b->timeout_nsec &&
                   a->is_node_cache_capable == b->is_node_cache_capable &&
                   a->is_ignorable == b->is_ignorable &&
                   (a->weight == b->weight || a->prioritize_verb.len == 0);

    for (size_t i = 0; is_same && i < a->n_managed; i++)
        is_same = str_eq(a->managed[i].name, b->managed[i].name) &&
                  a->managed[i].is_ignored_by_scheduler == b->managed[i].is_ignored_by_scheduler;
    return is_same;
}

/* Compares all but positions, apiVersion and max_score, which is not in a file. */
static inline bool config_is_same(const SchedulerConfig *a, const SchedulerConfig *b) {
    bool is_same =
        a->format == b->format && a->n_extenders == b->n_extenders &&
        a->percentage == b->percentage && a->has_leader_election == b->has_leader_election &&
        str_eq(a->lease_namespace, b->lease_namespace) && str_eq(a->lease_name, b->lease_name) &&
        str_eq(a->kubeconfig, b->kubeconfig) && str_eq(a->policy_file, b->policy_file) &&
        str_eq(a->policy_map_namespace, b->policy_map_namespace) &&
        str_eq(a->policy_map_name, b->policy_map_name) &&
        a->n_scheduler_names == b->n_scheduler_names;

    for (size_t i = 0; is_same && i < a->n_scheduler_names; i++)
        is_same = str_eq(a->scheduler_names[i], b->scheduler_names[i]);
    for (size_t i = 0; is_same && i < a->n_extenders; i++)
        is_same = entry_is_same(&a->extenders[i], &b->extenders[i]);
    return is_same;
}
