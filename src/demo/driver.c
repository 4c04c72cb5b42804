#include "demo/driver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/dice.h"
#include "demo/caller.h"
#include "extender/sample.h"
#include "json/read.h"
#include "json/write.h"

#define DRIVER_BUDGET ((size_t)256 * 1024 * 1024)
#define REQUEST_MAX ((size_t)16 * 1024 * 1024)

struct Driver {
    Caller *caller;
    Arena *arena; /* of one attempt */
    Buf request;
    Dice dice;
    size_t next_start;    /* where the search for nodes goes on */
    int64_t weight;       /* the extender's */
    DemoCluster *cluster; /* binds are made there; NULL: by the extender */
};

/* Nodes under consideration, by row. */
typedef struct Rows {
    uint32_t *items;
    size_t n;
} Rows;

Driver *driver_new(const char *url, uint64_t seed) {
    Driver *driver = calloc(1, sizeof(*driver));

    if (!driver)
        return NULL;
    driver->request = BUF_INIT(REQUEST_MAX);
    driver->dice = (Dice){.state = seed};
    driver->weight = DRIVER_WEIGHT;
    driver->arena = arena_new(DRIVER_BUDGET);
    driver->caller = caller_new(url);
    return driver->arena && driver->caller ? driver : driver_free(driver);
}

Driver *driver_free(Driver *driver) {
    if (!driver)
        return NULL;
    caller_free(driver->caller);
    arena_free(driver->arena);
    buf_done(&driver->request);
    free(driver);
    return NULL;
}

void driver_set_weight(Driver *driver, int64_t weight) {
    driver->weight = weight;
}

void driver_bind_in(Driver *driver, DemoCluster *cluster) {
    driver->cluster = cluster;
}

/* --- kube-scheduler's own part ---------------------------------------------- */

static int64_t free_after(const NodeTable *cluster, uint32_t row, size_t resource, const Pod *pod) {
    return table_amount(cluster, row, resource, AMOUNT_FREE) -
           resources_get(&pod->requests, cluster->resources[resource]);
}

static bool has_room(const NodeTable *cluster, uint32_t row, Placement *placement) {
    bool has_cpu = free_after(cluster, row, TABLE_CPU, &placement->pod->model) >= 0;
    bool has_memory = free_after(cluster, row, TABLE_MEMORY, &placement->pod->model) >= 0;

    placement->n_without_cpu += !has_cpu;
    placement->n_without_memory += !has_memory;
    return has_cpu && has_memory;
}

/* LeastAllocated: the mean of the free shares, 0..100. */
static int64_t own_score(const NodeTable *cluster, uint32_t row, const Pod *pod) {
    int64_t sum = 0;

    for (size_t i = 0; i <= TABLE_MEMORY; i++) {
        int64_t all = table_amount(cluster, row, i, AMOUNT_ALLOCATABLE);
        int64_t left = free_after(cluster, row, i, pod);

        if (all > 0 && left > 0)
            sum += (int64_t)(100.0 * (double)left / (double)all);
    }
    return sum / 2;
}

int64_t driver_own_score(const NodeTable *cluster, uint32_t row, const Pod *pod) {
    if (free_after(cluster, row, TABLE_CPU, pod) < 0 ||
        free_after(cluster, row, TABLE_MEMORY, pod) < 0)
        return -1;
    return own_score(cluster, row, pod);
}

/* Goes round the cluster from where the last search ended. */
static int find_nodes(Driver *driver, const NodeTable *cluster, Placement *placement, Rows *ret) {
    size_t wanted = sample_size(cluster->n_rows, /* percentage= */ 0), n_seen = 0;

    assert(cluster->n_rows > 0);
    *ret = (Rows){.items = ARENA_ARRAY(driver->arena, uint32_t, wanted)};
    if (!ret->items)
        return -ENOMEM;
    for (; n_seen < cluster->n_rows && ret->n < wanted; n_seen++) {
        uint32_t row = (uint32_t)((driver->next_start + n_seen) % cluster->n_rows);

        if (has_room(cluster, row, placement))
            ret->items[ret->n++] = row;
    }
    driver->next_start = (driver->next_start + n_seen) % cluster->n_rows;
    return 0;
}

/* --- calls ------------------------------------------------------------------- */

/* 0; 1 when the call went wrong, which the placement then says; or -ENOMEM. */
static int call(Driver *driver, Verb verb, Placement *placement, Str *ret_reply) {
    int r = buf_error(&driver->request);

    if (r < 0)
        return -ENOMEM;
    r = caller_call(driver->caller,
        verb,
        buf_str(&driver->request),
        driver->arena,
        ret_reply,
        &placement->nsec[verb]);
    if (r <= 0)
        return r;
    placement->is_cut_off = r == CALLER_E_CONNECTION;
    placement->error = arena_copy(driver->arena, str_from_c(caller_error(driver->caller)));
    return placement->error.ptr ? 1 : -ENOMEM;
}

/* ExtenderArgs, keys in the order of the Go struct. */
static void write_args(
    Driver *driver, const DemoPod *pod, const NodeTable *cluster, const Rows *rows) {
    JsonWriter writer = JSON_WRITER(&driver->request);

    buf_reset(&driver->request);
    json_write_object(&writer);
    json_write_key(&writer, STR("Pod"));
    demo_pod_write(pod, /* node= */ STR_NULL, /* is_typed= */ false, &writer);
    json_write_key(&writer, STR("Nodes"));
    json_write_null(&writer);
    json_write_key(&writer, STR("NodeNames"));
    json_write_array(&writer);
    for (size_t i = 0; i < rows->n; i++)
        json_write_string(&writer, cluster->names->names[rows->items[i]]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
}

static void write_bind_args(Driver *driver, const DemoPod *pod, Str node) {
    JsonWriter writer = JSON_WRITER(&driver->request);
    const struct {
        Str key, value;
    } fields[] = {
        {STR("PodName"), pod->model.name},
        {STR("PodNamespace"), pod->model.namespace},
        {STR("PodUID"), pod->model.uid},
        {STR("Node"), node},
    };

    buf_reset(&driver->request);
    json_write_object(&writer);
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        json_write_key(&writer, fields[i].key);
        json_write_string(&writer, fields[i].value);
    }
    json_write_end_object(&writer);
}

/* A reply that is not the protocol. */
static int reply_is_bad(Driver *driver, Verb verb, const JsonReader *reader, Placement *placement) {
    char what[128];

    json_describe(reader, what, sizeof(what));
    placement->error = arena_printf(driver->arena, "reply of %s: %s", verb_name(verb), what);
    return placement->error.ptr ? 1 : -ENOMEM;
}

/* --- filter ------------------------------------------------------------------ */

static void count_reason(Placement *placement, Str text) {
    size_t i = 0;

    while (i < placement->n_reasons && !str_eq(placement->reasons[i].text, text))
        i++;
    if (i == PLACEMENT_REASONS_MAX)
        i--;
    else if (i == placement->n_reasons)
        placement->reasons[placement->n_reasons++] = (Reason){.text = text};
    placement->reasons[i].n_nodes++;
}

static int by_count(const void *a, const void *b) {
    const Reason *x = a, *y = b;

    if (x->n_nodes != y->n_nodes)
        return x->n_nodes > y->n_nodes ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static void read_passed(
    JsonReader *reader, const NodeTable *cluster, const Rows *offered, Arena *arena, Rows *ret) {
    json_array(reader);
    while (json_element(reader)) {
        Str name = STR_NULL;
        uint32_t row;

        json_string(reader, arena, &name);
        row = table_find(cluster, name);
        if (row == cluster->n_rows || ret->n == offered->n)
            json_fail(reader, JSON_E_TYPE, "a node that was not offered");
        else
            ret->items[ret->n++] = row;
    }
}

static void read_failed(JsonReader *reader, Arena *arena, Placement *placement) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        Str text = STR_NULL;

        json_string(reader, arena, &text);
        if (json_error(reader) == JSON_OK)
            count_reason(placement, text);
    }
}

static int read_filter_reply(Driver *driver, Str reply, const NodeTable *cluster,
    const Rows *offered, Rows *passed, Placement *placement) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, reply);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("NodeNames")))
            read_passed(&reader, cluster, offered, driver->arena, passed);
        else if (json_key_is(&reader, key, STR("FailedNodes")))
            read_failed(&reader, driver->arena, placement);
        else if (json_key_is(&reader, key, STR("Error")))
            json_string(&reader, driver->arena, &placement->error);
        else
            json_skip(&reader, NULL);
    }
    json_end(&reader);
    if (json_error(&reader) != JSON_OK)
        return reply_is_bad(driver, VERB_FILTER, &reader, placement);
    if (placement->n_reasons > 1)
        qsort(placement->reasons, placement->n_reasons, sizeof(placement->reasons[0]), by_count);
    placement->n_passed = passed->n;
    return str_is_empty(placement->error) ? 0 : 1;
}

static int filter(Driver *driver, const NodeTable *cluster, const Rows *offered, Rows *ret_passed,
    Placement *placement) {
    Str reply = STR_NULL;
    int r;

    *ret_passed = (Rows){.items = ARENA_ARRAY(driver->arena, uint32_t, offered->n)};
    if (!ret_passed->items)
        return -ENOMEM;
    write_args(driver, placement->pod, cluster, offered);
    r = call(driver, VERB_FILTER, placement, &reply);
    if (r != 0)
        return r;
    return read_filter_reply(driver, reply, cluster, offered, ret_passed, placement);
}

/* --- prioritize -------------------------------------------------------------- */

static void read_host(JsonReader *reader, Arena *arena, Str *ret_host, int64_t *ret_score) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("Host")))
            json_string(reader, arena, ret_host);
        else if (json_key_is(reader, key, STR("Score")))
            json_int64(reader, ret_score);
        else
            json_skip(reader, NULL);
    }
}

/* @scores is by row; hosts that are left out keep their 0. */
static int prioritize(Driver *driver, const NodeTable *cluster, const Rows *passed, int64_t *scores,
    Placement *placement) {
    JsonReader reader;
    Str reply = STR_NULL;
    int r;

    write_args(driver, placement->pod, cluster, passed);
    r = call(driver, VERB_PRIORITIZE, placement, &reply);
    if (r != 0)
        return r;
    json_reader_init(&reader, reply);
    json_array(&reader);
    while (json_element(&reader)) {
        Str host = STR_NULL;
        int64_t score = 0;

        read_host(&reader, driver->arena, &host, &score);
        scores[table_find(cluster, host)] = score;
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK
               ? 0
               : reply_is_bad(driver, VERB_PRIORITIZE, &reader, placement);
}

/* The node with the most points; of several one by chance. */
static uint32_t choose(Driver *driver, const NodeTable *cluster, const Pod *pod, const Rows *passed,
    const int64_t *scores) {
    uint32_t best = passed->items[0];
    int64_t most = -1;
    size_t n_equal = 0;

    for (size_t i = 0; i < passed->n; i++) {
        uint32_t row = passed->items[i];
        int64_t points = own_score(cluster, row, pod) + scores[row] * driver->weight * 10;

        if (points > most) {
            most = points;
            n_equal = 0;
        }
        if (points == most && dice_pick(&driver->dice, ++n_equal) == 0)
            best = row;
    }
    return best;
}

/* --- bind -------------------------------------------------------------------- */

static int bind_by_itself(Driver *driver, Str node, Placement *placement) {
    const Pod *pod = &placement->pod->model;
    BindArgs args = {
        .pod_name = pod->name,
        .pod_namespace = pod->namespace,
        .pod_uid = pod->uid,
        .node = node,
    };
    char error[256];

    demo_cluster_bind(driver->cluster, &args, error, sizeof(error));
    if (error[0] == '\0') {
        placement->node = node;
        return 0;
    }
    placement->error = arena_copy(driver->arena, str_from_c(error));
    return placement->error.ptr ? 1 : -ENOMEM;
}

static int bind_to(Driver *driver, Str node, Placement *placement) {
    JsonReader reader;
    Str reply = STR_NULL, key;
    int r;

    write_bind_args(driver, placement->pod, node);
    r = call(driver, VERB_BIND, placement, &reply);
    if (r != 0)
        return r;
    json_reader_init(&reader, reply);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("Error")))
            json_string(&reader, driver->arena, &placement->error);
        else
            json_skip(&reader, NULL);
    }
    json_end(&reader);
    if (json_error(&reader) != JSON_OK)
        return reply_is_bad(driver, VERB_BIND, &reader, placement);
    if (!str_is_empty(placement->error))
        return 1;
    placement->node = node;
    return 0;
}

/* --- an attempt -------------------------------------------------------------- */

/* Prioritize's errors are swallowed, as kube-scheduler does: no points then. */
static int choose_and_bind(
    Driver *driver, const NodeTable *cluster, const Rows *passed, Placement *placement) {
    int64_t *scores = ARENA_ARRAY(driver->arena, int64_t, cluster->n_rows + 1);
    uint32_t row;

    if (!scores)
        return -ENOMEM;
    if (passed->n > 1) {
        int r = prioritize(driver, cluster, passed, scores, placement);

        if (r < 0)
            return r;
    }
    row = choose(driver, cluster, &placement->pod->model, passed, scores);
    if (passed->n > 1)
        placement->score = scores[row];
    for (size_t i = 0; passed->n > 1 && i < passed->n; i++)
        if (scores[passed->items[i]] > placement->best_score)
            placement->best_score = scores[passed->items[i]];
    return driver->cluster ? bind_by_itself(driver, cluster->names->names[row], placement)
                           : bind_to(driver, cluster->names->names[row], placement);
}

static int attempt(Driver *driver, const NodeTable *cluster, Placement *placement) {
    Rows offered, passed;
    int r;

    r = find_nodes(driver, cluster, placement, &offered);
    if (r < 0)
        return r;
    placement->n_offered = offered.n;
    if (offered.n == 0) /* the extender is not asked then */
        return 0;
    r = filter(driver, cluster, &offered, &passed, placement);
    if (r != 0 || passed.n == 0)
        return r;
    return choose_and_bind(driver, cluster, &passed, placement);
}

int driver_place(Driver *driver, const DemoPod *pod, const NodeTable *cluster, Placement *ret) {
    int r;

    arena_reset(driver->arena);
    *ret = (Placement){.pod = pod, .score = -1, .best_score = -1};
    r = attempt(driver, cluster, ret);
    return r < 0 ? r : 0;
}

void placement_print_reasons(const Placement *placement, size_t width, Buf *out) {
    size_t start = out->len;

    for (size_t i = 0; i < placement->n_reasons; i++) {
        const Reason *reason = &placement->reasons[i];
        size_t left = placement->n_reasons - i;
        size_t size = (size_t)snprintf(NULL, 0, ", %zu ", reason->n_nodes) + reason->text.len;

        if (left > 1)
            size += strlen(", +10 more");
        if (i > 0 && out->len - start + size > width) {
            buf_printf(out, ", +%zu more", left);
            return;
        }
        buf_printf(out, "%s%zu %.*s", i > 0 ? ", " : "", reason->n_nodes, STR_FMT(reason->text));
    }
}
