#pragma once

/*
 * Kind: a built-in rule, as plain fields of a policy file instead of an expression.
 *
 *     headroom: {cpu: 500m}   ->   node.free.milliCPU - pod.requests.milliCPU >= 500.0
 *
 * A kind is a row in a table: the field that names it, the shape of what stands there, and a
 * function that writes the CEL expression it stands for. That text is compiled like
 * one that a person wrote: one evaluator, one explanation, and `berth check --print-cel`
 * shows it.
 *
 * A filter's expression is true where a pod may go; a score's is a double from 0.0 to 100.0.
 * Neither ever ends in an error, whatever the node has or lacks.
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

typedef struct RuleKind {
    Str field;
    const char *summary; /* for people: what it asks of a node, or what it prefers */
    const Shape *shape;

    /* Reads @value, reports what is wrong with it to the reader, and writes the text. */
    void (*write)(PolicyReader *reader, const YamlNode *value, RuleText *ret);
} RuleKind;

/* All kinds, in the order they are documented. */
extern const RuleKind *const filter_kinds[];
extern const size_t n_filter_kinds;
extern const RuleKind *const score_kinds[];
extern const size_t n_score_kinds;

/* --- for the kinds: CEL as text ------------------------------------------------- */

/* 'text', with what needs it escaped. */
void cel_text_string(Buf *out, Str text);

/* A double as a literal: 0.5, 500.0, 1e+20. */
void cel_text_double(Buf *out, double value);

/* The condition that @selector stands for, over the map of labels that the expression @labels
 * gives: `labels[?'a'].orValue('') == 'x' && …`; "true" for one without requirements. Never an
 * error. */
void cel_text_selector(Buf *out, const Selector *selector, const char *labels);
