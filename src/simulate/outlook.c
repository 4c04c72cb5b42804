#include "simulate/outlook.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/set.h"

struct Outlooks {
    const Ground *ground;
    Arena *arena; /* of images and what is needed on the way */
    Arena *sorts; /* of the outlooks themselves */
    Set index;
    Images images;
    int64_t *sums;   /* by row */
    uint8_t *by_set; /* by taint set, below */
};

static const char *const texts[_REFUSAL_MAX] = {
    [REFUSAL_NONE] = "",
    [REFUSAL_CORDONED] = "node(s) were unschedulable",
    [REFUSAL_TAINT] = "node(s) had untolerated taint(s)",
    [REFUSAL_AFFINITY] = "node(s) didn't match Pod's node affinity/selector",
    [REFUSAL_PORTS] = "node(s) didn't have free ports for the requested pod ports",
    [REFUSAL_PODS] = "Too many pods",
};

const char *refusal_text(Refusal refusal) {
    return texts[refusal];
}

/* --- one sort ------------------------------------------------------------ */

static bool tolerates(const Tolerations *tolerations, const Taint *taint) {
    for (size_t i = 0; i < tolerations->n; i++)
        if (toleration_tolerates(&tolerations->items[i], taint))
            return true;
    return false;
}

/* Taints PreferNoSchedule only count as many as there are. */
static uint8_t count_disliked(const Tolerations *tolerations, const Taints *taints) {
    unsigned n = 0;

    for (size_t i = 0; i < taints->n; i++)
        n += taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE &&
             !tolerates(tolerations, &taints->items[i]);
    return (uint8_t)n; /* at most TAINTS_MAX */
}

static bool selects(const Want *want, const Node *node) {
    const Labels *selector = &want->pod.details->node_selector;

    for (size_t i = 0; i < selector->n; i++) {
        const Str *value = labels_find(&node->labels, selector->items[i].key);

        if (!value || !str_eq(*value, selector->items[i].value))
            return false;
    }
    return !want->required.is_given || terms_hold(&want->required, node->name, &node->labels);
}

static Refusal refuse(const Want *want, const Node *node, bool admits) {
    static const Taint cordon = {
        .key = {.ptr = "node.kubernetes.io/unschedulable", .len = 32},
        .effect = TAINT_NO_SCHEDULE,
    };

    if (node->is_unschedulable && !tolerates(&want->pod.tolerations, &cordon))
        return REFUSAL_CORDONED;
    if (!admits)
        return REFUSAL_TAINT;
    return selects(want, node) ? REFUSAL_NONE : REFUSAL_AFFINITY;
}

#define ADMITS 0x80 /* beside the number of those disliked */
_Static_assert(TAINTS_MAX <= ADMITS, "the number fits beside the bit");

/* Nodes have few different lists of taints. */
static void judge_taints(Outlooks *outlooks, const Want *want) {
    const NodeTable *table = outlooks->ground->table;

    for (size_t i = 0; i < table->n_taint_sets; i++) {
        uint8_t n = count_disliked(&want->pod.tolerations, &table->taint_sets[i]);

        n = n >= ADMITS ? ADMITS - 1 : n;
        outlooks->by_set[i] =
            (uint8_t)(n | (tolerations_admit(&want->pod.tolerations, &table->taint_sets[i]) ? ADMITS
                                                                                            : 0));
    }
}

static void judge_rows(Outlooks *outlooks, const Want *want, Outlook *outlook) {
    const NodeTable *table = outlooks->ground->table;

    judge_taints(outlooks, want);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        uint8_t taints = outlooks->by_set[table_chunk(table, row)->taint_set[table_slot(row)]];

        if (!node)
            continue;
        outlook->refusals[row] = (uint8_t)refuse(want, node, taints & ADMITS);
        outlook->disliked[row] = taints & (ADMITS - 1);
        if (want->preferred.n > 0)
            outlook->liked[row] =
                (uint16_t)terms_weigh(&want->preferred, node->name, &node->labels);
    }
}
_Static_assert(TERMS_MAX * 100 <= UINT16_MAX, "the weights of all terms fit");

static void judge_images(Outlooks *outlooks, const Want *want, Outlook *outlook) {
    size_t n_rows = outlooks->ground->n_rows;

    if (n_rows == 0)
        return;
    memset(outlooks->sums, 0, n_rows * sizeof(*outlooks->sums));
    for (size_t i = 0; i < want->n_images; i++)
        images_add(&outlooks->images, want->images[i], outlooks->sums);
    for (size_t row = 0; row < n_rows; row++)
        outlook->images[row] = (uint8_t)image_score(outlooks->sums[row], want->n_containers);
}

/* Whether @term is about the node called @name, as far as it names nodes. */
static bool names_node(const NodeTerm *term, Str name) {
    for (size_t i = 0; i < term->n_names; i++)
        if (!term->names[i].is_not && !str_eq(term->names[i].value, name))
            return false;
    return true;
}

/* The nodes that the pod names, whether it may go there or not. */
static int find_only(Outlooks *outlooks, const Want *want, Outlook *outlook) {
    const NodeTable *table = outlooks->ground->table;
    uint32_t *rows;

    if (!terms_name_nodes(&want->required))
        return 0;
    rows = ARENA_ARRAY(outlooks->sorts, uint32_t, outlooks->ground->n_rows + 1);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < outlooks->ground->n_order; i++) {
        uint32_t row = outlooks->ground->order[i];
        bool is_named = false;

        for (size_t k = 0; !is_named && k < want->required.n; k++)
            is_named = names_node(&want->required.items[k], table->names->names[row]);
        if (is_named)
            rows[outlook->n_only++] = row;
    }
    outlook->only = rows;
    return 0;
}

static int make_outlook(Outlooks *outlooks, const Want *want, Outlook **ret) {
    size_t n = outlooks->ground->n_rows + 1;
    Outlook *outlook = ARENA_NEW(outlooks->sorts, Outlook);

    if (!outlook)
        return -ENOMEM;
    outlook->key = arena_copy(outlooks->sorts, want->place_key);
    outlook->refusals = ARENA_ARRAY(outlooks->sorts, uint8_t, n);
    outlook->disliked = ARENA_ARRAY(outlooks->sorts, uint8_t, n);
    outlook->liked = ARENA_ARRAY(outlooks->sorts, uint16_t, n);
    outlook->images = ARENA_ARRAY(outlooks->sorts, uint8_t, n);
    if (!outlook->key.ptr || !outlook->refusals || !outlook->disliked || !outlook->liked ||
        !outlook->images)
        return -ENOMEM;
    judge_rows(outlooks, want, outlook);
    judge_images(outlooks, want, outlook);
    *ret = outlook;
    return find_only(outlooks, want, outlook);
}

/* --- all of them -------------------------------------------------------- */

int outlooks_new(const Ground *ground, Outlooks **ret) {
    _cleanup_(outlooks_freep) Outlooks *outlooks = calloc(1, sizeof(*outlooks));
    int r;

    if (!outlooks)
        return -ENOMEM;
    outlooks->ground = ground;
    outlooks->arena = arena_new(GROUND_BUDGET);
    outlooks->sorts = arena_new(2 * OUTLOOKS_BUDGET);
    if (!outlooks->arena || !outlooks->sorts)
        return -ENOMEM;
    outlooks->sums = ARENA_ARRAY(outlooks->arena, int64_t, ground->n_rows + 1);
    outlooks->by_set = ARENA_ARRAY(outlooks->arena, uint8_t, ground->table->n_taint_sets + 1);
    if (!outlooks->sums || !outlooks->by_set)
        return -ENOMEM;
    r = images_build(ground->table, outlooks->arena, &outlooks->images);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(outlooks);
    return 0;
}

Outlooks *outlooks_free(Outlooks *outlooks) {
    if (!outlooks)
        return NULL;
    set_done(&outlooks->index);
    arena_free(outlooks->sorts);
    arena_free(outlooks->arena);
    free(outlooks);
    return NULL;
}

static bool has_key(const void *item, const void *key) {
    return str_eq(((const Outlook *)item)->key, *(const Str *)key);
}

int outlooks_find(Outlooks *outlooks, const Want *want, const Outlook **ret) {
    uint64_t hash = hash_str(want->place_key);
    Outlook *outlook = set_find(&outlooks->index, hash, has_key, &want->place_key);
    int r;

    if (!outlook) {
        if (arena_used(outlooks->sorts) > OUTLOOKS_BUDGET) {
            set_done(&outlooks->index);
            arena_reset(outlooks->sorts);
        }
        r = make_outlook(outlooks, want, &outlook);
        if (r == 0)
            r = set_add(&outlooks->index, hash, outlook);
        if (r < 0)
            return r;
    }
    *ret = outlook;
    return 0;
}
