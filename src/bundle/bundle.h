#pragma once

/*
 * Bundle: decisions and everything they depended on, in one file, for sharing.
 *
 * A .tar.gz that can be opened by hand:
 *
 *   berth-bundle/about.json        version, time, contents, whether names were hashed
 *   berth-bundle/policy/NAME.yaml  the policies in force, as they were read
 *   berth-bundle/decisions.jsonl   one decision per line, oldest first
 *   berth-bundle/pods.jsonl        their pods, with the fields that policies can read
 *   berth-bundle/cluster.json      the oldest cluster of these (`--cluster` reads it)
 *   berth-bundle/changes.jsonl     the changes to later clusters, one line per saved view
 *   berth-bundle/metrics.jsonl     measured values, by saved view
 *   berth-bundle/metrics.txt, status.json, sources.json, changes.json   the pages of that name
 *
 * It contains no secrets: of a pod only the fields that policies can read are written, not
 * environment and volumes. Files are not trusted: every part has a limit.
 */

#include "policy/program.h"
#include "replay/recording.h"

#define BUNDLE_MAX ((size_t)512 * 1024 * 1024)               /* the file */
#define BUNDLE_UNPACKED_MAX ((size_t)2 * 1024 * 1024 * 1024) /* all of it */
#define BUNDLE_ERROR_MAX 512u

/* A page of the daemon, added unchanged. */
typedef struct BundlePage {
    Str name; /* "status.json" */
    Str text;
} BundlePage;

/* The contents. All borrowed. */
typedef struct BundleParts {
    Str version;          /* of berth */
    int64_t made_at_nsec; /* since 1970 */
    const PolicySource *policies;
    size_t n_policies;
    const Program *program;       /* of these policies */
    const Exemptions *exemptions; /* may be NULL */
    const Recording *recording;
    const BundlePage *pages; /* omitted if names are hashed: they contain many names */
    size_t n_pages;
    bool only_digest;  /* no cluster, only its fingerprint: decisions cannot be replayed */
    bool is_anonymous; /* names that policies do not mention are hashed (bundle/anonymous.h) */
    uint64_t salt[2];  /* of the hashes: bundles with different salts have different hashes */
} BundleParts;

/* Appends the file to @out. 0; -ENOMEM; or the error of @out. */
int bundle_write(const BundleParts *parts, Buf *out) MUST_CHECK;

typedef struct Bundle {
    Buf text;     /* all files, unpacked: the fields below point into it ... */
    Arena *arena; /* ... and into this */
    Str version;
    int64_t made_at_nsec;
    bool is_anonymous;
    bool has_cluster;
    const PolicySource *policies;
    size_t n_policies;
    Exemptions exemptions;
    Recording recording;
    const BundlePage *pages;
    size_t n_pages;
} Bundle;

enum {
    _BUNDLE_E_SUCCESS,
    BUNDLE_E_MALFORMED, /* not a bundle, or damaged; the text has the error and its position */
};

/* @file is the whole file, and may be freed afterwards. 0; BUNDLE_E_MALFORMED with @error
 * (BUNDLE_ERROR_MAX), also over a limit; or -ENOMEM when an allocation failed. The caller calls
 * bundle_done(), also after a failure. */
int bundle_read(Str file, Bundle *ret, char *error) MUST_CHECK;
void bundle_done(Bundle *bundle); /* @bundle may be zeroed */
