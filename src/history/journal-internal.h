#pragma once

/* The lines of a journal, for journal.c and journal-line.c only. */

#include "history/decisions.h"

/* The version of the lines and of OutcomesColumns. Files of another version are not read. */
#define JOURNAL_FORM 1

/* The names in a file, which its later lines refer to. */
typedef struct JournalContext {
    RuleNames *rule_names;
    NodeNumbers *node_numbers;
    uint32_t n_names;      /* written so far */
    int64_t program, list; /* numbers of the two lists of names, so that lines behind a damaged one
                              are not misread */
} JournalContext;

/* Forgets the names; numbers continue. Takes a zeroed one. */
void journal_context_reset(JournalContext *context);

/* Appends the first line of a file. */
void journal_line_head(Buf *out);

/* Appends the line of @found, and before it lines with the names that @context lacks. @arena is
 * temporary. An error sticks to the buffer. */
void journal_line_decision(JournalContext *context, Decisions *decisions,
    const FoundDecision *found, Arena *arena, Buf *out);

/* Reads one line without its end, and restores a decision into @decisions. @arena is temporary.
 * False: the line is damaged, or needs another one that is. */
bool journal_line_read(JournalContext *context, Str line, Arena *arena, Decisions *decisions);
