#pragma once

/*
 * Journal: stores recent decisions in a folder, so that a restarted berth still has them.
 *
 * It stores summaries and the outcome of each node, but no pods or saved views: a decision of an
 * earlier process shows its rules and nodes, but cannot be replayed. Of a pod only name, namespace
 * and UID reach the disk.
 *
 * Two files, decisions.jsonl and decisions.old.jsonl, each of at most half the limit: when the
 * first is full it replaces the second. A line is a checksum and a JSON object (journal-line.c).
 * Lines are only appended. An incomplete line (a killed process, a full disk) is cut off, and a
 * damaged one is skipped. Nothing is synced: after a power failure the end may be missing.
 *
 * One process at a time: it locks the folder.
 *
 * Threads: one at a time.
 */

#include "history/decisions.h"

#define JOURNAL_BYTES_DEFAULT ((size_t)256 * 1024 * 1024)
#define JOURNAL_BYTES_MIN ((size_t)1024 * 1024)
#define JOURNAL_LINE_MAX ((size_t)16 * 1024 * 1024) /* a decision over a million nodes */
#define JOURNAL_ERROR_MAX 512u

typedef struct Journal Journal;

/* Creates @folder if it is missing; its parent must exist. 0, or a negative errno. */
int journal_make_folder(const char *folder) MUST_CHECK;

/* Opens the files in @folder, and restores their decisions into the empty @decisions. 0, or a
 * negative errno with a text for users in @error. */
int journal_open(const char *folder, size_t bytes_max, Decisions *decisions, Journal **ret,
    char error[static JOURNAL_ERROR_MAX]) MUST_CHECK;
Journal *journal_free(Journal *journal); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Journal *, journal_free)

/* Appends the decisions that are not stored yet. Logs a failure when it begins and when it ends;
 * the next call tries again. */
void journal_write(Journal *journal, Decisions *decisions);
