/* A ring of nominations, searched by hashes of the pod's UID and name. */

#include "history/nomination-log.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/thread.h"

typedef struct LogEntry {
    uint64_t uid, name; /* hashes */
    char *texts;        /* of the record, in one piece */
    NominationRecord record;
} LogEntry;

struct NominationLog {
    pthread_mutex_t lock; /* protects the fields below */
    LogEntry entries[NOMINATION_LOG_MAX];
    size_t n_added;
};

NominationLog *nomination_log_new(void) {
    NominationLog *log = calloc(1, sizeof(*log));

    if (log)
        pthread_mutex_init(&log->lock, NULL);
    return log;
}

NominationLog *nomination_log_free(NominationLog *log) {
    if (!log)
        return NULL;
    for (size_t i = 0; i < NOMINATION_LOG_MAX; i++)
        free(log->entries[i].texts);
    pthread_mutex_destroy(&log->lock);
    free(log);
    return NULL;
}

const NominationOutcomeInfo nomination_outcomes[_NOMINATION_OUTCOMES] = {
    [NOMINATION_OUTSTANDING] = {"outstanding", "the pod has no node yet"},
    [NOMINATION_USED] = {"used", "used: the pod got this node"},
    [NOMINATION_UNUSED] = {"unused", "unused: the pod got another node"},
    [NOMINATION_EXPIRED] = {"expired", "expired: berth withdrew it"},
    [NOMINATION_REJECTED] = {"rejected", "rejected: it never came into force"},
    [NOMINATION_DROPPED] = {"dropped", "dropped: the pod was deleted, or the nomination replaced"},
};

void nomination_log_add(NominationLog *log, const NominationRecord *record) {
    size_t size = record->namespace.len + record->name.len + record->uid.len + record->node.len;
    char *texts = log ? malloc(size + 1) : NULL, *at = texts;

    if (texts) {
        _unlock_ pthread_mutex_t *held = mutex_hold(&log->lock);
        LogEntry *entry = &log->entries[log->n_added++ % NOMINATION_LOG_MAX];

        free(entry->texts);
        *entry = (LogEntry){
            .uid = hash_str(record->uid),
            .name = hash_str(record->name),
            .texts = texts,
            .record = *record,
        };
        entry->record.namespace = str_carve(&at, record->namespace);
        entry->record.name = str_carve(&at, record->name);
        entry->record.uid = str_carve(&at, record->uid);
        entry->record.node = str_carve(&at, record->node);
    }
}

/* Called with the lock held. The entry @age places before the newest; NULL: no more. */
static LogEntry *entry_of_age(NominationLog *log, size_t age) {
    if (age >= log->n_added || age >= NOMINATION_LOG_MAX)
        return NULL;
    return &log->entries[(log->n_added - 1 - age) % NOMINATION_LOG_MAX];
}

void nomination_log_end(NominationLog *log, Str uid, NominationOutcome outcome) {
    uint64_t hash = hash_str(uid);

    if (log) {
        _unlock_ pthread_mutex_t *held = mutex_hold(&log->lock);
        LogEntry *entry;
        size_t age = 0;

        while ((entry = entry_of_age(log, age)) &&
               (entry->uid != hash || !str_eq(entry->record.uid, uid)))
            age++;
        if (entry && entry->record.outcome == NOMINATION_OUTSTANDING)
            entry->record.outcome = outcome;
    }
}

static bool is_about(const NominationRecord *record, Str namespace, Str name, Str uid) {
    return (str_is_empty(namespace) || str_eq(record->namespace, namespace)) &&
           str_eq(record->name, name) && (str_is_empty(uid) || str_eq(record->uid, uid));
}

bool nomination_log_find(
    NominationLog *log, Str namespace, Str name, Str uid, Arena *arena, NominationRecord *ret) {
    uint64_t hash = hash_str(name);
    LogEntry *entry;

    if (!log)
        return false;
    pthread_mutex_lock(&log->lock);
    for (size_t age = 0; (entry = entry_of_age(log, age)); age++)
        if (entry->name == hash && is_about(&entry->record, namespace, name, uid)) {
            *ret = entry->record;
            ret->namespace = arena_copy(arena, ret->namespace);
            ret->name = arena_copy(arena, ret->name);
            ret->uid = arena_copy(arena, ret->uid);
            ret->node = arena_copy(arena, ret->node);
            break;
        }
    pthread_mutex_unlock(&log->lock);
    return entry && !arena_has_failed(arena);
}
