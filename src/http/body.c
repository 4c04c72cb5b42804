/* Bodies of requests: a buffer for each, and one limit for all. */

#include "http/body.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/thread.h"

#ifdef __SANITIZE_ADDRESS__
#define BODY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BODY_ASAN 1
#endif
#endif

#ifdef BODY_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define UNPOISON(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
#define POISON(at, size) ((void)(at), (void)(size))
#define UNPOISON(at, size) ((void)(at), (void)(size))
#endif

#define SMALL_STEP ((size_t)64 * 1024)
#define HUGE_PAGE ((size_t)2 * 1024 * 1024)

/* A body that announces more than BODY_SMALL gets huge pages when it has this many bytes: a client
 * must not get one for its first byte. */
#define ENLARGE_AT ((size_t)256 * 1024)

/* An unused buffer of BODY_SMALL bytes. */
typedef struct Small {
    char *data;
    size_t touched; /* bytes written so far: these pages are in memory */
} Small;

struct BodyStore {
    size_t body_max, memory_max;
    size_t unknown_max; /* memory_max without the reserve */
    atomic_size_t memory;

    unsigned keep;
    pthread_mutex_t lock; /* protects the fields below */
    unsigned n_kept;
    Small kept[]; /* a stack */
};

BodyStore *body_store_new(size_t body_max, size_t memory_max, unsigned keep) {
    BodyStore *store = calloc(1, sizeof(*store) + keep * sizeof(store->kept[0]));
    size_t share = memory_max / BODY_RESERVE_SHARE;
    size_t left = body_max < memory_max ? memory_max - body_max : 0; /* after one body */

    if (!store)
        return NULL;
    store->body_max = body_max;
    store->memory_max = memory_max;
    store->unknown_max = memory_max - (share < left ? share : left);
    store->keep = keep;
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

BodyStore *body_store_free(BodyStore *store) {
    if (!store)
        return NULL;
    while (store->n_kept > 0)
        (void)munmap(store->kept[--store->n_kept].data, BODY_SMALL);
    pthread_mutex_destroy(&store->lock);
    free(store);
    return NULL;
}

size_t body_store_memory(const BodyStore *store) {
    return atomic_load_explicit(&store->memory, memory_order_relaxed);
}

static size_t limit_of(const BodyStore *store, bool is_known) {
    return is_known ? store->memory_max : store->unknown_max;
}

bool body_store_charge(BodyStore *store, size_t size, bool is_known) {
    size_t before = atomic_load_explicit(&store->memory, memory_order_relaxed);
    size_t limit = limit_of(store, is_known);

    do {
        if (size > limit || before > limit - size)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &store->memory, &before, before + size, memory_order_relaxed, memory_order_relaxed));
    return true;
}

void body_store_release(BodyStore *store, size_t size) {
    atomic_fetch_sub_explicit(&store->memory, size, memory_order_relaxed);
}

/* Makes the store count at least @want bytes for @body, in steps. */
static int charge(BodyStore *store, Body *body, size_t want) {
    size_t step = body->map ? HUGE_PAGE : SMALL_STEP;
    size_t limit = limit_of(store, body->is_known);

    if (want <= body->charged)
        return 0;
    if (want > limit)
        return BODY_E_MEMORY;
    want = (want + step - 1) / step * step;
    if (want > limit)
        want = limit;
    if (!body_store_charge(store, want - body->charged, body->is_known))
        return BODY_E_MEMORY;
    body->charged = want;
    return 0;
}

static void *map_new(size_t size) {
    void *map = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return map == MAP_FAILED ? NULL : map;
}

static Small small_take(BodyStore *store) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&store->lock);

    return store->n_kept > 0 ? store->kept[--store->n_kept] : (Small){0};
}

static void small_give(BodyStore *store, Small small) {
    UNPOISON(small.data, BODY_SMALL);
    pthread_mutex_lock(&store->lock);
    if (store->n_kept < store->keep) {
        store->kept[store->n_kept++] = small;
        small.data = NULL;
    }
    pthread_mutex_unlock(&store->lock);
    if (small.data)
        (void)munmap(small.data, BODY_SMALL);
}

static int open_small(BodyStore *store, Body *body) {
    Small small = small_take(store);

    body->data = small.data;
    body->size = BODY_SMALL;
    body->touched = small.touched;
    if (body->data && charge(store, body, body->touched)) {
        (void)munmap(TAKE_PTR(body->data), BODY_SMALL);
        body->touched = 0;
    }
    if (!body->data)
        body->data = map_new(BODY_SMALL);
    return body->data ? 0 : BODY_E_MEMORY;
}

/* Maps @size bytes that start at a huge page. */
static int open_large(Body *body, size_t size) {
    size_t room = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t start;
    void *map = map_new(room + HUGE_PAGE);

    if (!map)
        return BODY_E_MEMORY;
    start = ((uintptr_t)map + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    body->data = (char *)map + (start - (uintptr_t)map);
    body->size = size;
    body->map = map;
    body->map_size = room + HUGE_PAGE;
    (void)madvise(body->data, room, MADV_HUGEPAGE); /* optional: small pages work too */
    return 0;
}

/* Moves a body from its small buffer to a mapping. */
static int enlarge(BodyStore *store, Body *body) {
    Body large = {.announced = body->announced, .is_known = body->is_known};
    int r;

    body_store_release(store, body->charged); /* do not count it twice */
    body->charged = 0;
    r = open_large(&large, large.announced);
    if (r == 0)
        r = charge(store, &large, body->len + 1);
    if (r) {
        body_close(store, &large);
        return r;
    }
    memcpy(large.data, body->data, body->len);
    large.len = body->len;
    body_close(store, body);
    *body = large;
    return 0;
}

int body_open(BodyStore *store, Body *body, uint64_t announced, bool is_known) {
    if (announced > store->body_max)
        return BODY_E_SIZE;
    body->announced = (size_t)announced;
    body->is_known = is_known;
    return open_small(store, body);
}

int body_reserve(BodyStore *store, Body *body, char **ret, size_t *ret_room) {
    size_t left = body->announced - body->len;
    int r = 0;

    if (body->announced > BODY_SMALL && !body->map && body->len >= ENLARGE_AT)
        r = enlarge(store, body);
    if (r == 0 && left > 0)
        r = charge(store, body, body->len + 1);
    if (r)
        return r;
    *ret = body->data + body->len;
    *ret_room = body->charged - body->len < left ? body->charged - body->len : left;
    return 0;
}

void body_advance(Body *body, size_t n) {
    body->len += n;
    if (body->touched < body->len)
        body->touched = body->len;
}

Str body_seal(Body *body) {
    if (body->data)
        POISON(body->data + body->len, body->size - body->len);
    return str_of(body->data, body->len);
}

static void wipe(Body *body) {
    size_t begin = 0, len = body->len;

    if (!str_is_empty(body->secret)) {
        begin = (size_t)(body->secret.ptr - body->data);
        len = body->secret.len;
    }
    explicit_bzero(body->data + begin, len);
}

void body_close(BodyStore *store, Body *body) {
    if (body->map) {
        UNPOISON(body->data, body->size);
        (void)munmap(body->map, body->map_size);
    } else if (body->data) {
        wipe(body);
        small_give(store, (Small){.data = body->data, .touched = body->touched});
    }
    body_store_release(store, body->charged);
    *body = (Body){0};
}
