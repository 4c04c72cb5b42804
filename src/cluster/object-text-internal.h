#pragma once

/* Parts of objects, by the table of their fields; fields that have no value are left out. */

#include "cluster/object-fields.h"
#include "cluster/object-text.h"

/* The fields of @item that have a key, as members of the open object. */
void object_write_fields(JsonWriter *writer, const ObjectType *type, const void *item);

/* A member: @n elements, as an array or, of labels and amounts, as an object; even if there is none
 * (object_write_items(): then not). */
void object_write_list(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n);
void object_write_items(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n);

/* Begins an object of the API: apiVersion and kind. */
void object_begin(JsonWriter *writer, Str kind);

void object_write_field(JsonWriter *writer, Str key, Str value);
void object_write_time(JsonWriter *writer, Str key, int64_t sec);

/* Members that are written in a way of their own (object-text-pod.c). */
void object_write_amount(JsonWriter *writer, Str name, Quantity quantity);
void object_write_pod_volume(JsonWriter *writer, const PodVolume *volume);
void object_write_toleration(JsonWriter *writer, const Toleration *toleration);
void object_write_affinity(JsonWriter *writer, const PodAffinity *affinity);

/* Begins a text that needs no escapes; the caller appends its last quote, too. */
Buf *object_begin_text(JsonWriter *writer, Str key);
