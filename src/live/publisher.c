/* Compares what nodes offer with the slots that rules give them. */

#include "live/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/token-bucket.h"
#include "policy/publish.h"

/* One resource of one row. All zero: the node offers what it should. */
typedef struct Difference {
    uint64_t node;     /* hash of the name: a row can get another node */
    int64_t since;     /* when it was first seen; 0: there is none */
    int64_t open_from; /* not before, if there are to be more slots */
    int64_t want;      /* what was written last, and when; 0: nothing */
    int64_t written_at;
} Difference;

/* One rule, or slots of a policy that is gone. */
typedef struct Offer {
    const SlotRule *rule; /* NULL: to be removed */
    Str resource;
    size_t column; /* of the table; SIZE_MAX: no node offers it */
} Offer;

struct Publisher {
    View *view; /* of the last run; NULL: none. Owns the texts of the offers */
    Offer *offers;
    size_t n_offers;
    Difference *differences; /* by row, then by offer */
    bool *is_open;           /* by chunk: something differs there */
    size_t n_chunks;
    TokenBucket bucket;
    PublisherFigures figures;
};

typedef struct Run {
    Publisher *publisher;
    const NodeTable *table;
    int64_t now;
    PublisherWrite *write;
    void *context;
} Run;

Publisher *publisher_new(void) {
    return calloc(1, sizeof(Publisher));
}

void publisher_reset(Publisher *publisher) {
    view_unref(publisher->view);
    free(publisher->offers);
    free(publisher->differences);
    free(publisher->is_open);
    *publisher = (Publisher){.bucket = publisher->bucket};
}

Publisher *publisher_free(Publisher *publisher) {
    if (!publisher)
        return NULL;
    publisher_reset(publisher);
    free(publisher);
    return NULL;
}

/* --- what nodes should offer ----------------------------------------------------------------- */

static bool has_offer(const Offer *offers, size_t n, Str resource) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(offers[i].resource, resource))
            return true;
    return false;
}

/* The offers of @view: its rules, then resources that no rule has any more. NULL: out of memory. */
static Offer *list_offers(const View *view, size_t *ret_n) {
    const NodeTable *table = view->table;
    const Program *program = view->program;
    Offer *offers = calloc(program->n_filters + table->n_resources + 1, sizeof(*offers));
    size_t n = 0;

    for (size_t i = 0; offers && i < program->n_filters; i++)
        if (program->filters[i]->slots && !program->filters[i]->policy->is_observed)
            offers[n++] = (Offer){.rule = program->filters[i]->slots,
                .resource = program->filters[i]->slots->resource};
    for (size_t i = 0; offers && i < table->n_resources; i++)
        if (str_has_prefix(table->resources[i], STR(SLOTS_PREFIX)) &&
            !has_offer(offers, n, table->resources[i]))
            offers[n++] = (Offer){.resource = table->resources[i]};
    for (size_t i = 0; i < n; i++)
        offers[i].column = table_find_resource(table, offers[i].resource);
    *ret_n = n;
    return offers;
}

static bool are_same(const Publisher *publisher, const Offer *offers, size_t n) {
    if (n != publisher->n_offers)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!str_eq(offers[i].resource, publisher->offers[i].resource) ||
            !offers[i].rule != !publisher->offers[i].rule)
            return false;
    return true;
}

/* Takes the offers of @view, after which all rows are compared. Differences are kept as long as
 * they are about the same rows and offers. False when out of memory. */
static bool take_offers(Publisher *publisher, const View *view) {
    size_t n_chunks = view->table->n_chunks, n;
    Offer *offers = list_offers(view, &n);

    if (!offers)
        return false;
    if (!publisher->view || n_chunks != publisher->n_chunks || !are_same(publisher, offers, n)) {
        publisher_reset(publisher);
        publisher->differences = calloc(n_chunks * CHUNK_ROWS * n + 1, sizeof(Difference));
        publisher->is_open = calloc(n_chunks, sizeof(bool));
    }
    free(publisher->offers);
    publisher->offers = offers;
    publisher->n_offers = n;
    publisher->n_chunks = n_chunks;
    if (!publisher->differences || !publisher->is_open)
        return false;
    memset(publisher->is_open, true, n_chunks);
    return true;
}

static bool has_same_offers(const Publisher *publisher, const View *view) {
    const View *last = publisher->view;

    return last && last->program == view->program &&
           last->table->resources == view->table->resources &&
           last->table->n_chunks == view->table->n_chunks;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int64_t count_wanted(const Offer *offer, const PodList *pods) {
    int64_t n = offer->rule->limit;

    for (uint32_t i = 0; pods && i < pods->n && n > 0; i++)
        n -= slot_rule_takes(offer->rule, pods->items[i]);
    return n;
}

/* Whether it may be written now. */
static bool is_due(const Run *run, const Difference *difference, int64_t want, int64_t have) {
    if (difference->written_at != 0 && difference->want == want)
        return run->now >= difference->written_at + PUBLISHER_RETRY_SEC * NSEC_PER_SEC;
    return want < have || run->now >= difference->open_from;
}

static void write_offer(
    const Run *run, Str node, const Offer *offer, int64_t want, Difference *difference) {
    if (!token_take(&run->publisher->bucket, PUBLISHER_PER_SEC, PUBLISHER_BURST, run->now) ||
        !run->write(run->context, node, offer->resource, offer->rule ? want : PUBLISH_REMOVED))
        return;
    difference->want = want;
    difference->written_at = run->now;
}

/* Whether the row offers what it should. */
static bool compare(const Run *run, uint32_t row, const Offer *offer, Difference *difference) {
    const NodeChunk *chunk = table_chunk(run->table, row);
    const Node *node = chunk->nodes[table_slot(row)];
    int64_t want, have;

    have = node && offer->column != SIZE_MAX
               ? table_amount(run->table, row, offer->column, AMOUNT_ALLOCATABLE)
               : 0;
    want = node && offer->rule ? count_wanted(offer, chunk->pods[table_slot(row)]) : 0;
    if (want == have) {
        *difference = (Difference){0};
        return true;
    }
    if (difference->since == 0 || difference->node != hash_str(node->name))
        *difference = (Difference){.node = hash_str(node->name),
            .since = run->now,
            .open_from = run->now + PUBLISHER_OPEN_MSEC * NSEC_PER_MSEC};
    if (is_due(run, difference, want, have))
        write_offer(run, node->name, offer, want, difference);
    return false;
}

/* Whether all of its rows offer what they should. */
static bool compare_chunk(const Run *run, size_t number) {
    Publisher *publisher = run->publisher;
    bool is_same = true;

    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        uint32_t row = (uint32_t)(number * CHUNK_ROWS + i);
        Difference *differences = publisher->differences + (size_t)row * publisher->n_offers;

        for (size_t j = 0; j < publisher->n_offers; j++)
            is_same &= compare(run, row, &publisher->offers[j], &differences[j]);
    }
    return is_same;
}

static void count_differences(Publisher *publisher) {
    PublisherFigures *figures = &publisher->figures;

    *figures = (PublisherFigures){0};
    for (size_t i = 0; i < publisher->n_offers; i++)
        figures->n_rules += publisher->offers[i].rule != NULL;
    for (size_t i = 0; i < publisher->n_chunks; i++) {
        const Difference *first = publisher->differences + i * CHUNK_ROWS * publisher->n_offers;

        for (size_t j = 0; publisher->is_open[i] && j < CHUNK_ROWS * publisher->n_offers; j++) {
            figures->n_different += first[j].since != 0;
            if (first[j].since != 0 &&
                (figures->oldest_nsec == 0 || first[j].since < figures->oldest_nsec))
                figures->oldest_nsec = first[j].since;
        }
    }
}

void publisher_run(
    Publisher *publisher, View *view, int64_t now_nsec, PublisherWrite *write, void *context) {
    const Run run = {.publisher = publisher,
        .table = view->table,
        .now = now_nsec,
        .write = write,
        .context = context};

    if (!view->snapshot)
        return;
    if (!has_same_offers(publisher, view) && !take_offers(publisher, view)) {
        publisher_reset(publisher);
        return;
    }
    for (size_t i = 0; i < publisher->n_chunks; i++)
        if (publisher->is_open[i] || publisher->view->table->chunks[i] != view->table->chunks[i])
            publisher->is_open[i] = !compare_chunk(&run, i);
    count_differences(publisher);
    view_unref(publisher->view);
    publisher->view = view_ref(view);
}

PublisherFigures publisher_figures(const Publisher *publisher) {
    return publisher->figures;
}
