#pragma once

/*
 * Registry: the requests of one sort that have not ended (pending.c, stream.c): a list with a lock
 * and a ceiling. It is freed with its last member, which may outlive the server.
 *
 * The owner has a Registry as its first field, a member a RegistryEntry.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/ref.h"

typedef struct RegistryEntry RegistryEntry;

struct RegistryEntry {
    RegistryEntry *previous, *next;
};

typedef struct Registry {
    Ref ref; /* one for the server, one for each member */
    pthread_mutex_t lock;
    RegistryEntry *first;
    unsigned n, max;
} Registry;

static inline void registry_init(Registry *registry, unsigned max) {
    registry->ref = REF_ONE;
    registry->max = max;
    (void)pthread_mutex_init(&registry->lock, NULL);
}

/* True: that was the last reference, and the owner frees itself. */
static inline bool registry_drop(Registry *registry) {
    if (!ref_drop(&registry->ref))
        return false;
    (void)pthread_mutex_destroy(&registry->lock);
    return true;
}

static inline void registry_lock(Registry *registry) {
    (void)pthread_mutex_lock(&registry->lock);
}

static inline void registry_unlock(Registry *registry) {
    (void)pthread_mutex_unlock(&registry->lock);
}

/* With the lock held, like registry_remove(). False: there are enough. */
static inline bool registry_add(Registry *registry, RegistryEntry *entry) {
    if (registry->n >= registry->max)
        return false;
    entry->next = registry->first;
    if (entry->next)
        entry->next->previous = entry;
    registry->first = entry;
    registry->n++;
    ref_take(&registry->ref);
    return true;
}

static inline void registry_remove(Registry *registry, RegistryEntry *entry) {
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        registry->first = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    registry->n--;
}
