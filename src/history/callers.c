/*
 * Entries are only ever added, and an entry's name never changes once it is counted in n: so a name
 * is looked for without a lock, and only a new one takes it.
 */

#include "history/callers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct Entry {
    char text[CALLER_NAME_MAX];
    size_t len;
    _Atomic uint64_t n_asked;
    _Atomic int64_t asked_at_nsec;
} Entry;

struct Callers {
    pthread_mutex_t lock; /* for who adds a name */
    _Atomic size_t n;
    Entry entries[CALLERS_MAX];
    Entry others; /* all names that are too many or too long */
};

Callers *callers_new(void) {
    Callers *callers = calloc(1, sizeof(*callers));

    if (callers)
        (void)pthread_mutex_init(&callers->lock, NULL);
    return callers;
}

Callers *callers_free(Callers *callers) {
    if (!callers)
        return NULL;
    (void)pthread_mutex_destroy(&callers->lock);
    free(callers);
    return NULL;
}

static Str name_of(const Entry *entry) {
    return str_of(entry->text, entry->len);
}

static Entry *find(Callers *callers, Str name) {
    size_t n = atomic_load_explicit(&callers->n, memory_order_acquire);

    for (size_t i = 0; i < n; i++)
        if (str_eq(name_of(&callers->entries[i]), name))
            return &callers->entries[i];
    return NULL;
}

static bool is_full(Callers *callers) {
    return atomic_load_explicit(&callers->n, memory_order_acquire) == CALLERS_MAX;
}

/* With the lock; somebody else may have added it meanwhile. */
static Entry *add(Callers *callers, Str name) {
    Entry *entry = find(callers, name);

    if (entry || is_full(callers))
        return entry;
    entry = &callers->entries[atomic_load_explicit(&callers->n, memory_order_relaxed)];
    memcpy(entry->text, name.ptr, name.len);
    entry->len = name.len;
    atomic_fetch_add_explicit(&callers->n, 1, memory_order_release);
    return entry;
}

void callers_note(Callers *callers, Str name, int64_t now_nsec) {
    Entry *entry = find(callers, name);

    if (str_is_empty(name))
        return;
    if (!entry && name.len <= CALLER_NAME_MAX && !is_full(callers)) {
        (void)pthread_mutex_lock(&callers->lock);
        entry = add(callers, name);
        (void)pthread_mutex_unlock(&callers->lock);
    }
    if (!entry)
        entry = &callers->others;
    atomic_fetch_add_explicit(&entry->n_asked, 1, memory_order_relaxed);
    atomic_store_explicit(&entry->asked_at_nsec, now_nsec, memory_order_relaxed);
}

static Caller show(Entry *entry) {
    return (Caller){
        .name = name_of(entry),
        .n_asked = atomic_load_explicit(&entry->n_asked, memory_order_relaxed),
        .asked_at_nsec = atomic_load_explicit(&entry->asked_at_nsec, memory_order_relaxed),
    };
}

size_t callers_list(Callers *callers, Caller ret[CALLERS_MAX + 1]) {
    size_t n = atomic_load_explicit(&callers->n, memory_order_acquire);

    for (size_t i = 0; i < n; i++)
        ret[i] = show(&callers->entries[i]);
    ret[n] = show(&callers->others);
    return n + (ret[n].n_asked > 0);
}
