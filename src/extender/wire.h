#pragma once

/*
 * Wire: the arguments kube-scheduler sends, decoded.
 *
 * The protocol is of Go structs without tags: top-level keys are Go field names,
 * taken in any letter case; null and absent are alike; unknown keys are ignored;
 * a key of the arguments that is read must not come twice. docs/protocol.md has it whole.
 *
 * Which node mode a request uses is decided per request, by which of NodeNames
 * and Nodes is not null.
 */

#include "base/bytes.h"
#include "base/rope.h"
#include "base/vec.h"
#include "cluster/table.h"
#include "extender/view.h"
#include "judge/judge.h"
#include "model/pod.h"

enum {
    _WIRE_E_SUCCESS,
    WIRE_E_MALFORMED, /* not JSON, or not the protocol; the text has the error and its position */
};

#define WIRE_ERROR_MAX 256u

/* A part of a request. Half the size of a Str, which counts when there are
 * thousands; a body is below 4 GiB (WIRE_BODY_MAX). */
typedef struct BodySpan {
    uint32_t at, len;
} BodySpan;

#define WIRE_BODY_MAX ((size_t)UINT32_MAX)

static inline Str body_span_text(const char *body, BodySpan span) {
    return str_of(body + span.at, span.len);
}

static inline Str body_run(Str body, const BodySpan *spans, size_t begin, size_t end) {
    BodySpan first = spans[begin], last = spans[end - 1];

    return str_of(body.ptr + first.at, last.at + last.len - first.at);
}

/* Arguments of filter and prioritize. */
typedef struct FilterArgs {
    Pod pod;
    Str pod_text;   /* raw text of the request */
    bool has_names; /* NodeNames was given; otherwise Nodes, or neither */
    size_t n;
    Str body;              /* the request */
    const BodySpan *spans; /* position of each node: name with quotes, or object */
    const uint32_t *rows;  /* each node's row in the table; n_rows: berth does not know it */
    size_t n_unknown;      /* how many of them berth does not know */
    NodeSet node_set;      /* the view's table, or one of the request's own nodes */
} FilterArgs;

/* @body must outlive the result; @parts of whole nodes are read. 0, WIRE_E_MALFORMED with @error
 * filled (WIRE_ERROR_MAX bytes), or -ENOMEM. */
int filter_args_decode(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, FilterArgs *ret, char *error);

/* Whole-node mode. */
Str filter_args_quote(const FilterArgs *args, size_t i, Arena *arena);

/* Writes the same, and makes room for @more bytes after it. */
Pen filter_args_put_quoted(const FilterArgs *args, size_t i, size_t more, Pen pen);

/* The name of node @i as JSON, quotes included. Over the budget ptr is NULL. */
static inline Str filter_args_literal(const FilterArgs *args, size_t i, Arena *arena) {
    return args->has_names ? body_span_text(args->body.ptr, args->spans[i])
                           : filter_args_quote(args, i, arena);
}

/* Nodes @begin up to, not including, @end (at least one), as raw text of the request, with the text
 * between them. */
static inline Str filter_args_run(const FilterArgs *args, size_t begin, size_t end) {
    return body_run(args->body, args->spans, begin, end);
}

/* A node that could be freed by evicting pods. */
typedef struct Candidate {
    Str node;               /* decoded */
    VEC(Str) victims;       /* their UIDs as JSON strings, in the order given */
    int64_t pdb_violations; /* 0 when absent */
} Candidate;

typedef VEC(Candidate) CandidateList;

typedef struct PreemptArgs {
    Pod pod;
    CandidateList candidates;
} PreemptArgs;

/* Returns as filter_args_decode() does. */
int preempt_args_decode(Str body, Arena *arena, PreemptArgs *ret, char *error);

typedef struct BindArgs {
    Str pod_name, pod_namespace, pod_uid, node; /* none is empty */
} BindArgs;

/* Returns as filter_args_decode() does. */
int bind_args_decode(Str body, Arena *arena, BindArgs *ret, char *error);

/* How many nodes, from the first on, have BYTES_BLOCK bytes of the request from their start on. */
static inline size_t filter_args_n_roomy(const FilterArgs *args) {
    size_t n = args->n;

    while (n > 0 && args->body.len - args->spans[n - 1].at < BYTES_BLOCK)
        n--;
    return n;
}

/* Copies the text of @span to @to, where BYTES_BLOCK bytes may be written beyond it. @is_roomy: so
 * many can be read, see above. Returns the end of the copy. */
static inline __attribute__((always_inline)) char *body_span_copy(
    char *to, Str body, BodySpan span, bool is_roomy) {
    if (span.len <= BYTES_BLOCK && (is_roomy || body.len - span.at >= BYTES_BLOCK))
        bytes_copy_block(to, body.ptr + span.at);
    else
        bytes_copy(to, body.ptr + span.at, span.len);
    return to + span.len;
}
