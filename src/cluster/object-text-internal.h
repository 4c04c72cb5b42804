#pragma once

/* Parts of objects, shared by object-text.c (nodes) and object-text-pod.c. Empty ones are left
 * out. */

#include "cluster/object-text.h"

void object_write_field(JsonWriter *writer, Str key, Str value);
void object_write_time(JsonWriter *writer, Str key, int64_t sec);
void object_write_labels(JsonWriter *writer, Str key, const Labels *labels);
void object_write_resources(JsonWriter *writer, Str key, const Resources *resources);

/* Members of a spec: affinity and topologySpreadConstraints. */
void object_write_affinity(JsonWriter *writer, const PodDetails *details);

/* Begins a text that needs no escapes; the caller appends its last quote, too. */
Buf *object_begin_text(JsonWriter *writer, Str key);
