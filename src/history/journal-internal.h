#pragma once

/* The lines of a journal, for journal.c and journal-line.c only. */

#include "history/decisions.h"

/* The version of the lines and of OutcomesColumns. Files of another version are not read. */
#define JOURNAL_FORM 1

/* What later lines of a file refer to. */
typedef struct JournalContext {
    RuleNames *rule_names;
    NodeNumbers *node_numbers;
    uint32_t n_names;      /* written so far */
    int64_t program, list; /* numbers of both: a line that is damaged must not be mistaken */
} JournalContext;

/* Forgets the names; numbers go on. Takes a zeroed one. */
void journal_context_reset(JournalContext *context);

/* The first line of a file. */
void journal_line_head(Buf *out);

/* The lines of @found, and before them the names that it needs and @context has not got. @arena is
 * temporary. A failure is the buffer's. */
void journal_line_decision(JournalContext *context, Decisions *decisions,
    const FoundDecision *found, Arena *arena, Buf *out);

/* Reads one line without its end; a decision is restored into @decisions. @arena is temporary.
 * Returns false if the line is damaged, or of no use without another one that is. */
bool journal_line_read(JournalContext *context, Str line, Arena *arena, Decisions *decisions);
