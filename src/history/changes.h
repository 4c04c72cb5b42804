#pragma once

/*
 * Changes: recent events of this berth process, for "what changed?".
 *
 * Most incidents follow a change. A ring of the last CHANGES_MAX: starts, configuration that was
 * read or rejected, lists and watches that restarted or broke, metrics that expired and returned,
 * leases. The texts of the last CHANGES_VERSIONS_MAX policies are kept, within a limit of bytes, so
 * that two versions can be compared.
 *
 * Threads: any; one lock. Decisions never take it.
 */

#include "base/digest.h"
#include "policy/program.h"

#define CHANGES_MAX 512u
#define CHANGES_TEXT_MAX 1024u /* bytes; longer texts are cut */
#define CHANGES_VERSIONS_MAX 16u
#define CHANGES_VERSIONS_BYTES ((size_t)4 * 1024 * 1024)

typedef enum ChangeKind {
    CHANGE_STARTED,
    CHANGE_POLICY,          /* new policies are in force: has a version */
    CHANGE_POLICY_REJECTED, /* the newest policies have errors; text: why */
    CHANGE_CONFIG,          /* a file was read again: certificates, cluster, sources, token */
    CHANGE_CONFIG_REJECTED,
    CHANGE_WATCH_LOST, /* a watch of the API server broke */
    CHANGE_WATCH_BACK,
    CHANGE_RELIST,     /* all objects were listed again */
    CHANGE_METRIC_OLD, /* a metric has expired */
    CHANGE_METRIC_BACK,
    CHANGE_LEASE_TAKEN,
    CHANGE_LEASE_LOST,
    CHANGE_BYPASSED, /* pods were bound without a request to berth */
    _CHANGE_MAX,
} ChangeKind;

typedef struct ChangeKindInfo {
    const char *name;  /* stable: "policy", "policy-rejected", "watch-lost", … */
    bool is_bad;       /* bad news */
    const char *words; /* for users */
} ChangeKindInfo;

extern const ChangeKindInfo change_kinds[];

typedef struct Changes Changes;

Changes *changes_new(void); /* NULL when out of memory */
Changes *changes_free(Changes *changes);

/* @what: the subject, such as "policy", "nodes" or "load of Prometheus"; may be empty. @text: a
 * detail, or empty. Copies the first line of each. */
void changes_note(Changes *changes, ChangeKind kind, int64_t at_nsec, Str what, Str text);

/* Policies were read and are in force: keeps a version, and notes a CHANGE_POLICY unless it is the
 * first version or equal to the one before (@digest). Copies texts. */
void changes_note_policies(
    Changes *changes, int64_t at_nsec, Digest digest, const PolicySource *sources, size_t n);

typedef struct Change {
    uint64_t id; /* grows by 1, from 1 */
    ChangeKind kind;
    int64_t at_nsec; /* since 1970 */
    Str what, text;
    Digest digest; /* CHANGE_POLICY: the version */
    bool has_diff; /* the texts of this version and of the one before are kept, and no later change
                      led to the same version */
} Change;

/* When the last change of @kind was noted, since 1970; 0: none is remembered. */
int64_t changes_last(Changes *changes, ChangeKind kind);

/* Copies up to @n changes into @arena, newest first. Returns their number. */
size_t changes_read(Changes *changes, Arena *arena, Change *ret, size_t n);

/* Appends the difference from the version before @digest, as a unified diff, file by file. If
 * @digest came into force several times, the last time counts. False: a version is not kept. */
bool changes_diff(Changes *changes, Digest digest, Buf *out);

/* Copies the texts of version @digest into @arena. False: it is not kept, or out of memory. */
bool changes_sources(
    Changes *changes, Digest digest, Arena *arena, const PolicySource **ret, size_t *ret_n);
