/* How two snapshots differ, field by field, for users. */

#include "cluster/difference.h"

#include <assert.h>

#include "base/num.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cluster/inventory.h"
#include "cluster/object-fields.h"
#include "model/time.h"

/* The value of a field on one side. */
typedef struct FieldValue {
    enum {
        VALUE_ABSENT,
        VALUE_TEXT,
        VALUE_AMOUNT, /* of the resource in text */
        VALUE_NUMBER,
        VALUE_TIME,
        VALUE_BOOL,
        VALUE_LIST,
    } kind;
    Str text;
    int64_t number;
    const ObjectType *type; /* of elements */
    const void *items;
    size_t n;
} FieldValue;

#define ABSENT ((FieldValue){.kind = VALUE_ABSENT})
#define TEXT(str) ((FieldValue){.kind = VALUE_TEXT, .text = (str)})
#define FIELD(str) (str_is_empty(str) ? ABSENT : TEXT(str)) /* empty and absent are alike */
#define AMOUNT(name, amount)                                                                       \
    ((FieldValue){.kind = VALUE_AMOUNT, .text = (name), .number = (int64_t)(amount)})
#define NUMBER(value) ((FieldValue){.kind = VALUE_NUMBER, .number = (int64_t)(value)})
#define TIME(sec) ((sec) == 0 ? ABSENT : (FieldValue){.kind = VALUE_TIME, .number = (sec)})
#define BOOL(value) ((FieldValue){.kind = VALUE_BOOL, .number = (value)})
#define LIST(its_type, its_items, count)                                                           \
    ((FieldValue){.kind = VALUE_LIST, .type = &(its_type), .items = (its_items), .n = (count)})

/* The printed lines, and the object that they are about. */
typedef struct DiffReport {
    Buf *out;
    size_t max_lines;
    Difference *counts;
    const char *kind; /* "node", "pod" */
    Str namespace, name;
} DiffReport;

/* Begins a line and returns its buffer; NULL: the line is only counted. */
static Buf *begin_line(DiffReport *report) {
    if (report->counts->n_lines++ >= report->max_lines)
        return NULL;
    buf_printf(report->out, "%s ", report->kind);
    if (!str_is_empty(report->namespace)) {
        (void)visible_append(report->out, report->namespace);
        buf_append_char(report->out, '/');
    }
    (void)visible_append(report->out, report->name);
    buf_append(report->out, STR(": "));
    return report->out;
}

/* Cuts to the shown length, but not inside a character. */
static void print_cut(Buf *out, Str text) {
    Str shown = utf8_take(text, DIFFERENCE_VALUE_MAX);

    (void)visible_append(out, shown);
    if (shown.len < text.len)
        buf_append(out, STR("…"));
}

static void print_taint(Buf *out, const Taint *taint) {
    print_cut(out, taint->key);
    buf_append(out, str_is_empty(taint->value) ? STR_NULL : STR("="));
    print_cut(out, taint->value);
    buf_append(out, taint->effect == TAINT_ANY ? STR_NULL : STR(":"));
    buf_append(out, taint->effect == TAINT_UNKNOWN ? STR("?") : taint_effect_word(taint->effect));
}

static void print_address(Buf *out, const Address *address) {
    buf_append(out, address_type_name(address->type));
    buf_append_char(out, '=');
    print_cut(out, address->text);
}

/* Prints a list; only the number of images. */
static void print_list(Buf *out, const FieldValue *list) {
    if (list->type == &image_type) {
        buf_printf(out, "a list of %zu", list->n);
        return;
    }
    buf_append_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        buf_append(out, i > 0 ? STR(" ") : STR_NULL);
        if (list->type == &taint_type)
            print_taint(out, (const Taint *)list->items + i);
        else
            print_address(out, (const Address *)list->items + i);
    }
    buf_append_char(out, ']');
}

static void print_value(Buf *out, FieldValue value) {
    switch (value.kind) {
    case VALUE_ABSENT:
        buf_append(out, STR("absent"));
        break;
    case VALUE_TEXT:
        buf_append_char(out, '"');
        print_cut(out, value.text);
        buf_append_char(out, '"');
        break;
    case VALUE_AMOUNT:
        resource_amount_print_exact(value.text, value.number, out);
        break;
    case VALUE_NUMBER:
        buf_append_int(out, value.number);
        break;
    case VALUE_TIME:
        time_print(value.number, out);
        break;
    case VALUE_BOOL:
        buf_append(out, value.number ? STR("true") : STR("false"));
        break;
    case VALUE_LIST:
        print_list(out, &value);
        break;
    }
}

static bool value_equal(FieldValue a, FieldValue b) {
    if (a.kind != b.kind)
        return false;
    if (a.kind == VALUE_TEXT)
        return str_eq(a.text, b.text);
    if (a.kind == VALUE_LIST)
        return object_items_equal(a.type, a.items, a.n, b.items, b.n);
    return a.number == b.number;
}

/* A line when the two are not the same: "label zone is "a" here, "b" there". */
static void check(
    DiffReport *report, const char *what, Str key, FieldValue here, FieldValue there) {
    Buf *out = value_equal(here, there) ? NULL : begin_line(report);

    if (!out)
        return;
    buf_append(out, str_from_c(what));
    if (!str_is_empty(key)) {
        buf_append_char(out, ' ');
        print_cut(out, key);
    }
    buf_append(out, here.kind == VALUE_LIST ? STR(" are ") : STR(" is "));
    print_value(out, here);
    buf_append(out, STR(" here, "));
    print_value(out, there);
    buf_append(out, STR(" there\n"));
}

/* Both are sorted by key. */
static void check_labels(
    DiffReport *report, const char *what, const Labels *here, const Labels *there) {
    size_t i = 0, j = 0;

    while (i < here->n || j < there->n) {
        const Label *a = i < here->n ? &here->items[i] : NULL;
        const Label *b = j < there->n ? &there->items[j] : NULL;
        int order = !a ? 1 : !b ? -1 : str_cmp(a->key, b->key);

        assert(a || b);
        check(report, what, order <= 0 ? a->key : b->key, order <= 0 ? TEXT(a->value) : ABSENT,
            order >= 0 ? TEXT(b->value) : ABSENT);
        i += order <= 0;
        j += order >= 0;
    }
}

static FieldValue amount_of(const Resources *resources, Str name) {
    const Resource *found = resources_find(resources, name);

    return found ? AMOUNT(name, found->amount) : ABSENT;
}

static void check_resources(
    DiffReport *report, const char *what, const Resources *here, const Resources *there) {
    for (size_t i = 0; i < here->n; i++)
        check(report, what, here->items[i].name, AMOUNT(here->items[i].name, here->items[i].amount),
            amount_of(there, here->items[i].name));
    for (size_t i = 0; i < there->n; i++)
        if (!resources_find(here, there->items[i].name))
            check(report, what, there->items[i].name, ABSENT,
                AMOUNT(there->items[i].name, there->items[i].amount));
}

static FieldValue status_of(const Node *node, Str type) {
    for (size_t i = 0; i < node->n_conditions; i++)
        if (str_eq(node->conditions[i].type, type))
            return TEXT(node->conditions[i].status);
    return ABSENT;
}

static void check_conditions(DiffReport *report, const Node *here, const Node *there) {
    for (size_t i = 0; i < here->n_conditions; i++) {
        Str type = here->conditions[i].type;

        check(report, "condition", type, TEXT(here->conditions[i].status), status_of(there, type));
    }
    for (size_t i = 0; i < there->n_conditions; i++) {
        Str type = there->conditions[i].type;

        if (status_of(here, type).kind == VALUE_ABSENT)
            check(report, "condition", type, ABSENT, TEXT(there->conditions[i].status));
    }
}

/* Compare one field, or one list, of both sides. */
#define CHECK(what, KIND, member)                                                                  \
    check(report, (what), STR_NULL, KIND(here->member), KIND(there->member))
#define CHECK_LIST(what, type, items, n)                                                           \
    check(report, (what), STR_NULL, LIST(type, here->items, here->n),                              \
        LIST(type, there->items, there->n))

static void check_node(DiffReport *report, const Node *here, const Node *there) {
    size_t before = report->counts->n_lines;

    CHECK("uid", FIELD, uid);
    CHECK("creation", TIME, created_at);
    check_labels(report, "label", &here->labels, &there->labels);
    check_labels(report, "annotation", &here->annotations, &there->annotations);
    CHECK_LIST("taints", taint_type, taints.items, taints.n);
    CHECK("unschedulable", BOOL, is_unschedulable);
    CHECK("ready", BOOL, is_ready);
    check_conditions(report, here, there);
    check_resources(report, "allocatable", &here->allocatable, &there->allocatable);
    CHECK_LIST("images", image_type, images, n_images);
    CHECK_LIST("addresses", address_type, addresses, n_addresses);
    report->counts->n_nodes_differ += report->counts->n_lines > before;
}

/* Pods may request a resource for which the table has no column: different columns are not a
 * difference of clusters. */
static int64_t requested(const NodeTable *table, uint32_t row, Str resource) {
    size_t column = table_find_resource(table, resource);
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];
    int64_t sum = 0;

    if (column != SIZE_MAX)
        return table_amount(table, row, column, AMOUNT_REQUESTED);
    for (uint32_t i = 0; pods && i < pods->n; i++)
        sum = num_add_sat(sum, resources_get(&pods->items[i]->requests, resource));
    return sum;
}

/* Compares the stored sums, not recomputed ones: a wrong sum must show. */
static void check_sums(DiffReport *report, const NodeTable *here, uint32_t here_row,
    const NodeTable *there, uint32_t there_row) {
    size_t before = report->counts->n_lines;

    check(report, "number of pods", STR_NULL,
        NUMBER(table_chunk(here, here_row)->n_pods[table_slot(here_row)]),
        NUMBER(table_chunk(there, there_row)->n_pods[table_slot(there_row)]));
    for (size_t i = 0; i < here->n_resources; i++) {
        Str name = here->resources[i];

        check(report, "requested", name,
            AMOUNT(name, table_amount(here, here_row, i, AMOUNT_REQUESTED)),
            AMOUNT(name, requested(there, there_row, name)));
    }
    for (size_t i = 0; i < there->n_resources; i++) {
        Str name = there->resources[i];

        if (table_find_resource(here, name) == SIZE_MAX)
            check(report, "requested", name, AMOUNT(name, requested(here, here_row, name)),
                AMOUNT(name, table_amount(there, there_row, i, AMOUNT_REQUESTED)));
    }
    report->counts->n_sums_differ += report->counts->n_lines > before;
}

/* Prints that the object is only @where, and counts it in *@n. @pod is NULL for nodes. */
static void print_only(DiffReport *report, const char *where, const InventoryPod *pod, size_t *n) {
    Buf *out = begin_line(report);

    (*n)++;
    if (!out)
        return;
    buf_printf(out, "only %s", where);
    if (pod) {
        bool is_placed = !str_is_empty(pod->node);

        buf_append(out, is_placed ? STR(", on ") : STR(", nominated for "));
        (void)visible_append(out, is_placed ? pod->node : pod->pod->nominated_node_name);
    }
    buf_append_char(out, '\n');
}

typedef struct DiffSide {
    const NodeTable *table;
    Inventory inventory;
    size_t at; /* the next node, or pod, to compare */
} DiffSide;

static const Node *next_node(const DiffSide *side) {
    return side->at < side->inventory.n_rows
               ? table_node(side->table, side->inventory.rows[side->at])
               : NULL;
}

static void compare_nodes(DiffReport *report, DiffSide *here, DiffSide *there) {
    report->kind = "node";
    here->at = there->at = 0;
    for (;;) {
        const Node *a = next_node(here), *b = next_node(there);
        int order = !a ? 1 : !b ? -1 : str_cmp(a->name, b->name);

        if (!a && !b)
            return;
        report->name = order <= 0 ? a->name : b->name;
        if (order < 0) {
            print_only(report, "here", NULL, &report->counts->n_nodes_only_here);
        } else if (order > 0) {
            print_only(report, "there", NULL, &report->counts->n_nodes_only_there);
        } else {
            check_node(report, a, b);
            check_sums(report, here->table, here->inventory.rows[here->at], there->table,
                there->inventory.rows[there->at]);
        }
        here->at += order <= 0;
        there->at += order >= 0;
    }
}

static void check_pod(DiffReport *report, const Pod *here, const Pod *there) {
    size_t before = report->counts->n_lines;

    CHECK("uid", FIELD, uid);
    CHECK("creation", TIME, created_at);
    CHECK("start", TIME, started_at);
    CHECK("binding", TIME, scheduled_at);
    check_labels(report, "label", &here->labels, &there->labels);
    CHECK("owner's kind", FIELD, owner_kind);
    CHECK("owner's name", FIELD, owner_name);
    CHECK("owner's uid", FIELD, owner_uid);
    CHECK("nominated node", FIELD, nominated_node_name);
    CHECK("scheduler", FIELD, scheduler_name);
    CHECK("priority", NUMBER, priority);
    CHECK("terminating", BOOL, is_terminating);
    check_resources(report, "request", &here->requests, &there->requests);
    report->counts->n_pods_differ += report->counts->n_lines > before;
}

static const InventoryPod *next_pod(const DiffSide *side) {
    return side->at < side->inventory.n_pods ? &side->inventory.pods[side->at] : NULL;
}

/* Ignores the UID: a recreated pod is one line with another UID, not two lines. */
static void compare_pods(DiffReport *report, DiffSide *here, DiffSide *there) {
    report->kind = "pod";
    here->at = there->at = 0;
    for (;;) {
        const InventoryPod *a = next_pod(here), *b = next_pod(there);
        int order = !a ? 1 : !b ? -1 : pod_compare_names(a->pod, b->pod);

        if (!a && !b)
            return;
        report->namespace = order <= 0 ? a->pod->namespace : b->pod->namespace;
        report->name = order <= 0 ? a->pod->name : b->pod->name;
        if (order < 0) {
            print_only(report, "here", a, &report->counts->n_pods_only_here);
        } else if (order > 0) {
            print_only(report, "there", b, &report->counts->n_pods_only_there);
        } else {
            size_t before = report->counts->n_lines;

            check(report, "node", STR_NULL, FIELD(a->node), FIELD(b->node));
            report->counts->n_pods_moved += report->counts->n_lines > before;
            check_pod(report, a->pod, b->pod);
        }
        here->at += order <= 0;
        there->at += order >= 0;
    }
}

int difference_find(
    const Snapshot *here, const Snapshot *there, size_t max_lines, Buf *out, Difference *ret) {
    DiffSide ours = {.table = snapshot_table(here)}, theirs = {.table = snapshot_table(there)};
    DiffReport report = {.out = out, .max_lines = max_lines, .counts = ret};
    int r;

    *ret = (Difference){0};
    r = inventory_init(&ours.inventory, ours.table);
    if (r == 0)
        r = inventory_init(&theirs.inventory, theirs.table);
    if (r == 0) {
        compare_nodes(&report, &ours, &theirs);
        compare_pods(&report, &ours, &theirs);
        r = buf_error(out);
    }
    inventory_done(&ours.inventory);
    inventory_done(&theirs.inventory);
    return r;
}
