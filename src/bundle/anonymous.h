#pragma once

/*
 * Anonymous: hashes the names in a bundle.
 *
 * Names (of nodes, pods, namespaces, owners), UIDs, keys and values of labels and annotations,
 * images and addresses become "x-" and a keyed hash (SipHash-2-4): equal texts stay equal
 * everywhere, so rules that compare them give the same results. These stay as they are:
 *
 *   - words in policies: every run of letters, digits and "._/-" in their texts
 *   - numbers, amounts, times, true and false, and the empty text
 *   - keys of Kubernetes itself (kubernetes.io, k8s.io, pod-template-hash, …) and of berth.dev
 *   - the structure of compound texts: PREFIX/NAME of a key, REGISTRY/PATH:TAG of an image,
 *     NAME-HASH of a ReplicaSet, NAME-MINUTES of a Job
 *
 * Rules that read parts of strings (startsWith, matches, …) or order them may decide otherwise:
 * anonymous_functions() lists those that policies call. Amounts, times, the order of rows and the
 * placement of pods may still identify a cluster.
 *
 * Threads: one at a time.
 */

#include "cluster/object-text.h"
#include "model/pod.h"
#include "policy/exemption.h"
#include "policy/program.h"

typedef struct Anonymous Anonymous;

/* Without @salt, names cannot be found by hashing guesses. NULL when out of memory. */
Anonymous *anonymous_new(const PolicySource *policies, size_t n_policies, const uint64_t salt[2]);
Anonymous *anonymous_free(Anonymous *anonymous); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Anonymous *, anonymous_free)

/* The replacements of texts; they live as long as @anonymous. On failure ptr is NULL, unless @text
 * is empty. */
Str anonymous_name(Anonymous *anonymous, Str name);
Str anonymous_key(Anonymous *anonymous, Str key); /* of a label, an annotation, a resource */
Str anonymous_image(Anonymous *anonymous, Str image);
Str anonymous_text(Anonymous *anonymous, Str text);    /* unchanged if all its words stay */
Str anonymous_workload(Anonymous *anonymous, Str key); /* NAMESPACE/KIND/NAME */
Str anonymous_exemption(Anonymous *anonymous, const Exemption *exemption);

/* Replaces the names of whole objects, pods with their details. A result is valid until the next
 * call for any object. */
ObjectMask anonymous_mask(Anonymous *anonymous);

/* Sets the names of functions that read texts (cel/library.h) and that expressions of @program's
 * policies call, each once; returns their number. */
#define ANONYMOUS_FUNCTIONS_MAX 64u
size_t anonymous_functions(const Program *program, Str ret[static ANONYMOUS_FUNCTIONS_MAX]);
