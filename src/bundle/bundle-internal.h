#pragma once

/* Shared by the files that write and read bundles. */

#include "base/vec.h"
#include "bundle/anonymous.h"
#include "bundle/archive.h"
#include "bundle/bundle.h"
#include "json/read.h"
#include "json/write.h"

/* Version of the format: readers reject newer ones. Form 1 has descriptions of metrics, form 2
 * their digests. Metrics of form 1 count as not measured. */
#define BUNDLE_FORM 2

#define BUNDLE_FOLDER "berth-bundle/"

/* A line: an object, a saved view's changes, or a decision with its nodes. */
#define BUNDLE_LINE_MAX ((size_t)1024 * 1024 * 1024)

/* Ceilings: a bundle may come from anywhere. */
#define BUNDLE_POLICIES_MAX 256u
#define BUNDLE_SCENES_MAX 1000000u
#define BUNDLE_DECISIONS_MAX 1000000u
#define BUNDLE_NODES_MAX 1000000u /* names of nodes, of all decisions */
#define BUNDLE_ROWS_HELD_MAX ((size_t)1000000)
#define BUNDLE_SCENES_BYTES_MAX ((size_t)4 * 1024 * 1024 * 1024)

/* The outcome of a node in one letter. */
static const char decision_letters[] = {
    [OUTCOME_PASSED] = 'p',
    [OUTCOME_REJECTED] = 'r',
    [OUTCOME_UNKNOWN] = 'u',
    [OUTCOME_NARROWED] = 'n',
    [OUTCOME_LATE] = 'l',
    [OUTCOME_SCORED] = 's',
};

typedef struct BundleWrite {
    const BundleParts *parts;
    Pack *pack;
    Arena *arena;
    Buf line;               /* of the file that is being written */
    Anonymous *anonymous;   /* NULL: names stay */
    const ObjectMask *mask; /* NULL: names stay */
    Digest policy;          /* of the policies in force */
    uint32_t *pods;         /* by decision: its line in pods.jsonl, from 0; UINT32_MAX: none */
    int error;              /* 0, or a negative errno */
} BundleWrite;

/* @text, replaced by @show (such as anonymous_name()) if the bundle is anonymous. A failure
 * sets write->error. */
Str bundle_show(BundleWrite *write, Str (*show)(Anonymous *anonymous, Str text), Str text);

void bundle_write_digest(JsonWriter *writer, Str key, Digest digest);

/* Begins a file, until pack_end(), and its lines. Errors are kept and reported at the end. */
void bundle_begin(BundleWrite *write, Str name);
JsonWriter bundle_line(BundleWrite *write); /* with an object open */
void bundle_end_line(BundleWrite *write, JsonWriter *writer);

void bundle_write_metrics(BundleWrite *write);   /* metrics.jsonl */
void bundle_write_pods(BundleWrite *write);      /* pods.jsonl, and write->pods */
void bundle_write_decisions(BundleWrite *write); /* decisions.jsonl */

typedef struct BundleRead {
    Bundle *bundle;
    Arena *arena; /* the bundle's */
    char *error;  /* BUNDLE_ERROR_MAX */
    VEC(TarFile) files;
    Str *pods; /* of pods.jsonl */
    size_t n_pods;
    size_t file_size;      /* of the bundle */
    size_t line_budget;    /* bytes, while a line is read */
    size_t cluster_budget; /* bytes, for nodes and pods */

    /* Position in the file whose lines are read. */
    const char *file;
    Str rest;
    size_t line; /* from 1 */
} BundleRead;

/* The content of file @name; ptr NULL: there is none. */
Str bundle_file(const BundleRead *read, Str name);

/* Sets the error text; returns BUNDLE_E_MALFORMED. */
int bundle_wrong(BundleRead *read, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with the current file and line in front. */
int bundle_wrong_line(BundleRead *read, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports @reader's error in @file, or (NULL) in the line. Returns -ENOMEM if that is the cause. */
int bundle_bad_json(BundleRead *read, const char *file, const JsonReader *reader);

/* Opens file @name; reads its next line. Empty lines are skipped; false: there are no more. */
void bundle_open_lines(BundleRead *read, const char *name);
bool bundle_next_line(BundleRead *read, Str *ret);

/* A Digest of 32 hexadecimal digits; anything else is an error of the reader. */
void bundle_read_digest(JsonReader *reader, Arena *arena, void *target);

/* Returns @r; but BUNDLE_E_MALFORMED if @r is -ENOMEM because the bundle's arena or @scratch (may
 * be NULL) reached its limit. So only a failed allocation is -ENOMEM. */
int bundle_check_limit(BundleRead *read, int r, const Arena *scratch);

/* Each reads its part of the recording. 0, BUNDLE_E_MALFORMED or -ENOMEM. */
int bundle_read_cluster(BundleRead *read) MUST_CHECK;
int bundle_read_metrics(BundleRead *read) MUST_CHECK;
int bundle_read_pods(BundleRead *read) MUST_CHECK;
int bundle_read_decisions(BundleRead *read) MUST_CHECK;
