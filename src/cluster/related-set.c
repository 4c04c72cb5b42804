/* A set of objects in parts, each a sorted array of references, which copies of the set share. */

#include "cluster/related-set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/ref.h"

#define PARTS 256u

typedef struct RelatedRecord {
    Ref ref;
    RelatedObject object;
    char bytes[];
} RelatedRecord;

typedef struct RelatedPart {
    Ref ref;
    size_t n, n_rooms;
    RelatedRecord *records[]; /* sorted by name and namespace */
} RelatedPart;

struct RelatedSet {
    Ref ref;
    size_t n;
    RelatedPart *parts[PARTS]; /* NULL: empty */
};

static int compare(const RelatedObject *object, Str namespace, Str name) {
    int order = str_cmp(object->name, name);

    return order ? order : str_cmp(object->namespace, namespace);
}

static RelatedRecord *record_new(const RelatedObject *from) {
    RelatedRecord *record =
        malloc(sizeof(*record) + from->namespace.len + from->name.len + from->text.len + 1);
    char *at;

    if (!record)
        return NULL;
    at = record->bytes;
    record->ref = REF_ONE;
    record->object.namespace = str_carve(&at, from->namespace);
    record->object.name = str_carve(&at, from->name);
    record->object.text = str_carve(&at, from->text);
    return record;
}

DEFINE_REF(RelatedRecord, record)

static void record_unref(RelatedRecord *record) {
    if (record && ref_drop(&record->ref))
        free(record);
}

static void part_unref(RelatedPart *part) {
    if (!part || !ref_drop(&part->ref))
        return;
    for (size_t i = 0; i < part->n; i++)
        record_unref(part->records[i]);
    free(part);
}

static size_t part_of(Str name) {
    return hash_str(name) % PARTS;
}

/* The index of the object in the part, or the index at which to insert it. */
static size_t part_place(const RelatedPart *part, Str namespace, Str name, bool *ret_is_there) {
    size_t low = 0, high = part ? part->n : 0;

    *ret_is_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(&part->records[middle]->object, namespace, name);

        if (order == 0) {
            *ret_is_there = true;
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order > 0 ? middle : high;
    }
    return low;
}

static bool is_alone(const Ref *ref) {
    return atomic_load_explicit(&ref->count, memory_order_acquire) == 1;
}

/* Makes the part one that no other set has, with room for one more. 0, or -ENOMEM. */
static int part_own(RelatedPart **part) {
    RelatedPart *before = *part, *after;
    size_t n = before ? before->n : 0, n_rooms;

    if (before && is_alone(&before->ref) && n < before->n_rooms)
        return 0;
    n_rooms = n + n / 2 + 4;
    after = malloc(sizeof(*after) + n_rooms * sizeof(RelatedRecord *));
    if (!after)
        return -ENOMEM;
    after->ref = REF_ONE;
    after->n = n;
    after->n_rooms = n_rooms;
    for (size_t i = 0; i < n; i++)
        after->records[i] = record_ref(before->records[i]);
    part_unref(before);
    *part = after;
    return 0;
}

RelatedSet *related_set_new(void) {
    RelatedSet *set = calloc(1, sizeof(*set));

    if (set)
        set->ref = REF_ONE;
    return set;
}

RelatedSet *related_set_ref(RelatedSet *set) {
    ref_take(&set->ref);
    return set;
}

RelatedSet *related_set_unref(RelatedSet *set) {
    if (!set || !ref_drop(&set->ref))
        return NULL;
    for (size_t i = 0; i < PARTS; i++)
        part_unref(set->parts[i]);
    free(set);
    return NULL;
}

size_t related_set_size(const RelatedSet *set) {
    return set->n;
}

/* Copies the set if a snapshot refers to it, so that it can be changed. 0, or -ENOMEM. */
static int set_own(RelatedSet **set) {
    RelatedSet *before = *set, *after;

    if (is_alone(&before->ref))
        return 0;
    after = related_set_new();
    if (!after)
        return -ENOMEM;
    after->n = before->n;
    for (size_t i = 0; i < PARTS; i++) {
        after->parts[i] = before->parts[i];
        if (after->parts[i])
            ref_take(&after->parts[i]->ref);
    }
    related_set_unref(before);
    *set = after;
    return 0;
}

static RelatedRecord *find_record(const RelatedSet *set, Str namespace, Str name) {
    const RelatedPart *part = set->parts[part_of(name)];
    bool is_there;
    size_t at = part_place(part, namespace, name, &is_there);

    return is_there ? part->records[at] : NULL;
}

const RelatedObject *related_set_find(const RelatedSet *set, Str namespace, Str name) {
    const RelatedRecord *record = find_record(set, namespace, name);

    return record ? &record->object : NULL;
}

/* The part of @name, which may be changed. NULL when out of memory. */
static RelatedPart *own_part(RelatedSet **set, Str name) {
    RelatedPart **part;

    if (set_own(set) < 0)
        return NULL;
    part = &(*set)->parts[part_of(name)];
    return part_own(part) < 0 ? NULL : *part;
}

int related_set_put(RelatedSet **set, const RelatedObject *object, const RelatedSet *like) {
    RelatedRecord *record = find_record(*set, object->namespace, object->name);
    RelatedPart *part;
    bool is_there;
    size_t at;

    if (record && str_eq(record->object.text, object->text))
        return 0;
    record = like ? find_record(like, object->namespace, object->name) : NULL;
    record = record && str_eq(record->object.text, object->text) ? record_ref(record)
                                                                 : record_new(object);
    part = record ? own_part(set, object->name) : NULL;
    if (!part) {
        record_unref(record);
        return -ENOMEM;
    }
    at = part_place(part, object->namespace, object->name, &is_there);
    if (is_there) {
        record_unref(part->records[at]);
    } else {
        memmove(
            part->records + at + 1, part->records + at, (part->n - at) * sizeof(part->records[0]));
        part->n++;
        (*set)->n++;
    }
    part->records[at] = record;
    return 1;
}

int related_set_remove(RelatedSet **set, Str namespace, Str name) {
    RelatedPart *part;
    bool is_there;
    size_t at;

    if (!find_record(*set, namespace, name))
        return 0;
    part = own_part(set, name);
    if (!part)
        return -ENOMEM;
    at = part_place(part, namespace, name, &is_there);
    record_unref(part->records[at]);
    part->n--;
    (*set)->n--;
    memmove(part->records + at, part->records + at + 1, (part->n - at) * sizeof(part->records[0]));
    return 1;
}

static int compare_listed(const void *a, const void *b) {
    const RelatedObject *x = *(const RelatedObject *const *)a,
                        *y = *(const RelatedObject *const *)b;
    int order = str_cmp(x->namespace, y->namespace);

    return order ? order : str_cmp(x->name, y->name);
}

const RelatedObject **related_set_list(const RelatedSet *set) {
    const RelatedObject **list = malloc((set->n + 1) * sizeof(*list));
    size_t n = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < PARTS; i++)
        for (size_t k = 0; set->parts[i] && k < set->parts[i]->n; k++)
            list[n++] = &set->parts[i]->records[k]->object;
    qsort(list, n, sizeof(*list), compare_listed);
    return list;
}
