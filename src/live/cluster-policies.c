/* Chooses a version of each PlacementPolicy of the cluster, and records those in force. */

#include "live/cluster-policies.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "input/policies.h"
#include "input/policy-mistakes.h"

/* A version of an object that is, was or may be in force. */
typedef struct KeptVersion {
    unsigned n_refs;
    int64_t generation;
    int64_t since_nsec; /* since 1970: when it came into force; 0: never */
    Buf spec;           /* JSON */
    Buf text;           /* of a policy file; empty: not checked, or has a mistake */
    size_t n_filters, n_scores;
    bool is_observed;
} KeptVersion;

typedef struct Entry {
    PolicyObject newest;
    Str error;
    bool is_checked;                           /* checked: its result depends on nothing else */
    bool is_held;                              /* rejected with others: see held_version */
    KeptVersion *chosen, *in_force;            /* NULL: none */
    KeptVersion *history[POLICY_VERSIONS_MAX]; /* versions that were in force, newest first */
    size_t n_history;
} Entry;

/* Filters and scores of all policies together. */
typedef struct Totals {
    size_t n_filters, n_scores;
} Totals;

struct ClusterPolicies {
    PolicyObjects *objects;
    /* policy_objects_version() of the last choice, and of the last rejected one: its policies are
     * not tried again until the number changes */
    uint64_t chosen_version, held_version;
    pthread_mutex_t lock; /* guards the fields below; the thread that chooses reads without it */
    Arena *arena;         /* of the fields below; NULL: there is nothing yet */
    Entry *entries;       /* by name */
    size_t n;
    Program *files; /* of files alone, at the last choice; a reference; NULL: none yet */
};

typedef struct Choice {
    ClusterPolicies *policies;
    Arena *arena; /* of the fields below */
    Entry *entries;
    size_t n;
    Program *files; /* borrowed */
    Totals totals;
    uint64_t version; /* of the objects */
    bool has_failed;  /* out of memory, like the arena's own failure */
} Choice;

/* --- versions; references are counted without a lock ------------------------------------------ */

static KeptVersion *kept_version_ref(KeptVersion *version) {
    if (version)
        version->n_refs++;
    return version;
}

static KeptVersion *kept_version_unref(KeptVersion *version) {
    if (!version || --version->n_refs > 0)
        return NULL;
    buf_done(&version->spec);
    buf_done(&version->text);
    free(version);
    return NULL;
}
DEFINE_CLEANUP(KeptVersion *, kept_version_unref)

static KeptVersion *kept_version_new(int64_t generation, int64_t since_nsec, Str spec) {
    KeptVersion *version = calloc(1, sizeof(*version));

    if (!version)
        return NULL;
    *version = (KeptVersion){
        .n_refs = 1,
        .generation = generation,
        .since_nsec = since_nsec,
        .spec = BUF_INIT(POLICY_OBJECT_TEXT_MAX),
        .text = BUF_INIT(POLICY_OBJECT_TEXT_MAX),
    };
    buf_append(&version->spec, spec);
    return buf_error(&version->spec) < 0 ? kept_version_unref(version) : version;
}

/* Compiles the version as a policy by itself. Returns like policy_check_alone(). */
static int kept_version_check(KeptVersion *version, Str name, Buf *mistakes, Buf *warnings) {
    _cleanup_(program_unrefp) Program *program = NULL;
    int r = policy_object_text(name, buf_str(&version->spec), &version->text);

    if (r == 0 && version->text.len == 0) {
        buf_append(mistakes, STR("the spec is nested too deeply, or too large"));
        r = POLICIES_E_INVALID;
    }
    if (r == 0)
        r = policy_check_alone(name, buf_str(&version->text), &program, mistakes, warnings);
    if (r != 0) {
        buf_done(&version->text);
        return r;
    }
    version->n_filters = program->n_filters;
    version->n_scores = program->n_scores;
    version->is_observed = program->policies[0].is_observed;
    return 0;
}

static void entries_done(Entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++) {
        kept_version_unref(entries[i].chosen);
        kept_version_unref(entries[i].in_force);
        for (size_t j = 0; j < entries[i].n_history; j++)
            kept_version_unref(entries[i].history[j]);
    }
}

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
    entries_done(policies->entries, policies->n);
    arena_free(policies->arena);
    program_unref(policies->files);
    (void)pthread_mutex_destroy(&policies->lock);
    free(policies);
    return NULL;
}

/* --- one object ------------------------------------------------------------------------------ */

static bool is_version(const KeptVersion *version, int64_t generation, Str spec) {
    return version->generation == generation && str_eq(buf_str(&version->spec), spec);
}

static bool is_newest(const Entry *entry, const KeptVersion *version) {
    return is_version(version, entry->newest.generation, entry->newest.spec);
}

/* Whether no file has a policy with this name. @files may be NULL. */
static bool has_own_name(const Program *files, Str name, Buf *mistakes) {
    for (size_t i = 0; files && i < files->n_policies; i++) {
        const Policy *policy = &files->policies[i];

        if (!str_eq(policy->name, name))
            continue;
        buf_printf(mistakes,
            "a policy file has a policy of this name, %.*s:%zu; rename one of them",
            STR_FMT(policy->place.file), policy->place.line);
        return false;
    }
    return true;
}

/* Whether all policies together are within the limits. */
static bool is_within(Totals with, Buf *mistakes) {
    if (with.n_filters <= PROGRAM_FILTERS_MAX && with.n_scores <= PROGRAM_SCORES_MAX)
        return true;
    buf_printf(mistakes,
        "with it, all policies together would have %zu filters and %zu scores; the limit is %u of "
        "each",
        with.n_filters, with.n_scores, PROGRAM_FILTERS_MAX);
    return false;
}

static Totals totals_of(const Program *files) {
    return files ? (Totals){files->n_filters, files->n_scores} : (Totals){0};
}

/* Adds the rules of @version (NULL: none). */
static Totals add(Totals totals, const KeptVersion *version) {
    return version ? (Totals){totals.n_filters + version->n_filters,
                         totals.n_scores + version->n_scores}
                   : totals;
}

/* The totals with @version (NULL: none) instead of the one in force. */
static Totals count_with(const Choice *choice, const Entry *entry, const KeptVersion *version) {
    Totals totals = choice->totals;

    if (entry->in_force) {
        totals.n_filters -= entry->in_force->n_filters;
        totals.n_scores -= entry->in_force->n_scores;
    }
    return add(totals, version);
}

/* Chooses @version (NULL: none), whose reference it takes, instead of the one in force. */
static void set_chosen(Choice *choice, Entry *entry, KeptVersion *version) {
    choice->totals = count_with(choice, entry, version);
    kept_version_unref(entry->chosen);
    entry->chosen = version;
}

/* Whether all policies are within the limits with @version. If not, sets the error. */
static bool fits(Choice *choice, Entry *entry, const KeptVersion *version) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);

    if (is_within(count_with(choice, entry, version), &mistakes))
        return true;
    if (str_is_empty(entry->error))
        entry->error = arena_copy(choice->arena, buf_str(&mistakes));
    return false;
}

static void check_newest(Choice *choice, Entry *entry) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
    _cleanup_(kept_version_unrefp) KeptVersion *version =
        kept_version_new(entry->newest.generation, 0, entry->newest.spec);
    int r = version ? kept_version_check(version, entry->newest.name, &mistakes, NULL) : -ENOMEM;

    choice->has_failed |= r < 0;
    if (r > 0)
        entry->error = arena_copy(choice->arena, buf_str(&mistakes));
    entry->is_checked = r > 0 || (r == 0 && fits(choice, entry, version));
    if (r == 0 && entry->is_checked)
        set_chosen(choice, entry, TAKE_PTR(version));
}

/* Chooses the last good version of the status, if the newest one has a mistake and none is in force
 * (after a start). */
static void choose_from_history(Choice *choice, Entry *entry) {
    for (size_t i = 0; !entry->chosen && i < entry->n_history; i++) {
        KeptVersion *version = entry->history[i];
        _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);
        int r = 0;

        if (is_newest(entry, version) || version->spec.len == 0)
            continue;
        if (version->text.len == 0)
            r = kept_version_check(version, entry->newest.name, &mistakes, NULL);
        choice->has_failed |= r < 0;
        if (r == 0 && fits(choice, entry, version))
            set_chosen(choice, entry, kept_version_ref(version));
    }
}

/* Takes over the earlier result. False: the version must be checked. */
static bool take_known(Choice *choice, Entry *entry, const Entry *known) {
    bool is_same = known->newest.generation == entry->newest.generation &&
                   str_eq(known->newest.spec, entry->newest.spec);
    bool is_held = known->is_held && choice->version == choice->policies->held_version;

    if (!is_same || !(known->is_checked || is_held))
        return false;
    entry->is_checked = known->is_checked;
    entry->is_held = is_held;
    entry->error = arena_copy(choice->arena, known->error);
    if (!is_held)
        set_chosen(choice, entry, kept_version_ref(known->chosen));
    return true;
}

/* @known: the same object at the last choice; NULL: it is new. */
static void choose_version(Choice *choice, Entry *entry, const Entry *known) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(POLICY_MISTAKES_MAX);

    if (!has_own_name(choice->files, entry->newest.name, &mistakes)) {
        set_chosen(choice, entry, NULL);
        entry->error = arena_copy(choice->arena, buf_str(&mistakes));
    } else if (!known || !take_known(choice, entry, known)) {
        check_newest(choice, entry);
        choose_from_history(choice, entry);
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Finds the entry of the same object, from *@at on; both lists are sorted. */
static const Entry *find_known(
    const ClusterPolicies *policies, const PolicyObject *object, size_t *at) {
    while (*at < policies->n && str_cmp(policies->entries[*at].newest.name, object->name) < 0)
        (*at)++;
    if (*at == policies->n || !str_eq(policies->entries[*at].newest.name, object->name) ||
        !str_eq(policies->entries[*at].newest.uid, object->uid))
        return NULL;
    return &policies->entries[*at];
}

/* Reads the status of a new object. Skips versions that cannot belong to it: the status may be
 * restored from a backup, or written by another client. */
static void read_history(Choice *choice, Entry *entry) {
    PolicyVersion versions[POLICY_VERSIONS_MAX];
    size_t n = policy_objects_versions(
        choice->policies->objects, entry->newest.name, choice->arena, versions);

    for (size_t i = 0; i < n; i++) {
        KeptVersion *version =
            kept_version_new(versions[i].generation, versions[i].since_nsec, versions[i].spec);

        choice->has_failed |= !version;
        if (version &&
            (version->generation < entry->newest.generation || is_newest(entry, version)))
            entry->history[entry->n_history++] = version;
        else
            kept_version_unref(version);
    }
}

/* Keeps the version in force as the choice until a newer one passes the checks. */
static void take_in_force(Choice *choice, Entry *entry, const Entry *known) {
    if (!known) {
        read_history(choice, entry);
        return;
    }
    for (size_t i = 0; i < known->n_history; i++)
        entry->history[entry->n_history++] = kept_version_ref(known->history[i]);
    entry->in_force = kept_version_ref(known->in_force);
    entry->chosen = kept_version_ref(known->in_force);
    choice->totals = add(choice->totals, entry->in_force);
}

static int choose_all(Choice *choice) {
    ClusterPolicies *policies = choice->policies;
    PolicyObject *objects;
    size_t n, at = 0;
    int r = policy_objects_copy(policies->objects, choice->arena, &objects, &n, &choice->version);

    if (r < 0)
        return r;
    choice->entries = ARENA_ARRAY(choice->arena, Entry, n);
    choice->n = choice->entries ? n : 0;
    for (size_t i = 0; i < choice->n; i++) {
        choice->entries[i].newest = objects[i];
        take_in_force(choice, &choice->entries[i], find_known(policies, &objects[i], &at));
    }
    at = 0;
    for (size_t i = 0; !choice->has_failed && i < choice->n; i++)
        choose_version(choice, &choice->entries[i], find_known(policies, &objects[i], &at));
    return choice->has_failed || arena_has_failed(choice->arena) ? -ENOMEM : 0;
}

/* Replaces the entries by those of @choice, and takes its arena. */
static void exchange(ClusterPolicies *policies, const Choice *choice) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);

    entries_done(policies->entries, policies->n);
    arena_free(policies->arena);
    policies->arena = choice->arena;
    policies->entries = choice->entries;
    policies->n = choice->n;
    program_unref(policies->files);
    policies->files = program_ref(choice->files);
    policies->chosen_version = choice->version;
}

/* Appends the chosen texts. Returns whether some were not in force before. */
static bool add_sources(
    const Choice *choice, Arena *arena, PolicySource *sources, size_t *n_sources) {
    bool is_new = false;

    for (size_t i = 0; i < choice->n; i++) {
        const Entry *entry = &choice->entries[i];

        is_new |= entry->chosen != entry->in_force;
        if (!entry->chosen)
            continue;
        sources[(*n_sources)++] = (PolicySource){
            .file = arena_printf(arena, POLICY_OBJECT_FILE "%.*s", STR_FMT(entry->newest.name)),
            .text = arena_copy(arena, buf_str(&entry->chosen->text)),
        };
    }
    return is_new;
}

int cluster_policies_choose(ClusterPolicies *policies, Program *of_files, const PolicySource *files,
    size_t n_files, Arena *arena, const PolicySource **ret, size_t *ret_n, bool *ret_is_new) {
    _cleanup_(arena_freep) Arena *kept = arena_new(POLICIES_BUDGET);
    Choice choice = {
        .policies = policies,
        .arena = kept,
        .files = of_files,
        .totals = totals_of(of_files),
    };
    PolicySource *sources = NULL;

    if (!kept)
        return -ENOMEM;
    if (choose_all(&choice) == 0)
        sources = ARENA_ARRAY(arena, PolicySource, n_files + choice.n);
    if (!sources) {
        entries_done(choice.entries, choice.n);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n_files; i++)
        sources[i] = files[i];
    *ret_n = n_files;
    *ret_is_new = add_sources(&choice, arena, sources, ret_n);
    exchange(policies, &choice);
    kept = NULL;
    *ret = sources;
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Puts the chosen version first in the history. If it is first already, as after a start, it keeps
 * its time. */
static void note_history(Entry *entry, int64_t wall_nsec) {
    KeptVersion *version = entry->chosen;
    KeptVersion *last = entry->n_history > 0 ? entry->history[0] : NULL;
    size_t n = 0;

    version->since_nsec = last && is_version(last, version->generation, buf_str(&version->spec))
                              ? last->since_nsec
                              : wall_nsec;
    kept_version_ref(version);
    for (size_t i = 0; i < entry->n_history; i++) {
        KeptVersion *known = entry->history[i];

        assert(known);
        if (known->generation == version->generation || n + 1 == POLICY_VERSIONS_MAX)
            kept_version_unref(known);
        else
            entry->history[n++] = known;
    }
    memmove(&entry->history[1], &entry->history[0], n * sizeof(entry->history[0]));
    entry->history[0] = version;
    entry->n_history = n + 1;
}

void cluster_policies_commit(ClusterPolicies *policies, int64_t wall_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);

    for (size_t i = 0; i < policies->n; i++) {
        Entry *entry = &policies->entries[i];

        if (entry->chosen == entry->in_force)
            continue;
        if (entry->chosen)
            note_history(entry, wall_nsec);
        kept_version_unref(entry->in_force);
        entry->in_force = kept_version_ref(entry->chosen);
    }
}

void cluster_policies_reject(ClusterPolicies *policies, Str error) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);
    Str copy = policies->arena ? arena_copy(policies->arena, error) : STR_NULL;

    policies->held_version = policies->chosen_version; /* objects may have changed meanwhile */
    for (size_t i = 0; i < policies->n; i++) {
        Entry *entry = &policies->entries[i];

        if (entry->chosen == entry->in_force)
            continue;
        entry->error = copy;
        entry->is_checked = false;
        entry->is_held = true;
        kept_version_unref(entry->chosen);
        entry->chosen = kept_version_ref(entry->in_force);
    }
}

/* Whether all policies are within the limits with @version instead of that of @name. */
static bool fits_beside_others(
    ClusterPolicies *policies, Str name, const KeptVersion *version, Buf *mistakes) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);
    Totals totals = add(totals_of(policies->files), version);

    for (size_t i = 0; i < policies->n; i++)
        if (!str_eq(policies->entries[i].newest.name, name))
            totals = add(totals, policies->entries[i].chosen);
    return is_within(totals, mistakes);
}

int cluster_policies_review(
    ClusterPolicies *policies, const PolicyObject *object, Buf *mistakes, Buf *warnings) {
    _cleanup_(kept_version_unrefp) KeptVersion *version = NULL;
    bool is_good;
    int r;

    (void)pthread_mutex_lock(&policies->lock);
    is_good = has_own_name(policies->files, object->name, mistakes);
    (void)pthread_mutex_unlock(&policies->lock);
    if (!is_good)
        return POLICIES_E_INVALID;
    version = kept_version_new(object->generation, 0, object->spec);
    if (!version)
        return -ENOMEM;
    r = kept_version_check(version, object->name, mistakes, warnings); /* slow: without the lock */
    if (r != 0)
        return r;
    return fits_beside_others(policies, object->name, version, mistakes) ? 0 : POLICIES_E_INVALID;
}

int cluster_policies_copy(
    ClusterPolicies *policies, Arena *arena, ClusterPolicy **ret, size_t *ret_n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);
    ClusterPolicy *copies = ARENA_ARRAY(arena, ClusterPolicy, policies->n);

    for (size_t i = 0; copies && i < policies->n; i++) {
        const Entry *entry = &policies->entries[i];

        copies[i] = (ClusterPolicy){
            .newest = {.name = arena_copy(arena, entry->newest.name),
                .uid = arena_copy(arena, entry->newest.uid),
                .generation = entry->newest.generation},
            .error = str_is_empty(entry->error) ? STR_NULL : arena_copy(arena, entry->error),
            .in_force = entry->in_force ? entry->in_force->generation : 0,
            .since_nsec = entry->in_force ? entry->in_force->since_nsec : 0,
            .is_observed = entry->in_force && entry->in_force->is_observed,
        };
    }
    *ret = copies;
    *ret_n = policies->n;
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

size_t cluster_policies_versions(
    ClusterPolicies *policies, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);
    size_t at = 0, n = 0;
    const Entry *entry;

    while (at < policies->n && !str_eq(policies->entries[at].newest.name, name))
        at++;
    entry = at < policies->n ? &policies->entries[at] : NULL;
    for (; entry && n < entry->n_history; n++) {
        const KeptVersion *version = entry->history[n];
        Str spec = buf_str(&version->spec);

        ret[n] = (PolicyVersion){
            .generation = version->generation,
            .since_nsec = version->since_nsec,
            .spec = spec.len > POLICY_VERSION_SPEC_MAX ? STR_NULL : arena_copy(arena, spec),
        };
    }
    return arena_has_failed(arena) ? 0 : n;
}

void cluster_policies_describe(ClusterPolicies *policies, char *ret, size_t size) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&policies->lock);
    const Entry *first = NULL;
    size_t n = 0;

    ret[0] = '\0';
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
}
