#pragma once

/* Sends requests and parses replies strictly, because kube-scheduler crashes on less: every list is
 * a list, nothing is null, a score is a whole number. For tests and fuzzers. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/rope.h"
#include "base/str.h"
#include "base/vec.h"
#include "extender/verbs.h"

/* Sends @verb without a deadline. @bind_error is the result of a bind; empty: success. */
void reply_ask(const View *view, Verb verb, Str body, Str bind_error, Arena *arena, Answer *ret);

typedef struct ReplyNode {
    Str name;   /* decoded */
    Str raw;    /* the bytes in the reply */
    Str reason; /* of nodes that failed */
} ReplyNode;

typedef VEC(ReplyNode) ReplyNodes;

typedef struct FilterReply {
    bool has_names; /* NodeNames, otherwise Nodes */
    ReplyNodes passed, failed, unresolvable;
    Str error;
} FilterReply;

typedef struct ReplyScore {
    Str host;
    int64_t score;
} ReplyScore;

typedef VEC(ReplyScore) ReplyScores;

typedef struct ReplyCandidate {
    Str node;
    VEC(Str) uids;
    int64_t pdb_violations;
} ReplyCandidate;

typedef VEC(ReplyCandidate) ReplyCandidates;

/* The whole reply as one text, in @arena. */
Str reply_text(const Rope *rope, Arena *arena);

/* Each returns false when @text is not that reply. Strings are slices of @text. */
bool reply_filter(Str text, Arena *arena, FilterReply *ret);
bool reply_scores(Str text, Arena *arena, ReplyScores *ret);
bool reply_candidates(Str text, Arena *arena, ReplyCandidates *ret);

/* {"Error": text}, and nothing else. */
bool reply_error(Str text, Arena *arena, Str *ret);
