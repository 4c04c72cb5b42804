#pragma once

/*
 * SchedulerConfig: the extenders in a configuration of kube-scheduler.
 *
 * Read from a KubeSchedulerConfiguration (v1, v1beta1 to v1beta3, v1alpha2) or from the legacy
 * Policy (Kubernetes 1.16 to 1.22, JSON or YAML), by kube-scheduler's own rules: a mistake that
 * would stop it from starting is an error with its place. Written in either form, with comments.
 *
 * v1alpha1 (1.16 to 1.18) names a Policy, which has the extenders. The Policy may be the second
 * document of the text: so it is written, and so it is read.
 *
 * Pure: texts in, texts out.
 */

#include "base/diag.h"

#define WIRING_EXTENDERS_MAX 64u
#define WIRING_RESOURCES_MAX 256u /* of one extender */
#define WIRING_PROFILES_MAX 64u
#define WIRING_TIMEOUT_DEFAULT (INT64_C(5) * 1000 * 1000 * 1000) /* kube-scheduler's own */

typedef enum WiringFormat {
    WIRING_V1,     /* KubeSchedulerConfiguration, v1 and the betas before it */
    WIRING_POLICY, /* kind: Policy */
} WiringFormat;

typedef struct ManagedResource {
    Str name;
    bool is_ignored_by_scheduler;
} ManagedResource;

/* Empty: not given. Data is base64, as written in the file. */
typedef struct ExtenderTls {
    bool is_given;
    bool is_insecure;
    Str server_name;
    Str ca_file, ca_data;
    Str cert_file, cert_data;
    Str key_file, key_data;
} ExtenderTls;

typedef struct ExtenderEntry {
    Place place; /* where it begins; all zero when it was not read from a text */
    Str url_prefix;
    Str filter_verb, prioritize_verb, preempt_verb, bind_verb; /* empty: not called */
    int64_t weight;
    bool is_https; /* enableHTTPS */
    ExtenderTls tls;
    int64_t timeout_nsec; /* 0: not given, WIRING_TIMEOUT_DEFAULT applies */
    bool is_node_cache_capable;
    bool is_ignorable;
    ManagedResource *managed;
    size_t n_managed;
    int max_score; /* its maximum score, for comments: not in the file; 0: unknown, so 10 */
} ExtenderEntry;

typedef struct SchedulerConfig {
    WiringFormat format;
    Str api_version;      /* "kubescheduler.config.k8s.io/v1", "v1" */
    Str *scheduler_names; /* of its profiles; none given: "default-scheduler" */
    size_t n_scheduler_names;
    int percentage; /* percentageOfNodesToScore; -1: not given; the smallest of its profiles */
    /* leaderElection; not given: true in KubeSchedulerConfiguration, by the Lease
     * kube-system/kube-scheduler, and false (not known) in a Policy. */
    bool has_leader_election;
    Str lease_namespace, lease_name; /* resourceNamespace, resourceName; empty: not given */
    Str kubeconfig;                  /* clientConnection.kubeconfig; empty: not given */
    /* algorithmSource.policy of v1alpha1: a file, or a ConfigMap with the key policy.cfg. Empty:
     * not given. */
    Str policy_file, policy_map_namespace, policy_map_name;
    ExtenderEntry *extenders;
    size_t n_extenders;
} SchedulerConfig;

enum {
    _WIRING_E_SUCCESS,
    WIRING_E_UNREAD, /* over berth's limits, or with aliases or tags, which berth does not read */
};

/* 0, perhaps with warnings in @diags; -EINVAL with errors there: kube-scheduler would not start;
 * WIRING_E_UNREAD with errors there: kube-scheduler may start, but berth cannot tell; or -ENOMEM.
 * All of *ret lives in @arena or points into @text.
 *
 * Not checked: plugins and their arguments, the files that tlsConfig and clientConnection name, and
 * whether PEM contents are valid. */
int scheduler_config_read(Str file, Str text, Arena *arena, DiagList *diags, SchedulerConfig *ret);

/* Whether its extenders are in a Policy that was not read with it. */
static inline bool scheduler_config_lacks_policy(const SchedulerConfig *config) {
    return config->n_extenders == 0 && config->policy_file.len + config->policy_map_name.len > 0;
}

/* Writes @config in its format, with comments that explain each choice (JSON has none). An unsafe
 * configuration is not written: https without a CA is an error of the caller (assert). */
void scheduler_config_write(const SchedulerConfig *config, Buf *out);

/* The largest share, 0 to 1, that an extender of @weight has of a node's total score next to
 * kube-scheduler's default plugins (0 to 1200 points). */
double wiring_weight_share(int64_t weight);

/* Whether @url and the prefix of an entry name the same server: scheme, host and port; all names of
 * loopback are the same. */
bool wiring_is_same_server(Str url, Str url_prefix);

/* Address: the parts of a berth's URL. */

/* Compare the scheme alone, as kube-scheduler does. */
bool address_is_https(Str url);
bool address_is_http(Str url);

/* localhost, 127.0.0.0/8, ::1. */
bool address_is_loopback(Str url);

/* NAME.NAMESPACE.svc, with or without a domain after it: known to a cluster's DNS only. */
bool address_is_service(Str url);

/* Release: which kube-schedulers read which format. */

typedef struct WiringRelease {
    WiringFormat format;
    Str api_version;
    int first, last; /* 1.x; last 0: no last one yet */
} WiringRelease;

/* NULL: no kube-scheduler reads extenders from this version. */
const WiringRelease *wiring_release_find(WiringFormat format, Str api_version);

/* Whether kube-scheduler 1.@minor reads it. */
bool wiring_release_has(const WiringRelease *release, int minor);

/* "1.18", "1.23 to 1.28", "1.25 and later". */
#define WIRING_RELEASE_TEXT_MAX 32u
const char *wiring_release_print(
    const WiringRelease *release, char ret[static WIRING_RELEASE_TEXT_MAX]);
