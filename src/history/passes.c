#include "history/passes.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"

#define WORD_BITS 64u

/* What a text of a record takes beside its bytes: a count, and malloc's share. */
#define TEXT_COST 32u

struct Pass {
    const Pod *pod; /* a record */
    uint64_t hash;  /* of its UID */
    size_t bytes;   /* what it is counted with */
    int64_t at_nsec;
    Pass *chained;       /* next of its bucket */
    Pass *newer, *older; /* by age */

    uint64_t version; /* of the names */
    size_t n_rows;
    uint64_t passed[]; /* one bit a row */
};

struct Passes {
    size_t max, bytes_max;
    int64_t window_nsec;

    pthread_mutex_t mutex; /* guards what follows */
    Pass **buckets;
    size_t n_buckets; /* a power of two */
    Pass *newest, *oldest;
    PassesFigures figures;
};

/* --- one answer --------------------------------------------------------------------- */

static size_t text_bytes(Str text) {
    return TEXT_COST + text.len;
}

/* About what a record of @pod takes. */
static size_t pod_bytes(const Pod *pod) {
    const Str texts[] = {pod->name,
        pod->namespace,
        pod->uid,
        pod->resource_version,
        pod->owner_kind,
        pod->owner_name,
        pod->owner_uid,
        pod->node_name,
        pod->nominated_node_name,
        pod->scheduler_name};
    size_t bytes = sizeof(Pod);

    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        bytes += text_bytes(texts[i]);
    for (size_t i = 0; i < pod->labels.n; i++) {
        const Label *label = &pod->labels.items[i];

        bytes += sizeof(*label) + text_bytes(label->key) + text_bytes(label->value);
    }
    for (size_t i = 0; i < pod->tolerations.n; i++) {
        const Toleration *toleration = &pod->tolerations.items[i];

        bytes += sizeof(*toleration) + text_bytes(toleration->key) + text_bytes(toleration->value);
    }
    for (size_t i = 0; i < pod->requests.n; i++)
        bytes += sizeof(Resource) + text_bytes(pod->requests.items[i].name);
    return bytes;
}

Pass *pass_new(const Pod *pod, const NodeNames *names) {
    size_t size = sizeof(Pass) + (names->n_rows + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t);
    size_t bytes = size + pod_bytes(pod);
    Pass *pass;

    if (str_is_empty(pod->uid) || bytes > PASS_BYTES_MAX)
        return NULL;
    pass = calloc(1, size);
    if (!pass)
        return NULL;
    pass->pod = pod_record_new(/* pool= */ NULL, pod);
    if (!pass->pod) {
        free(pass);
        return NULL;
    }
    pass->hash = hash_str(pod->uid);
    pass->bytes = bytes;
    pass->version = names->version;
    pass->n_rows = names->n_rows;
    return pass;
}

static void pass_free(Pass *pass) {
    pod_record_unref(pass->pod);
    free(pass);
}

void pass_add(Pass *pass, uint32_t row) {
    if (pass && row < pass->n_rows)
        pass->passed[row / WORD_BITS] |= UINT64_C(1) << row % WORD_BITS;
}

/* Names older than the answer's cannot tell whether a row changed hands in between. */
static bool pass_has(const Pass *pass, Str node, const NodeNames *names) {
    uint32_t row = names_find(names, node);

    if (row >= names->n_rows || row >= pass->n_rows)
        return false;
    if (names->version < pass->version || names->since[row] > pass->version)
        return false;
    return pass->passed[row / WORD_BITS] >> row % WORD_BITS & 1;
}

/* --- all of them; with the lock held ------------------------------------------------- */

static Pass **bucket_of(const Passes *passes, uint64_t hash) {
    return &passes->buckets[hash & (passes->n_buckets - 1)];
}

static Pass *find(const Passes *passes, Str uid, uint64_t hash) {
    for (Pass *pass = *bucket_of(passes, hash); pass; pass = pass->chained)
        if (pass->hash == hash && str_eq(pass->pod->uid, uid))
            return pass;
    return NULL;
}

static void add(Passes *passes, Pass *pass) {
    Pass **bucket = bucket_of(passes, pass->hash);

    pass->chained = *bucket;
    *bucket = pass;
    pass->older = passes->newest;
    if (pass->older)
        pass->older->newer = pass;
    else
        passes->oldest = pass;
    passes->newest = pass;
    passes->figures.n++;
    passes->figures.bytes += pass->bytes;
}

/* @pass goes to the front of *@gone, a list by chained. */
static void take_out(Passes *passes, Pass *pass, Pass **gone) {
    Pass **at = bucket_of(passes, pass->hash);

    while (*at != pass)
        at = &(*at)->chained;
    *at = pass->chained;
    if (pass->newer)
        pass->newer->older = pass->older;
    else
        passes->newest = pass->older;
    if (pass->older)
        pass->older->newer = pass->newer;
    else
        passes->oldest = pass->newer;
    passes->figures.n--;
    passes->figures.bytes -= pass->bytes;
    pass->chained = *gone;
    *gone = pass;
}

static bool is_over(const Passes *passes, const Pass *pass, int64_t now) {
    return now - pass->at_nsec > passes->window_nsec;
}

/* Room for @more bytes in one more answer. */
static void make_room(Passes *passes, size_t more, int64_t now, Pass **gone) {
    while (passes->oldest && is_over(passes, passes->oldest, now))
        take_out(passes, passes->oldest, gone);
    while (passes->oldest && (passes->figures.n + 1 > passes->max ||
                                 passes->figures.bytes + more > passes->bytes_max)) {
        take_out(passes, passes->oldest, gone);
        passes->figures.n_dropped++;
    }
}

/* --- the functions of the header ------------------------------------------------------ */

Passes *passes_new(size_t max, size_t bytes_max, int64_t window_nsec) {
    Passes *passes = calloc(1, sizeof(*passes));

    assert(max > 0);
    if (!passes)
        return NULL;
    passes->max = max;
    passes->bytes_max = bytes_max;
    passes->window_nsec = window_nsec;
    passes->n_buckets = 1;
    while (passes->n_buckets < max)
        passes->n_buckets *= 2;
    passes->buckets = calloc(passes->n_buckets, sizeof(Pass *));
    if (!passes->buckets) {
        free(passes);
        return NULL;
    }
    pthread_mutex_init(&passes->mutex, NULL);
    return passes;
}

static void free_all(Pass *gone) {
    while (gone) {
        Pass *next = gone->chained;

        pass_free(gone);
        gone = next;
    }
}

Passes *passes_free(Passes *passes) {
    Pass *gone = NULL;

    if (!passes)
        return NULL;
    while (passes->oldest)
        take_out(passes, passes->oldest, &gone);
    free_all(gone);
    pthread_mutex_destroy(&passes->mutex);
    free(passes->buckets);
    free(passes);
    return NULL;
}

void passes_keep(Passes *passes, Pass *pass, int64_t now_nsec) {
    Pass *gone = NULL, *before;

    if (!pass)
        return;
    pthread_mutex_lock(&passes->mutex);
    pass->at_nsec = now_nsec;
    before = find(passes, pass->pod->uid, pass->hash);
    if (before)
        take_out(passes, before, &gone);
    passes->figures.n_kept++;
    make_room(passes, pass->bytes, now_nsec, &gone);
    if (pass->bytes <= passes->bytes_max) {
        add(passes, pass);
    } else {
        pass->chained = gone;
        gone = pass;
        passes->figures.n_dropped++;
    }
    pthread_mutex_unlock(&passes->mutex);
    free_all(gone);
}

int passes_find(
    Passes *passes, Str uid, Str node, const NodeNames *names, int64_t now_nsec, const Pod **ret) {
    const Pass *pass;
    int r = 0;

    *ret = NULL;
    pthread_mutex_lock(&passes->mutex);
    pass = find(passes, uid, hash_str(uid));
    if (!pass)
        r = PASSES_E_UNKNOWN;
    else if (!pass_has(pass, node, names))
        r = PASSES_E_NODE;
    else if (is_over(passes, pass, now_nsec))
        r = PASSES_E_LATE;
    else
        *ret = pod_record_ref(pass->pod);
    pthread_mutex_unlock(&passes->mutex);
    return r;
}

void passes_figures(Passes *passes, PassesFigures *ret) {
    pthread_mutex_lock(&passes->mutex);
    *ret = passes->figures;
    pthread_mutex_unlock(&passes->mutex);
}
