#pragma once

/*
 * TermSelector: the pods that one pod affinity term selects, by namespace and labels, with the
 * rules of kube-scheduler: without labelSelector it selects none; without namespaces and
 * namespaceSelector, those of its own pod's namespace. The API server makes matchLabelKeys and
 * mismatchLabelKeys conditions on labels; here the term's own pod does.
 */

#include "model/pod.h"
#include "model/related.h"
#include "model/selector.h"

typedef struct TermSelector {
    bool selects_none; /* no labelSelector, or an invalid one */
    Selector labels;
    const Str *namespaces;
    size_t n_namespaces;
    bool by_namespace_labels; /* namespaceSelector is given; empty: all namespaces */
    Selector namespace_labels;
    Str owner_kind, owner_name; /* the pod's controller; empty: any */
} TermSelector;

typedef enum TermSelects {
    TERM_SELECTS_NOT,
    TERM_SELECTS,
    TERM_SELECTS_UNSURE, /* it depends on labels of the namespace, which is not known */
} TermSelects;

/* @term of @pod. Everything is copied to @arena, which remembers if it had no room. */
void term_selector_make(
    const Pod *pod, const PodAffinityTerm *term, Arena *arena, TermSelector *ret);

/* @namespace: of @pod; NULL: not known. */
TermSelects term_selector_selects(
    const TermSelector *selector, const Pod *pod, const Namespace *namespace);

/* A text that is the same for equal ones only. */
void term_selector_print(const TermSelector *selector, Buf *out);
/* A part of such a text. */
void term_text_put(Buf *out, Str text);
