#pragma once

/*
 * InstallationFacts: all that `berth check --live` and `--offline` have read, before it is judged.
 * src/collect fills it in; the checks only read it.
 *
 * Unknown is not wrong: checks of an unknown fact are skipped, with the reason, never passed.
 *
 * Pure data; all strings live in the collector's arena.
 */

#include "wiring/scheduler-config.h"

#define FACTS_BERTHS_MAX 16u
#define FACTS_CONFIGS_MAX 16u
#define FACTS_RIGHTS_MAX 128u
#define FACTS_POLICIES_MAX 1024u /* of one berth; the check reports if there are more */
#define FACTS_COUNTING_MAX 256u  /* filters of one policy */
#define FACTS_PODS_MAX 64u       /* berth's own, and kube-scheduler's */

/* --- a running berth, by its /api/v1/status and /api/v1/sources ------------------------ */

typedef struct CountingFact { /* a filter that counts pods */
    Str rule;
    Str without_bind; /* what makes it exact where berth does not bind: "narrow", "slots", "none" */
} CountingFact;

typedef struct PolicyFact {
    Str name;
    bool is_observing;
    uint64_t n_matched;      /* filter requests it applied to, since the start */
    uint64_t n_rejected_all; /* of these, those where it let no node pass */
    CountingFact *counting;
    size_t n_counting;
} PolicyFact;

typedef struct SourceFact {
    Str metric, source;
    Str state; /* "ok", …, as in /api/v1/sources */
    Str error; /* empty: none */
    bool is_of_pods;
    size_t n_nodes, n_covered;
} SourceFact;

typedef struct SchedulerFact { /* a schedulerName that has sent requests */
    Str name;
    uint64_t n_requests;
    Str last_request_time;
    double last_request_sec; /* ago */
} SchedulerFact;

/* An object that lets new pods use what policies publish, by berth or in the cluster. */
typedef struct AdmissionFact {
    Str name;
    Str digest; /* of its effect; empty: it has none */
} AdmissionFact;

typedef struct SlotFact { /* slots of a node: an extended resource */
    Str resource;
    int64_t limit;
} SlotFact;

/* Tasks that one of several berths does: the holder of the task's Lease. */
typedef enum LeaseUse {
    LEASE_OF_BINDS,
    LEASE_OF_PUBLISHING,
    LEASE_OF_NOMINATIONS,
    LEASE_OF_POLICIES, /* writes their status */
    _LEASE_USES,
} LeaseUse;

typedef struct LeaseFact {
    Str namespace, name; /* empty: it has none */
} LeaseFact;

typedef struct BerthFact {
    Str url;
    Str error;         /* not empty: it did not answer, and the rest is not known */
    bool is_forbidden; /* it answered 403: we are not on its list of client names */
    bool is_ready;
    Str readiness; /* the output of /readyz?verbose, if not ready */
    Str status;    /* the text of /api/v1/status */
    Str version;
    double uptime_sec;
    double clock_skew_sec; /* its clock less ours */
    bool answers_bind;
    bool has_wake_up, has_events;
    bool has_publish, is_publish_writer;
    bool has_nominator;
    bool has_cluster_policies; /* --policies-from-cluster */
    Str definition;            /* digest of the CustomResourceDefinition of its version */
    bool answers_reviews;      /* --admission-listen */
    size_t n_published, n_published_labels; /* published filters, and those as labels */
    AdmissionFact *admission;               /* objects that its policies need */
    size_t n_admission;
    SlotFact *slots; /* that its policies publish */
    size_t n_slots;
    bool knows_cluster; /* kube-scheduler may send it names of nodes */
    double deadline_sec;
    int max_score; /* of its policies: 10 unless they request more */
    bool has_filters, has_scores;
    Str policy_digest, policy_rejected; /* why the newest was rejected; empty: it was not */
    Str policy_waiting;                 /* why policies are not in force yet; empty: all are */
    bool is_synced, is_connected;
    double staleness_sec;
    Str cluster_error;
    size_t n_nodes, n_pods;
    Str cluster_digest;
    uint64_t n_bypassed;
    Str *managed;
    size_t n_managed;
    bool has_tls;
    double certificate_sec; /* until it expires */
    Str *client_names;      /* clients that may send requests; none: no certificate is required */
    size_t n_client_names;
    LeaseFact leases[_LEASE_USES];
    bool watches_namespaces;       /* a policy reads namespaces */
    bool watches_claims;           /* a policy reads claims, and so volumes */
    Str lease_holder, lease_error; /* of the bind lease; empty: none */
    bool has_lease, holds_lease;
    Str sandbox_active, sandbox_missing; /* both empty: it did not report them */
    Str *exempt;                         /* "NAMESPACE" or "NAMESPACE/KEY=VALUE" */
    size_t n_exempt;
    PolicyFact *policies;
    size_t n_policies;
    SourceFact *sources;
    size_t n_sources;
    SchedulerFact *schedulers;
    size_t n_schedulers;
    /* Whether kube-scheduler's verbs answer at the address of the entry that lists it. */
    bool was_probed;
    Str probe_error; /* with the address; empty: it answered */
} BerthFact;

/* --- kube-scheduler --------------------------------------------------------------------- */

typedef struct SchedulerConfigFact {
    Str origin;      /* "ConfigMap berth-system/berth-scheduler", a file's name */
    Str error;       /* not empty: it could not be read (and why) */
    bool is_invalid; /* kube-scheduler would refuse it: error has the diagnostics */
    bool is_joined;  /* a Policy that a v1alpha1 file among these names: merged into that */
    SchedulerConfig config;
    size_t berth_index; /* the entry for berth; SIZE_MAX: none */
    /* Names in the client certificate that berth compares: CN, DNS names, URIs, mail addresses. */
    Str *client_names;
    size_t n_client_names;
    double client_certificate_sec; /* until it expires; 0: it could not be read */
} SchedulerConfigFact;

/* --- the API server ----------------------------------------------------------------------- */

typedef enum RightWanted {
    RIGHT_NEEDED,
    RIGHT_FORBIDDEN, /* berth must not have it */
} RightWanted;

typedef enum RightAnswer { RIGHT_UNKNOWN, RIGHT_ALLOWED, RIGHT_DENIED } RightAnswer;

typedef struct RightFact {
    Str verb, group, resource, subresource; /* "create", "", "pods", "binding" */
    Str namespace, name;                    /* empty: all */
    const char *why;                        /* "to bind pods (--bind)", "berth never needs it" */
    RightWanted wanted;
    RightAnswer answer;
    Str error;
} RightFact;

typedef struct PodFact {
    Str namespace, name;
    Str scheduler_name;
    Str node;
    bool is_static; /* a mirror pod: no scheduler places it */
    bool is_ready;
} PodFact;

/* Objects that let new pods use what policies publish. */
typedef enum AdmissionSource {
    ADMISSION_POLICIES,   /* MutatingAdmissionPolicies */
    ADMISSION_BINDINGS,   /* their MutatingAdmissionPolicyBindings */
    ADMISSION_BY_KYVERNO, /* MutatingPolicies of Kyverno */
    _ADMISSION_SOURCES,
} AdmissionSource;

typedef struct ObjectsFact {
    bool is_known; /* they were listed, or the cluster does not have the kind */
    bool has_kind;
    Str error; /* why they are not known */
    AdmissionFact *items;
    size_t n;
} ObjectsFact;

typedef struct OverlaysFact { /* Karpenter's NodeOverlays */
    ObjectsFact objects;      /* without digests */
    SlotFact *slots;          /* what all of them add to new nodes */
    size_t n_slots;
} OverlaysFact;

/* The API server's answer to a policy with a mistake, in a dry run. */
typedef enum TrialResult {
    TRIAL_UNKNOWN, /* it did not get as far as a webhook */
    TRIAL_DENIED,  /* by berth */
    TRIAL_STORED,
    TRIAL_BLOCKED, /* by a webhook that cannot be called */
} TrialResult;

typedef struct TrialFact {
    TrialResult result;
    Str text; /* unknown and blocked: why */
} TrialFact;

typedef struct InstallationFacts {
    bool is_offline; /* --offline: nothing but configs is known, and nothing else is checked */
    Str config_hint; /* why no configuration was found, and where it may be; empty: no hint */
    SchedulerConfigFact *configs;
    size_t n_configs;
    BerthFact *berths;
    size_t n_berths;

    bool was_cluster_asked;  /* an API server was named */
    Str cluster_error;       /* not empty: it could not be reached */
    Str cluster_version;     /* "v1.36.4" */
    double cluster_skew_sec; /* its clock less ours */
    bool is_skew_known;
    Str subject; /* whose rights these are: "system:serviceaccount:berth-system:berth" */
    RightFact *rights;
    size_t n_rights;
    PodFact *pods; /* berth's own */
    size_t n_pods;
    bool are_pods_known;
    ObjectsFact admission[_ADMISSION_SOURCES];
    OverlaysFact overlays;
    /* If a berth has_cluster_policies: the CustomResourceDefinition of PlacementPolicies. */
    ObjectsFact definition;
    TrialFact trial; /* if a berth has_cluster_policies */
} InstallationFacts;
