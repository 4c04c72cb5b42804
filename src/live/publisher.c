/* Compares the values that nodes show with those of published filters. */

#include "live/publisher.h"

#include <stdlib.h>

#include "base/hash.h"
#include "policy/publish.h"

#define OFFERS_BUDGET ((size_t)4 * 1024 * 1024)
#define LEFT_LABELS_MAX 64u /* names without a policy that one run removes */

/* One offer on one row. All zero: the node has the right value. */
struct OfferDifference {
    uint64_t node;     /* hash of the name: a row can get another node */
    int64_t since;     /* when it was first seen; 0: there is none */
    int64_t open_from; /* monotonic: more slots are not written earlier */
    int64_t want;      /* the last written value; valid if written_at is not 0 */
    int64_t written_at;
};

/* The right value of one resource or label, for all nodes. */
struct Offer {
    PublishTarget target;
    Str name;
    const SlotRule *slots; /* of a resource; and */
    const Policy *policy;  /* of a label; both NULL: remove it */
    size_t column;         /* in the table; SIZE_MAX: no node has the resource */
};

typedef struct Run {
    Publisher *publisher;
    const View *view;
    int64_t now;
    PublisherWrite *write;
    void *context;
} Run;

void publisher_reset(Publisher *publisher) {
    view_unref(publisher->view);
    arena_free(publisher->arena);
    free(publisher->differences);
    free(publisher->is_open);
    *publisher = (Publisher){.bucket = publisher->bucket};
}

/* Lists each resource and label that enforced policies publish. Returns their number. */
static size_t list_published(const Program *program, Offer *offers) {
    size_t n = 0;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (policy->is_observed)
            continue;
        for (size_t j = 0; j < policy->n_filters; j++)
            if (policy->filters[j].slots)
                offers[n++] = (Offer){.target = PUBLISH_TO_STATUS,
                    .name = policy->filters[j].slots->resource,
                    .slots = policy->filters[j].slots};
        if (!str_is_empty(policy->closed_label))
            offers[n++] = (Offer){
                .target = PUBLISH_TO_LABELS, .name = policy->closed_label, .policy = policy};
    }
    return n;
}

/* Adds @name if it has berth's prefix and no policy publishes it. Returns the new number. */
static size_t list_leftover(
    PublishTarget target, const char *prefix, Str name, Offer *offers, size_t n) {
    if (!str_has_prefix(name, str_from_c(prefix)))
        return n;
    for (size_t i = 0; i < n; i++)
        if (str_eq(offers[i].name, name))
            return n;
    offers[n] = (Offer){.target = target, .name = name};
    return n + 1;
}

/* Adds labels of nodes without a policy: a few names, each on many nodes. Copies them, because the
 * nodes may be deleted. */
static size_t list_left_labels(const NodeTable *table, Arena *arena, Offer *offers, size_t n) {
    size_t n_max = n + LEFT_LABELS_MAX, first = n;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Labels *labels = table_labels(table, row);

        for (size_t i = 0; i < labels->n && n < n_max; i++)
            n = list_leftover(PUBLISH_TO_LABELS, CLOSED_PREFIX, labels->items[i].key, offers, n);
    }
    for (size_t i = first; i < n; i++)
        offers[i].name = arena_copy(arena, offers[i].name);
    return n;
}

/* NULL: out of memory. */
static Offer *list_offers(const View *view, Arena *arena, size_t *ret_n) {
    const NodeTable *table = view->table;
    const Program *program = view->program;
    Offer *offers = ARENA_ARRAY(arena, Offer,
        program->n_filters + program->n_policies + table->n_resources + LEFT_LABELS_MAX + 1);
    size_t n;

    if (!offers)
        return NULL;
    n = list_published(program, offers);
    for (size_t i = 0; i < table->n_resources; i++)
        n = list_leftover(PUBLISH_TO_STATUS, SLOTS_PREFIX, table->resources[i], offers, n);
    n = list_left_labels(table, arena, offers, n);
    for (size_t i = 0; i < n; i++)
        offers[i].column = table_find_resource(table, offers[i].name);
    *ret_n = n;
    return arena_has_failed(arena) ? NULL : offers;
}

static bool are_same(const Publisher *publisher, const Offer *offers, size_t n) {
    if (n != publisher->n_offers)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!str_eq(offers[i].name, publisher->offers[i].name) ||
            !offers[i].slots != !publisher->offers[i].slots ||
            !offers[i].policy != !publisher->offers[i].policy)
            return false;
    return true;
}

/* Replaces the offers by those of @view, and lets all rows be compared. Keeps the differences if
 * rows and offers are the same. False when out of memory. */
static bool take_offers(Publisher *publisher, const View *view) {
    _cleanup_(arena_freep) Arena *arena = arena_new(OFFERS_BUDGET);
    size_t n_chunks = view->table->n_chunks, n;
    Offer *offers = arena ? list_offers(view, arena, &n) : NULL;

    if (!offers)
        return false;
    if (!publisher->view || n_chunks != publisher->n_chunks || !are_same(publisher, offers, n)) {
        publisher_reset(publisher);
        publisher->differences = calloc(n_chunks * CHUNK_ROWS * n + 1, sizeof(OfferDifference));
        publisher->is_open = calloc(n_chunks, sizeof(bool));
    }
    arena_free(publisher->arena);
    publisher->arena = TAKE_PTR(arena);
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

/* The current and the right value of a node. A label is one slot: both are 0 for a closed node. */
typedef struct Room {
    int64_t have, want;
} Room;

static Room count_slots(const Run *run, uint32_t row, const Offer *offer) {
    const PodList *pods = table_chunk(run->view->table, row)->pods[table_slot(row)];
    Room room = {.want = offer->slots ? offer->slots->limit : 0};

    if (offer->column != SIZE_MAX)
        room.have = table_amount(run->view->table, row, offer->column, AMOUNT_ALLOCATABLE);
    for (uint32_t i = 0; offer->slots && pods && i < pods->n && room.want > 0; i++)
        room.want -= slot_rule_takes(offer->slots, pods->items[i]);
    return room;
}

/* If a metric is absent, the label stays as it is: berth may just have started. */
static Room count_label(const Run *run, uint32_t row, const Offer *offer) {
    const Str *value = labels_find(table_labels(run->view->table, row), offer->name);
    const Program *program = run->view->program;
    Room room = {.have = value ? 0 : 1, .want = 1};

    if (run->view->facts.is_late)
        room.want = room.have;
    for (size_t i = 0; offer->policy && i < offer->policy->n_filters; i++) {
        const Filter *filter = &offer->policy->filters[i];
        uint8_t state = COLUMN_TRUE;

        if (filter->is_label && filter->is_known && !run->view->facts.is_late)
            state = facts_filter_state(program, &run->view->facts, filter, row);
        if (state != JUDGE_STATE_MISSING && !judge_state_passes(filter, state))
            room.want = 0;
        else if (state == JUDGE_STATE_MISSING && room.want > 0)
            room.want = room.have;
    }
    return room;
}

/* Whether the difference may be written now. */
static bool is_due(const Run *run, const OfferDifference *difference, int64_t want, int64_t have) {
    if (difference->written_at != 0 && difference->want == want)
        return run->now >= difference->written_at + PUBLISHER_RETRY_SEC * NSEC_PER_SEC;
    return want < have || run->now >= difference->open_from;
}

static void write_offer(
    const Run *run, Str node, const Offer *offer, int64_t want, OfferDifference *difference) {
    bool is_removed = offer->target == PUBLISH_TO_LABELS ? want > 0 : !offer->slots;
    const PublishChange change = {.target = offer->target,
        .node = node,
        .name = offer->name,
        .n = is_removed ? PUBLISH_REMOVED : want};

    if (!token_take(&run->publisher->bucket, PUBLISHER_PER_SEC, PUBLISHER_BURST, run->now) ||
        !run->write(run->context, &change))
        return;
    difference->want = want;
    difference->written_at = run->now;
}

/* Writes an offer if the row needs it. Returns whether the row has the right value already. */
static bool compare(const Run *run, uint32_t row, const Offer *offer, OfferDifference *difference) {
    const Node *node = row < run->view->table->n_rows ? table_node(run->view->table, row) : NULL;
    Room room = {0};

    if (node && offer->target == PUBLISH_TO_STATUS)
        room = count_slots(run, row, offer);
    else if (node)
        room = count_label(run, row, offer);
    if (room.want == room.have) {
        *difference = (OfferDifference){0};
        return true;
    }
    if (difference->since == 0 || difference->node != hash_str(node->name))
        *difference = (OfferDifference){.node = hash_str(node->name),
            .since = run->now,
            .open_from = run->now + PUBLISHER_OPEN_MSEC * NSEC_PER_MSEC};
    if (is_due(run, difference, room.want, room.have))
        write_offer(run, node->name, offer, room.want, difference);
    return false;
}

/* Runs compare() for all rows of a chunk. Returns whether all have the right values. */
static bool compare_chunk(const Run *run, size_t number) {
    Publisher *publisher = run->publisher;
    bool is_same = true;

    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        uint32_t row = (uint32_t)(number * CHUNK_ROWS + i);
        OfferDifference *differences = publisher->differences + (size_t)row * publisher->n_offers;

        for (size_t j = 0; j < publisher->n_offers; j++)
            is_same &= compare(run, row, &publisher->offers[j], &differences[j]);
    }
    return is_same;
}

static void count_differences(Publisher *publisher) {
    PublisherFigures *figures = &publisher->figures;

    *figures = (PublisherFigures){0};
    for (size_t i = 0; i < publisher->n_chunks; i++) {
        const OfferDifference *first =
            publisher->differences + i * CHUNK_ROWS * publisher->n_offers;

        for (size_t j = 0; publisher->is_open[i] && j < CHUNK_ROWS * publisher->n_offers; j++) {
            figures->n_different += first[j].since != 0;
            if (first[j].since != 0 &&
                (figures->oldest_nsec == 0 || first[j].since < figures->oldest_nsec))
                figures->oldest_nsec = first[j].since;
        }
    }
}

static bool is_same_chunk(const View *before, const View *after, size_t i) {
    return before->table->chunks[i] == after->table->chunks[i] &&
           before->facts.n_chunks == after->facts.n_chunks &&
           (i >= after->facts.n_chunks || before->facts.chunks[i] == after->facts.chunks[i]);
}

void publisher_run(
    Publisher *publisher, View *view, int64_t now_nsec, PublisherWrite *write, void *context) {
    const Run run = {
        .publisher = publisher, .view = view, .now = now_nsec, .write = write, .context = context};

    if (!view->snapshot)
        return;
    if (!has_same_offers(publisher, view) && !take_offers(publisher, view)) {
        publisher_reset(publisher);
        return;
    }
    for (size_t i = 0; i < publisher->n_chunks; i++)
        if (publisher->is_open[i] || !is_same_chunk(publisher->view, view, i))
            publisher->is_open[i] = !compare_chunk(&run, i);
    count_differences(publisher);
    view_unref(publisher->view);
    publisher->view = view_ref(view);
}
