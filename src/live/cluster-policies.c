/* Chooses a version of each PlacementPolicy of the cluster, and notes which is in force. */

#include "live/cluster-policies.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "input/policies.h"
#include "input/policy-mistakes.h"

/* A version of an object; the text is empty: none. */
typedef struct Version {
    Str text;
    int64_t generation;
    size_t n_filters, n_scores;
    bool is_observed;
} Version;

typedef struct Entry {
    PolicyObject newest;
    Str error;
    bool is_checked; /* the result for the newest version does not depend on anything else */
    bool is_held;    /* rejected with others: see held_version */
    Version chosen, in_force;
    int64_t since_nsec;
} Entry;

/* Filters and scores of all policies together. */
typedef struct Totals {
    size_t n_filters, n_scores;
} Totals;

struct ClusterPolicies {
    PolicyObjects *objects;
    uint64_t held_version; /* of the objects: what was rejected is not tried again */
    pthread_mutex_t lock;  /* for what follows; of the one that chooses, to write */
    Arena *arena;          /* of the entries; NULL: there are none yet */
    Entry *entries;        /* by name */
    size_t n;
};

/* A choice under way. */
typedef struct Choice {
    ClusterPolicies *policies;
    const Program *of_files;
    Arena *arena;
    Totals totals;
    uint64_t version; /* of the objects */
} Choice;

ClusterPolicies *cluster_policies_new(PolicyObjects *objects) {
    ClusterPolicies *policies = calloc(1, sizeof(*policies));

    if (!policies)
        return NULL;
    policies->objects = objects;
    (void)pthread_mutex_init(&policies->lock, NULL);
    return policies;
}

ClusterPolicies *cluster_policies_free(ClusterPolicies *policies) {
    if (!policies)
        return NULL;
    arena_free(policies->arena);
    (void)pthread_mutex_destroy(&policies->lock);
    free(policies);
    return NULL;
}

/* --- one object ------------------------------------------------------------------------------ */

static Version copy_version(Arena *arena, const Version *version) {
    Version copy = *version;

    copy.text = str_is_empty(version->text) ? STR_NULL : arena_copy(arena, version->text);
    return copy;
}

static bool is_version(const Version *version, const PolicyObject *object) {
    return version->generation == object->generation && str_eq(version->text, object->text);
}

static const Policy *find_in_files(const Choice *choice, Str name) {
    for (size_t i = 0; i < choice->of_files->n_policies; i++)
        if (str_eq(choice->of_files->policies[i].name, name))
            return &choice->of_files->policies[i];
    return NULL;
}

/* Whether all policies are within the limits with @version instead of that in force. */
static bool fits(Choice *choice, Entry *entry, const Version *version) {
    Totals with = {
        choice->totals.n_filters - entry->in_force.n_filters + version->n_filters,
        choice->totals.n_scores - entry->in_force.n_scores + version->n_scores,
    };

    if (with.n_filters > PROGRAM_FILTERS_MAX || with.n_scores > PROGRAM_SCORES_MAX) {
        entry->error = arena_printf(choice->arena,
            "with it there would be %zu filters and %zu scores in all policies, and the limit is "
            "%u each",
            with.n_filters, with.n_scores, PROGRAM_FILTERS_MAX);
        return false;
    }
    choice->totals = with;
    return true;
}

/* 0, or -ENOMEM. */
static int check_newest(Choice *choice, Entry *entry) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    _cleanup_(program_unrefp) Program *program = NULL;
    int r = policy_check_alone(entry->newest.name, entry->newest.text, &program, &mistakes);
    Version version = {.text = entry->newest.text, .generation = entry->newest.generation};

    if (r < 0)
        return r;
    entry->is_checked = r > 0;
    if (r > 0) {
        entry->error = arena_copy(choice->arena, buf_str(&mistakes));
        return 0;
    }
    version.n_filters = program->n_filters;
    version.n_scores = program->n_scores;
    version.is_observed = program->policies[0].is_observed;
    entry->is_checked = fits(choice, entry, &version);
    if (entry->is_checked)
        entry->chosen = version;
    return 0;
}

static void leave_to_file(Choice *choice, Entry *entry, const Policy *policy) {
    choice->totals.n_filters -= entry->in_force.n_filters;
    choice->totals.n_scores -= entry->in_force.n_scores;
    entry->chosen = (Version){0};
    entry->error = arena_printf(choice->arena,
        "a policy file has a policy of this name, %.*s:%zu; rename one of them",
        STR_FMT(policy->place.file), policy->place.line);
}

/* The known result; false: it has to be checked. */
static bool take_known(const Choice *choice, Entry *entry, const Entry *known) {
    bool is_same = known->newest.generation == entry->newest.generation &&
                   str_eq(known->newest.text, entry->newest.text);
    bool is_held = known->is_held && choice->version == choice->policies->held_version;

    if (!is_same || !(known->is_checked || is_held))
        return false;
    entry->is_checked = known->is_checked;
    entry->is_held = is_held;
    entry->error = arena_copy(choice->arena, known->error);
    if (!is_held && is_version(&known->chosen, &known->newest))
        entry->chosen = copy_version(choice->arena, &known->chosen);
    return true;
}

/* @known: of the same object, before; NULL: it is new. 0, or -ENOMEM. */
static int choose_version(Choice *choice, Entry *entry, const Entry *known) {
    const Policy *policy = find_in_files(choice, entry->newest.name);

    if (policy) {
        leave_to_file(choice, entry, policy);
        return 0;
    }
    if (known && take_known(choice, entry, known))
        return 0;
    return check_newest(choice, entry);
}

/* --- all of them -------------------------------------------------------------------------------
 */

/* The entry of the same object, from *@at on; both lists are sorted. */
static const Entry *find_known(
    const ClusterPolicies *policies, const PolicyObject *object, size_t *at) {
    while (*at < policies->n && str_cmp(policies->entries[*at].newest.name, object->name) < 0)
        (*at)++;
    if (*at == policies->n || !str_eq(policies->entries[*at].newest.name, object->name) ||
        !str_eq(policies->entries[*at].newest.uid, object->uid))
        return NULL;
    return &policies->entries[*at];
}

/* The version in force stays the choice until a newer one turns out to be good. */
static void take_in_force(Choice *choice, Entry *entry, const Entry *known) {
    if (!known)
        return;
    entry->in_force = entry->chosen = copy_version(choice->arena, &known->in_force);
    entry->since_nsec = known->since_nsec;
    choice->totals.n_filters += entry->in_force.n_filters;
    choice->totals.n_scores += entry->in_force.n_scores;
}

static int choose_all(Choice *choice, Entry **ret, size_t *ret_n) {
    ClusterPolicies *policies = choice->policies;
    PolicyObject *objects;
    Entry *entries;
    size_t n, at = 0;
    int r = policy_objects_copy(policies->objects, choice->arena, &objects, &n, &choice->version);

    if (r < 0)
        return r;
    entries = ARENA_ARRAY(choice->arena, Entry, n);
    for (size_t i = 0; entries && i < n; i++) {
        entries[i] = (Entry){.newest = objects[i]};
        take_in_force(choice, &entries[i], find_known(policies, &objects[i], &at));
    }
    at = 0;
    for (size_t i = 0; entries && r == 0 && i < n; i++)
        r = choose_version(choice, &entries[i], find_known(policies, &objects[i], &at));
    *ret = entries;
    *ret_n = n;
    return r < 0 || arena_has_failed(choice->arena) ? -ENOMEM : 0;
}

static void exchange(ClusterPolicies *policies, Arena *arena, Entry *entries, size_t n) {
    Arena *before = policies->arena;

    (void)pthread_mutex_lock(&policies->lock);
    policies->arena = arena;
    policies->entries = entries;
    policies->n = n;
    (void)pthread_mutex_unlock(&policies->lock);
    arena_free(before);
}

int cluster_policies_choose(ClusterPolicies *policies, const Program *of_files,
    const PolicySource *files, size_t n_files, Arena *arena, const PolicySource **ret,
    size_t *ret_n, bool *ret_is_new) {
    _cleanup_(arena_freep) Arena *kept = arena_new(POLICIES_BUDGET);
    Choice choice = {.policies = policies,
        .of_files = of_files,
        .arena = kept,
        .totals = {of_files->n_filters, of_files->n_scores}};
    PolicySource *sources;
    size_t n = 0;
    Entry *entries;

    if (!kept || choose_all(&choice, &entries, &n) < 0)
        return -ENOMEM;
    sources = ARENA_ARRAY(arena, PolicySource, n_files + n);
    if (!sources)
        return -ENOMEM;
    *ret_is_new = false;
    *ret_n = 0;
    for (size_t i = 0; i < n_files; i++)
        sources[(*ret_n)++] = files[i];
    for (size_t i = 0; i < n; i++) {
        const Entry *entry = &entries[i];

        *ret_is_new |= entry->chosen.generation != entry->in_force.generation;
        if (str_is_empty(entry->chosen.text))
            continue;
        sources[(*ret_n)++] = (PolicySource){
            .file = arena_printf(arena, POLICY_OBJECT_FILE "%.*s", STR_FMT(entry->newest.name)),
            .text = arena_copy(arena, entry->chosen.text),
        };
    }
    exchange(policies, TAKE_PTR(kept), entries, n);
    *ret = sources;
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

/* --- the result ----------------------------------------------------------------------------------
 */

void cluster_policies_commit(ClusterPolicies *policies, int64_t wall_nsec) {
    (void)pthread_mutex_lock(&policies->lock);
    for (size_t i = 0; i < policies->n; i++) {
        Entry *entry = &policies->entries[i];

        if (entry->chosen.generation != entry->in_force.generation)
            entry->since_nsec = wall_nsec;
        entry->in_force = entry->chosen;
    }
    (void)pthread_mutex_unlock(&policies->lock);
}

void cluster_policies_reject(ClusterPolicies *policies, Str error) {
    Str copy;

    policies->held_version = policy_objects_version(policies->objects);
    (void)pthread_mutex_lock(&policies->lock);
    copy = policies->arena ? arena_copy(policies->arena, error) : STR_NULL;
    for (size_t i = 0; i < policies->n; i++) {
        Entry *entry = &policies->entries[i];

        if (entry->chosen.generation == entry->in_force.generation)
            continue;
        entry->error = copy;
        entry->is_checked = false;
        entry->is_held = true;
        entry->chosen = entry->in_force;
    }
    (void)pthread_mutex_unlock(&policies->lock);
}

int cluster_policies_copy(
    ClusterPolicies *policies, Arena *arena, ClusterPolicy **ret, size_t *ret_n) {
    ClusterPolicy *copies;

    (void)pthread_mutex_lock(&policies->lock);
    copies = ARENA_ARRAY(arena, ClusterPolicy, policies->n);
    for (size_t i = 0; copies && i < policies->n; i++) {
        const Entry *entry = &policies->entries[i];

        copies[i] = (ClusterPolicy){
            .newest = {.name = arena_copy(arena, entry->newest.name),
                .uid = arena_copy(arena, entry->newest.uid),
                .generation = entry->newest.generation},
            .error = str_is_empty(entry->error) ? STR_NULL : arena_copy(arena, entry->error),
            .in_force = entry->in_force.generation,
            .since_nsec = entry->since_nsec,
            .is_observed = entry->in_force.is_observed,
        };
    }
    *ret = copies;
    *ret_n = policies->n;
    (void)pthread_mutex_unlock(&policies->lock);
    return copies && !arena_has_failed(arena) ? 0 : -ENOMEM;
}

void cluster_policies_describe(ClusterPolicies *policies, char *ret, size_t size) {
    const Entry *first = NULL;
    size_t n = 0;

    ret[0] = '\0';
    (void)pthread_mutex_lock(&policies->lock);
    for (size_t i = 0; i < policies->n; i++) {
        const Entry *entry = &policies->entries[i];

        first = !first && !str_is_empty(entry->error) ? entry : first;
        n += !str_is_empty(entry->error);
    }
    if (first && n > 1)
        (void)snprintf(ret, size, POLICY_OBJECT_FILE "%.*s: %.*s (and %zu more policies)",
            STR_FMT(first->newest.name), STR_FMT(first->error), n - 1);
    else if (first)
        (void)snprintf(ret, size, POLICY_OBJECT_FILE "%.*s: %.*s", STR_FMT(first->newest.name),
            STR_FMT(first->error));
    (void)pthread_mutex_unlock(&policies->lock);
}
