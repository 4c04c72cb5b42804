/*
 * The lists of metrics.k8s.io, which `kubectl top` shows, and of custom.metrics.k8s.io. Amounts
 * stay in billionths until the last container is added: rounding up to thousandths, as for
 * requests, would make an idle pod busy.
 */

#include <errno.h>

#include "base/quantity.h"
#include "load/vector-internal.h"
#include "model/time.h"
#include "json/fields.h"

#define NANO INT64_C(1000000000)
#define EXACT_MAX ((__int128)1 << 53)

typedef struct List {
    VectorReader reader;
    Str resource;
    bool is_of_pods;
    bool is_custom;
    bool has_items;
    Str kind, message; /* of a Status, which the server sends instead of a list after an error */
} List;

typedef struct Item {
    List *list;
    Str namespace, name;
    int64_t at_sec;
    Quantity amount;
    size_t n_amounts, n_containers;
} Item;

/* Rounds whole numbers and small amounts at most once. */
static double quantity_double(Quantity quantity) {
    __int128 whole = quantity.nano / NANO, rest = quantity.nano % NANO;

    if (rest == 0)
        return (double)whole;
    if (quantity.nano < EXACT_MAX && quantity.nano > -EXACT_MAX)
        return (double)quantity.nano / (double)NANO;
    return (double)whole + (double)rest / (double)NANO;
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

static void read_usage(JsonReader *json, Arena *arena, void *target) {
    Item *item = target;
    bool has_amount = false;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, item->list->resource) && !has_amount) {
            has_amount = true;
            read_amount(item->list, item);
        } else {
            json_skip(json, NULL);
        }
    }
}

static void read_container(JsonReader *json, Arena *arena, void *target) {
    static const JsonField fields[] = {{"usage", JSON_FIELD_CUSTOM, .read = read_usage}};
    Item *item = target;

    item->n_containers++;
    JSON_READ_FIELDS(json, arena, fields, item);
}

static void read_time(JsonReader *json, Arena *arena, void *target) {
    Item *item = target;

    time_decode(json, arena, &item->at_sec);
}

/* Nodes have all fields but the last, pods all but the first. */
static const JsonField item_fields[] = {
    {"usage", JSON_FIELD_CUSTOM, .read = read_usage},
    JSON_MEMBER("metadata.name", TEXT, Item, name),
    JSON_MEMBER("metadata.namespace", TEXT, Item, namespace),
    {"timestamp", JSON_FIELD_CUSTOM, .read = read_time},
    {"containers", JSON_FIELD_ARRAY, .read = read_container},
};

static void read_value(JsonReader *json, Arena *arena, void *target) {
    Item *item = target;

    read_amount(item->list, item);
}

/* A value of a node. */
static const JsonField custom_fields[] = {
    JSON_MEMBER("describedObject.name", TEXT, Item, name),
    {"timestamp", JSON_FIELD_CUSTOM, .read = read_time},
    {"value", JSON_FIELD_CUSTOM, .read = read_value},
};

static void add_item(List *list, const Item *item) {
    SeriesLabel labels[2];
    Series series = {
        .labels = labels,
        .value = quantity_double(item->amount),
        .at_msec = item->at_sec > 0 ? item->at_sec * 1000 : 0,
    };

    if (list->is_of_pods)
        labels[series.n_labels++] = (SeriesLabel){STR("namespace"), item->namespace};
    labels[series.n_labels++] =
        (SeriesLabel){list->is_of_pods ? STR("pod") : STR("node"), item->name};
    vector_reader_add(&list->reader, &series);
}

/* If one container has no amount, the pod has no number: the sum of the others would be wrong. */
static void read_item(JsonReader *json, Arena *arena, void *target) {
    List *list = target;
    Item item = {.list = list};

    if (list->is_custom)
        JSON_READ_FIELDS(json, arena, custom_fields, &item);
    else
        json_read_fields(
            json, arena, item_fields + list->is_of_pods, ELEMENTS_OF(item_fields) - 1, &item);
    if (json_error(json) != JSON_OK)
        return;
    if (item.n_amounts == (list->is_of_pods ? item.n_containers : 1) && item.n_amounts > 0)
        add_item(list, &item);
    else
        list->reader.vector->n_histograms++;
}

static void read_items(JsonReader *json, Arena *arena, void *target) {
    List *list = target;

    if (list->has_items) {
        json_skip(json, NULL);
        return;
    }
    list->has_items = true;
    json_read_array(json, arena, read_item, list);
}

static const JsonField metrics_fields[] = {
    {"items", JSON_FIELD_CUSTOM, .read = read_items},
    JSON_MEMBER("kind", TEXT, List, kind),
    JSON_MEMBER("message", TEXT, List, message),
};

static Str kind_of(const List *list) {
    return list->is_custom    ? STR("MetricValueList")
           : list->is_of_pods ? STR("PodMetricsList")
                              : STR("NodeMetricsList");
}

static int complain_of_kind(const List *list, Message *message) {
    if (str_eq(list->kind, STR("Status"))) {
        message_add(message, "the server answered: ");
        message_show(message, list->message, VECTOR_SERVER_TEXT_MAX);
    } else if (str_is_empty(list->kind)) {
        message_add(
            message, "JSON, but no list of %smetrics.k8s.io", list->is_custom ? "custom." : "");
    } else {
        message_quote(message, "an object of kind ", list->kind, "");
        message_add(message, ", not a %.*s", STR_FMT(kind_of(list)));
    }
    return -EPROTO;
}

static int read_list(Str body, List *list, Arena *arena, Vector *ret, char *error) {
    Message message = message_begin(error, VECTOR_ERROR_MAX);
    int r;

    *ret = (Vector){0};
    r = vector_reader_begin(&list->reader, body, arena, ret, &message);
    if (r < 0)
        return r;
    JSON_READ_FIELDS(&list->reader.json, arena, metrics_fields, list);
    json_end(&list->reader.json);
    if (json_error(&list->reader.json) != JSON_OK)
        return vector_reader_complain(&list->reader, &message);
    if (!list->has_items || !str_eq(list->kind, kind_of(list)))
        return complain_of_kind(list, &message);
    return 0;
}

int vector_read_resources(
    Str body, Str resource, bool is_of_pods, Arena *arena, Vector *ret, char *error) {
    List list = {.resource = resource, .is_of_pods = is_of_pods};

    return read_list(body, &list, arena, ret, error);
}

int vector_read_custom(Str body, Arena *arena, Vector *ret, char *error) {
    List list = {.is_custom = true};

    return read_list(body, &list, arena, ret, error);
}
