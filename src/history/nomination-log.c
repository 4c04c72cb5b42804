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
    pthread_mutex_t lock; /* guards what follows */
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

const char *nomination_outcome_name(NominationOutcome outcome) {
    static const char *const names[_NOMINATION_OUTCOMES] = {
        [NOMINATION_OUTSTANDING] = "outstanding",
        [NOMINATION_USED] = "used",
        [NOMINATION_UNUSED] = "unused",
        [NOMINATION_EXPIRED] = "expired",
        [NOMINATION_REJECTED] = "rejected",
        [NOMINATION_RETURNED] = "returned",
        [NOMINATION_DROPPED] = "dropped",
    };

    return names[outcome];
}

const char *nomination_outcome_text(NominationOutcome outcome) {
    static const char *const texts[_NOMINATION_OUTCOMES] = {
        [NOMINATION_OUTSTANDING] = "the pod has no node yet",
        [NOMINATION_USED] = "used: the pod got this node",
        [NOMINATION_UNUSED] = "unused: the pod got another node",
        [NOMINATION_EXPIRED] = "expired: berth withdrew it",
        [NOMINATION_REJECTED] = "rejected: it never came into force",
        [NOMINATION_RETURNED] = "returned: as the only node in the reply to filter",
        [NOMINATION_DROPPED] = "dropped: the pod was deleted, or the nomination replaced",
    };

    return texts[outcome];
}

static void put(char **at, Str *text) {
    if (text->len > 0)
        memcpy(*at, text->ptr, text->len);
    text->ptr = *at;
    *at += text->len;
}

static bool copy_entry(const NominationRecord *record, LogEntry *ret) {
    char *at;

    *ret = (LogEntry){
        .uid = hash_str(record->uid),
        .name = hash_str(record->name),
        .record = *record,
        .texts = malloc(
            record->namespace.len + record->name.len + record->uid.len + record->node.len + 1),
    };
    at = ret->texts;
    if (!at)
        return false;
    put(&at, &ret->record.namespace);
    put(&at, &ret->record.name);
    put(&at, &ret->record.uid);
    put(&at, &ret->record.node);
    return true;
}

void nomination_log_add(NominationLog *log, const NominationRecord *record) {
    LogEntry entry;

    if (log && copy_entry(record, &entry)) {
        _unlock_ pthread_mutex_t *held = mutex_hold(&log->lock);
        LogEntry *place = &log->entries[log->n_added++ % NOMINATION_LOG_MAX];

        free(place->texts);
        *place = entry;
    }
}

/* The entry that was added @age before the newest; NULL: no more. */
static LogEntry *entry_of_age(NominationLog *log, size_t age) {
    if (age >= log->n_added || age >= NOMINATION_LOG_MAX)
        return NULL;
    return &log->entries[(log->n_added - 1 - age) % NOMINATION_LOG_MAX];
}

void nomination_log_end(NominationLog *log, Str uid, NominationOutcome outcome) {
    uint64_t hash = hash_str(uid);
    LogEntry *entry;

    if (!log)
        return;
    pthread_mutex_lock(&log->lock);
    for (size_t age = 0; (entry = entry_of_age(log, age)); age++)
        if (entry->uid == hash && str_eq(entry->record.uid, uid)) {
            if (entry->record.outcome == NOMINATION_OUTSTANDING)
                entry->record.outcome = outcome;
            break;
        }
    pthread_mutex_unlock(&log->lock);
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
