/*
 * The pool: what one thread's patterns have learned, within a number of bytes.
 *
 * Regexes are known by number, never by address: one may be long gone and its memory
 * another's. Nobody tells the pool when a regex goes; its DFA is simply not asked for any
 * more and is the first to be forgotten when there is need of room.
 */

#include <stdlib.h>

#include "regex/program.h"

#define N_BUCKETS 256
#define OVERSIZE 4 /* one DFA may have this part of the budget */

typedef struct Entry {
    struct Entry *next_in_bucket;
    struct Entry *newer, *older; /* by last use */
    uint64_t number;
    RegexDfa *dfa;
    size_t size; /* as counted in the pool */
} Entry;

struct RegexPool {
    size_t budget, used;
    Entry *newest, *oldest;
    Entry *buckets[N_BUCKETS];
};

RegexPool *regex_pool_new(size_t budget) {
    RegexPool *pool = calloc(1, sizeof(*pool));

    if (pool)
        pool->budget = budget;
    return pool;
}

static Entry **bucket_of(RegexPool *pool, uint64_t number) {
    return &pool->buckets[number % N_BUCKETS];
}

static void unlink_age(RegexPool *pool, Entry *entry) {
    *(entry->newer ? &entry->newer->older : &pool->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &pool->oldest) = entry->newer;
}

static void link_newest(RegexPool *pool, Entry *entry) {
    entry->newer = NULL;
    entry->older = pool->newest;
    *(entry->older ? &entry->older->newer : &pool->oldest) = entry;
    pool->newest = entry;
}

static void forget(RegexPool *pool, Entry *entry) {
    Entry **at = bucket_of(pool, entry->number);

    while (*at != entry)
        at = &(*at)->next_in_bucket;
    *at = entry->next_in_bucket;
    unlink_age(pool, entry);
    pool->used -= entry->size;
    (void)regex_dfa_free(entry->dfa);
    free(entry);
}

RegexPool *regex_pool_free(RegexPool *pool) {
    if (!pool)
        return NULL;
    while (pool->oldest)
        forget(pool, pool->oldest);
    free(pool);
    return NULL;
}

static Entry *learn(RegexPool *pool, const Regex *regex) {
    Entry *entry = calloc(1, sizeof(*entry));
    Entry **bucket = bucket_of(pool, regex->number);

    if (!entry)
        return NULL;
    entry->dfa = regex_dfa_new(regex, pool->budget / OVERSIZE);
    if (!entry->dfa) {
        free(entry);
        return NULL;
    }
    entry->number = regex->number;
    entry->next_in_bucket = *bucket;
    *bucket = entry;
    link_newest(pool, entry);
    return entry;
}

RegexDfa *regex_pool_dfa(RegexPool *pool, const Regex *regex) {
    Entry *entry = *bucket_of(pool, regex->number);

    while (entry && entry->number != regex->number)
        entry = entry->next_in_bucket;
    if (!entry)
        entry = learn(pool, regex);
    else if (entry != pool->newest) {
        unlink_age(pool, entry);
        link_newest(pool, entry);
    }
    return entry ? entry->dfa : NULL;
}

void regex_pool_settle(RegexPool *pool) {
    Entry *entry = pool->newest;
    size_t size = sizeof(*entry) + regex_dfa_size(entry->dfa);

    if (size == entry->size)
        return;
    pool->used += size - entry->size;
    entry->size = size;
    while (pool->used > pool->budget && pool->oldest != entry)
        forget(pool, pool->oldest);
}
