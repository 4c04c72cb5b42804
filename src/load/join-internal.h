#pragma once

/* Shared by the files of join.h. */

#include "base/bytes.h"
#include "base/map.h"
#include "base/message.h"
#include "cluster/measurement.h"
#include "cluster/table.h"
#include "load/join.h"
#include "load/vector.h"
#include "model/gauge.h"
#include "regex/regex.h"

/*
 * JoinIndex: the nodes of a cluster by the identities that series may use: name, hostname, address.
 *
 * Names are the table's own. The rest is built on first use, and stays valid while no node changes
 * its hostname or address: records are immutable, so an equal pointer proves it.
 */

#define JOIN_ROW_NONE UINT32_MAX            /* no node */
#define JOIN_ROW_NO_LABEL (UINT32_MAX - 1u) /* a series without the label */

struct JoinIndex {
    uint64_t version;       /* incremented when any identity may have changed */
    const NodeTable *table; /* of the join under way */
    NodeNames *names;       /* a reference; NULL: nothing yet */

    Arena *arena;       /* memory of the fields below; NULL: not built */
    const Node **nodes; /* by row: references */
    Map hostnames;      /* to rows; to n_rows if several nodes have it */
    Map addresses;      /* likewise, by 16 bytes in network order */
};

/* Switches to the nodes of @table, which is borrowed until the next call. */
void join_index_follow(JoinIndex *index, const NodeTable *table);

/*
 * JoinWay: how a series leads to a node: which label, which part of its value, and with what that
 * part is compared.
 */

typedef struct JoinWay {
    Str label;
    GaugeIdentity identity; /* not GAUGE_BY_ANY */
    struct Join *join;
    const Regex *pattern; /* compiled on first use; NULL: not yet, or none */
    bool has_cut_port;    /* a value that led to a node had a port */
} JoinWay;

/* Sets the row of @value; JOIN_ROW_NONE: no node. 0; -EINVAL: the pattern is invalid; -E2BIG: it
 * took too much work; -ENOMEM. */
int join_way_find(JoinWay *way, Str value, uint32_t *ret_row) MUST_CHECK;

/* The part of @value that is compared, for messages: a slice of it. */
Str join_way_compared(JoinWay *way, Str value);

/* The value of label @name; @hint: its index in the series before. A NULL pointer: the series does
 * not have it, or it is empty, which is the same in Prometheus. */
Str join_label(const Series *series, Str name, size_t *hint);

/* "label instance, without the port, is the node's IP address" */
void join_way_describe(const JoinWay *way, Message *message);

/* "IP address" */
const char *join_identity_name(GaugeIdentity identity);

/*
 * JoinMemory: the last answer's values of the label, in order, and the rows they led to.
 *
 * Sources return the same series in the same order at each poll: then a series costs one
 * comparison, whatever the method of its join.
 */

/* Larger answers are not remembered. */
#define JOIN_MEMORY_SERIES_MAX 65536u
#define JOIN_MEMORY_BYTES_MAX ((size_t)4 * 1024 * 1024)

#define JOIN_ROW_FORGOTTEN (UINT32_MAX - 2u) /* not remembered: find it again */

typedef struct RememberedSeries {
    uint32_t at, len; /* of its value in the texts */
    uint32_t row;
} RememberedSeries;

struct JoinMemory {
    Buf label;
    GaugeIdentity identity;
    bool has_cut_port;

    uint64_t labels;  /* a digest of the labels of the series; 0: nothing was learned */
    uint64_t version; /* of the index that the rows are of */
    RememberedSeries *series;
    size_t n, size;
    Buf texts;
};

/* Sets the way that was taken last. Returns false if labels or nodes have changed since. */
bool join_memory_way(const JoinMemory *memory, uint64_t labels, JoinWay *way);

/* Whether the remembered rows are those that @way leads to now. */
bool join_memory_holds(const JoinMemory *memory, const JoinWay *way);

/* The row of series @i, or JOIN_ROW_FORGOTTEN if its value was not @value. The memory must hold. */
static inline uint32_t join_memory_row(const JoinMemory *memory, size_t i, Str value) {
    const RememberedSeries *series;

    if (i >= memory->n)
        return JOIN_ROW_FORGOTTEN;
    series = &memory->series[i];
    if (series->len != value.len ||
        !bytes_equal(memory->texts.data + series->at, value.ptr, value.len))
        return JOIN_ROW_FORGOTTEN;
    return series->row;
}

/* Remembers that @way led the series of @vector to @rows; without memory it remembers nothing. */
void join_memory_learn(JoinMemory *memory, uint64_t labels, const JoinWay *way,
    const Vector *vector, const uint32_t *rows);
void join_memory_done(JoinMemory *memory); /* frees its fields */

/* One join under way. */

/* Limit for all series and candidates of a join: a pattern of 10 instructions over the names of
 * 50,000 nodes takes half of it. A core needs about a second for all of it. */
#define JOIN_PATTERN_WORK UINT64_C(200000000)

typedef struct Join {
    const Gauge *gauge;
    const Vector *vector;
    const NodeTable *table;
    JoinIndex *index;
    JoinMemory *memory;
    Arena *scratch;
    JoinReport *report;
    Measurement *measurement;
    int64_t now_msec;   /* the server's; 0: it is not known */
    int64_t slack_msec; /* a series up to this much older counts as new */
    size_t n_unmatched; /* examples in the report */
    uint64_t work;      /* steps that the pattern may still take */
} Join;

/* Whether the value of @series can be used; if not, counts it as dropped. Sets its age. */
bool join_admit(Join *join, const Series *series, int64_t *ret_lag_nsec);

/* Sets and counts the value of @row. 0 or -ENOMEM. */
int join_set(Join *join, uint32_t row, double value, int64_t lag_nsec) MUST_CHECK;

/* Counts a series that belongs to no node, and adds it to the report's examples if there is room:
 * @before (may be empty) and @text, with a '/' between. */
void join_count_unmatched(Join *join, Str before, Str text);

/* Joins series to nodes (join-nodes.c), or to pods (join-pods.c). 0, also if nothing was joined; or
 * -ENOMEM. */
int join_nodes(Join *join) MUST_CHECK;
int join_pods(Join *join) MUST_CHECK;

/* Writes into the report why no series belongs to a node. */
void join_explain_unmatched(Join *join, Str label);
/* Writes into the report what went wrong: no series has @label (@n_labelled), none belongs to a
 * node (@n_matched), none can be used, or some nodes have several, to be aggregated @by labels. */
void join_explain_end(Join *join, size_t n_labelled, size_t n_matched, Str label, Str by);
