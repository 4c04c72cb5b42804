/* Objects that pods refer to, while they change: events, and lists that are staged. */

#include <errno.h>

#include "cluster/store-internal.h"

/* Puts it into *@set, which is made if there is none. */
static int put(RelatedSet **set, const RelatedObject *object, const RelatedSet *like) {
    if (!*set)
        *set = related_set_new();
    if (!*set)
        return -ENOMEM;
    if (related_set_size(*set) >= RELATED_MAX &&
        !related_set_find(*set, object->namespace, object->name))
        return STORE_FULL;
    return related_set_put(set, object, like);
}

static void replace(Store *store, RelatedKind kind, RelatedSet *set) {
    related_set_unref(store->related.kinds[kind]);
    store->related.kinds[kind] = set;
    store->has_related_changed = true;
}

void store_list_related_begin(Store *store, RelatedKind kind) {
    store->staged_related.kinds[kind] = related_set_unref(store->staged_related.kinds[kind]);
}

int store_list_related(Store *store, RelatedKind kind, const RelatedObject *object) {
    int r = put(&store->staged_related.kinds[kind], object, store->related.kinds[kind]);

    return r == 1 ? 0 : r;
}

int store_list_related_end(Store *store, RelatedKind kind) {
    RelatedSet **staged = &store->staged_related.kinds[kind];

    if (!*staged)
        *staged = related_set_new();
    if (!*staged)
        return -ENOMEM;
    replace(store, kind, TAKE_PTR(*staged));
    return 0;
}

int store_apply_related(Store *store, RelatedKind kind, const RelatedObject *object) {
    int r = put(&store->related.kinds[kind], object, /* like= */ NULL);

    if (r != 1)
        return r;
    store->has_related_changed = true;
    return 0;
}

int store_remove_related(Store *store, RelatedKind kind, Str namespace, Str name) {
    int r = store->related.kinds[kind]
                ? related_set_remove(&store->related.kinds[kind], namespace, name)
                : 0;

    store->has_related_changed |= r == 1;
    return r < 0 ? r : 0;
}

void store_forget_related(Store *store, RelatedKind kind) {
    store_list_related_begin(store, kind);
    if (store->related.kinds[kind])
        replace(store, kind, NULL);
}

size_t store_count_related(const Store *store, RelatedKind kind) {
    return store->related.kinds[kind] ? related_set_size(store->related.kinds[kind]) : 0;
}

void store_set_related(Store *store, const RelatedObjects *objects) {
    RelatedObjects before = store->related;

    store->related = related_objects_ref(objects);
    related_objects_done(&before);
    store->has_related_changed = true;
}
