/*
 * The lists of metrics.k8s.io as a vector: what `kubectl top` shows, under labels "node", or
 * "namespace" and "pod".
 *
 * Amounts are kept as they are written, in billionths, until the last container is added: rounding
 * up to thousandths, as is right for what pods ask for, would make an idle pod busy.
 */

#include <errno.h>
#include <stdbool.h>

#include "base/message.h"
#include "base/quantity.h"
#include "load/vector-internal.h"
#include "load/vector.h"
#include "model/time.h"
#include "json/read.h"

#define NANO INT64_C(1000000000)
#define EXACT_MAX ((__int128)1 << 53)
#define SERVER_TEXT_MAX 200u /* of the text of a server */

/* The list, as far as it is asked for. */
typedef struct List {
    VectorReader reader;
    Str resource;
    bool is_of_pods;
    bool has_items;
    Str kind, message; /* of a Status, which comes instead when something is wrong */
} List;

typedef struct Item {
    Str namespace, name;
    int64_t at_sec;
    Quantity amount;
    size_t n_amounts, n_containers;
} Item;

/* Whole numbers, and billionths that are doubles without loss, round once at most. */
static double quantity_double(Quantity quantity) {
    __int128 whole = quantity.nano / NANO, rest = quantity.nano % NANO;

    if (rest == 0)
        return (double)whole;
    if (quantity.nano < EXACT_MAX && quantity.nano > -EXACT_MAX)
        return (double)quantity.nano / (double)NANO;
    return (double)whole + (double)rest / (double)NANO;
}

static void read_meta(List *list, Item *item) {
    JsonReader *json = &list->reader.json;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("name")))
            json_string(json, list->reader.arena, &item->name);
        else if (json_key_is(json, key, STR("namespace")))
            json_string(json, list->reader.arena, &item->namespace);
        else
            json_skip(json, NULL);
    }
}

/* A quantity may be written as a number too. */
static void read_amount(List *list, Item *item) {
    JsonReader *json = &list->reader.json;
    Str text = STR_NULL;
    Quantity amount;

    if (json_peek(json) == JSON_NUMBER)
        json_number(json, &text);
    else
        json_string(json, list->reader.arena, &text);
    if (json_error(json) != JSON_OK)
        return;
    if (!quantity_parse(text, &amount)) {
        json_fail(json, JSON_E_TYPE, "expected a quantity");
        return;
    }
    item->amount = quantity_add(item->amount, amount);
    item->n_amounts++;
}

static void read_usage(List *list, Item *item) {
    JsonReader *json = &list->reader.json;
    bool has_amount = false;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, list->resource) && !has_amount) {
            has_amount = true;
            read_amount(list, item);
        } else {
            json_skip(json, NULL);
        }
    }
}

static void read_containers(List *list, Item *item) {
    JsonReader *json = &list->reader.json;
    Str key;

    json_array(json);
    while (json_element(json)) {
        item->n_containers++;
        json_object(json);
        while (json_key(json, &key)) {
            if (json_key_is(json, key, STR("usage")))
                read_usage(list, item);
            else
                json_skip(json, NULL);
        }
    }
}

static void add_item(List *list, const Item *item) {
    VectorReader *reader = &list->reader;
    SeriesLabel *labels = vector_reader_labels(reader);
    Series series = {
        .labels = labels,
        .value = quantity_double(item->amount),
        .at_msec = item->at_sec > 0 ? item->at_sec * 1000 : 0,
    };

    if (!labels)
        return;
    if (list->is_of_pods)
        labels[series.n_labels++] = (SeriesLabel){STR("namespace"), item->namespace};
    labels[series.n_labels++] =
        (SeriesLabel){list->is_of_pods ? STR("pod") : STR("node"), item->name};
    vector_reader_take_labels(reader, series.n_labels);
    vector_reader_add(reader, &series);
}

/* A pod of which some container's amount is missing has no number: a part of it would be a wrong
 * one. */
static void read_item(List *list) {
    JsonReader *json = &list->reader.json;
    Item item = {0};
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("metadata")))
            read_meta(list, &item);
        else if (json_key_is(json, key, STR("timestamp")))
            time_decode(json, list->reader.arena, &item.at_sec);
        else if (!list->is_of_pods && json_key_is(json, key, STR("usage")))
            read_usage(list, &item);
        else if (list->is_of_pods && json_key_is(json, key, STR("containers")))
            read_containers(list, &item);
        else
            json_skip(json, NULL);
    }
    if (json_error(json) != JSON_OK)
        return;
    if (item.n_amounts == (list->is_of_pods ? item.n_containers : 1) && item.n_amounts > 0)
        add_item(list, &item);
    else
        list->reader.vector->n_histograms++;
}

static void read_list(List *list) {
    JsonReader *json = &list->reader.json;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("items")) && !list->has_items) {
            list->has_items = true;
            json_array(json);
            while (json_element(json))
                read_item(list);
        } else if (json_key_is(json, key, STR("kind"))) {
            json_string(json, list->reader.arena, &list->kind);
        } else if (json_key_is(json, key, STR("message"))) {
            json_string(json, list->reader.arena, &list->message);
        } else {
            json_skip(json, NULL);
        }
    }
    json_end(json);
}

static int complain_of_kind(const List *list, Message *message) {
    if (str_eq(list->kind, STR("Status"))) {
        message_add(message, "the server answered: ");
        message_show(message, list->message, SERVER_TEXT_MAX);
    } else if (str_is_empty(list->kind)) {
        message_add(message, "JSON, but no list of metrics.k8s.io");
    } else {
        message_quote(message, "an object of kind ", list->kind, "");
        message_add(message, ", not a %s", list->is_of_pods ? "PodMetricsList" : "NodeMetricsList");
    }
    return -EPROTO;
}

int vector_read_resources(
    Str body, Str resource, bool is_of_pods, Arena *arena, Vector *ret, char *error) {
    Message message = message_begin(error, VECTOR_ERROR_MAX);
    List list = {.resource = resource, .is_of_pods = is_of_pods};
    int r;

    *ret = (Vector){0};
    r = vector_reader_begin(&list.reader, body, arena, ret, &message);
    if (r < 0)
        return r;
    read_list(&list);
    if (json_error(&list.reader.json) != JSON_OK)
        return vector_reader_complain(&list.reader, &message);
    if (!list.has_items ||
        !str_eq(list.kind, is_of_pods ? STR("PodMetricsList") : STR("NodeMetricsList")))
        return complain_of_kind(&list, &message);
    return 0;
}
