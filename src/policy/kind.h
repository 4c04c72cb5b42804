#pragma once

/*
 * Kind: a built-in rule, as plain fields of a policy file instead of an expression.
 *
 *     headroom: {cpu: 500m}   ->   node.free.milliCPU >= pod.requests.milliCPU + 500.0
 *
 * A kind is a row in a table: the field that names it, the shape of what stands there, and a
 * function that writes the CEL expression it stands for. That text is compiled like
 * one that a person wrote: one evaluator, one explanation, and `berth check --print-cel`
 * shows it.
 *
 * A filter's expression is true where a pod may go; a score's is a double from 0.0 to 100.0.
 * Neither ever ends in an error, whatever the node has or lacks; but those of metrics do where the
 * value is absent, since the rule's onMissing says what counts then.
 *
 * The message of a filter, which explain shows for a node that failed, is an expression too: a
 * string that tells which value met which limit ("cpu: 100m would be left, 500m must be").
 */

#include "base/buf.h"
#include "base/str.h"
#include "policy/reader.h"
#include "policy/shape.h"
#include "yaml/document.h"

#define KIND_TEXT_MAX ((size_t)10 * 1024) /* CEL_SOURCE_MAX: what one rule may become */

typedef struct RuleText {
    Buf expression;
    Buf message; /* filters; empty: none */
} RuleText;

struct RuleKind {
    Str field;
    const char *summary; /* for people: what it asks of a node, or what it prefers */
    const Shape *shape;

    /* Reads @value, reports what is wrong with it to the reader, and writes the text. */
    void (*write)(PolicyReader *reader, const YamlNode *value, RuleText *ret);
};

/* All kinds, in the order they are documented. */
extern const RuleKind *const filter_kinds[];
extern const size_t n_filter_kinds;
extern const RuleKind *const score_kinds[];
extern const size_t n_score_kinds;

/* Filters. */
extern const RuleKind kind_node_labels;
extern const RuleKind kind_node_annotations;
extern const RuleKind kind_node_ready;
extern const RuleKind kind_node_conditions;
extern const RuleKind kind_no_taints;
extern const RuleKind kind_tolerations;
extern const RuleKind kind_dedicated;
extern const RuleKind kind_node_age_range;
extern const RuleKind kind_headroom;
extern const RuleKind kind_max_pods;
extern const RuleKind kind_max_fresh_pods;
extern const RuleKind kind_pod_affinity;
extern const RuleKind kind_pod_anti_affinity;
extern const RuleKind kind_topology_spread;
extern const RuleKind kind_metric_limit;

/* Scores. */
extern const RuleKind kind_bin_pack;
extern const RuleKind kind_spread;
extern const RuleKind kind_balance;
extern const RuleKind kind_node_label_preference;
extern const RuleKind kind_label_order;
extern const RuleKind kind_label_number;
extern const RuleKind kind_node_age;
extern const RuleKind kind_image_locality;
extern const RuleKind kind_pod_spread;
extern const RuleKind kind_pod_pack;
extern const RuleKind kind_metric_score;

/* --- for the kinds: CEL as text ------------------------------------------------- */

/* 'text', with what needs it escaped. */
void cel_text_string(Buf *out, Str text);

/* The same for words that were put together in a buffer; and what was written in one, with
 * something around it: nothing when it is empty. Where the buffer has failed, so has @out. */
void cel_text_words(Buf *out, const Buf *words);
void cel_text_part(Buf *out, const char *before, const Buf *part, const char *after);

/* A double as a literal: 0.5, 500.0, 1e+20. */
void cel_text_double(Buf *out, double value);

/* What the map of strings @map says of @key, '' where it says nothing: map[?'key'].orValue(''). */
void cel_text_look_up(Buf *out, const char *map, Str key);

/* What the map of amounts @map (node.free, pod.requests …) says of @resource, in whole units: of
 * cpu thousandths. */
void cel_text_amount(Buf *out, const char *map, Str resource);

/* The condition that @selector stands for, over the map of labels that the expression @labels
 * gives: `labels[?'a'].orValue('') == 'x' && …`; "true" for one without requirements. Never an
 * error. It can stand on either side of &&; anywhere else it wants brackets. */
void cel_text_selector(Buf *out, const Selector *selector, const char *labels);
void cel_text_requirement(Buf *out, const Requirement *requirement, const char *labels);

/* `['a', 'b']`. */
void cel_text_strings(Buf *out, const Str *items, size_t n);

/* Several findings as one message, with "; " between those that are there:
 *
 *     [C ? '' : M, D ? '' : N].filter(m, m != '').join('; ')
 *
 * begin, then for each finding next and "C ? '' : M", then end. */
void cel_text_findings_begin(Buf *out);
void cel_text_findings_next(Buf *out);
void cel_text_findings_end(Buf *out);

/* One of several parts of a rule that must all hold: the expression of it, and what to say where
 * it does not. */
typedef struct TextPart {
    void (*condition)(Buf *out, const void *item);
    void (*finding)(Buf *out, const void *item);
} TextPart;

/* The rule of @n items of @size bytes each: `C && D`, and their findings as its message. */
void cel_text_all(RuleText *ret, const TextPart *part, const void *items, size_t n, size_t size);
