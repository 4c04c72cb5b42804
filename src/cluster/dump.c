/* Writes a snapshot as a List that --cluster reads. */

#include "cluster/dump.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster/inventory.h"
#include "json/write.h"

typedef struct Dump {
    Buf text; /* not yet given to the sink */
    DumpSink sink;
    const ObjectMask *mask; /* NULL: none */
    size_t n_objects;
} Dump;

static int flush(Dump *dump) {
    int r = buf_error(&dump->text);

    if (r == 0)
        r = dump->sink.write(dump->sink.context, buf_str(&dump->text));
    buf_reset(&dump->text);
    return r;
}

/* Passes the buffered objects on once they are DUMP_CHUNK bytes. */
static int end_object(Dump *dump) {
    dump->n_objects++;
    if (dump->text.len >= DUMP_CHUNK || buf_error(&dump->text))
        return flush(dump);
    return 0;
}

static JsonWriter begin_object(Dump *dump) {
    buf_append(&dump->text, dump->n_objects > 0 ? STR(",\n") : STR("\n"));
    return JSON_WRITER(&dump->text);
}

static int write_node(Dump *dump, const Node *node) {
    JsonWriter writer = begin_object(dump);

    if (dump->mask)
        node = dump->mask->node(dump->mask->context, node);
    if (!node)
        return -ENOMEM;
    object_write_node(&writer, node);
    return end_object(dump);
}

static int write_pod(Dump *dump, const InventoryPod *item) {
    JsonWriter writer = begin_object(dump);
    const Pod *pod = item->pod;
    Str node = item->node;

    if (dump->mask) {
        pod = dump->mask->pod(dump->mask->context, pod);
        node = dump->mask->name(dump->mask->context, node);
    }
    if (!pod || (dump->mask && !node.ptr && item->node.len > 0))
        return -ENOMEM;
    object_write_pod(&writer, pod, node);
    return end_object(dump);
}

/* Writes the kept texts. Not called with a mask: then each pod is written with masked copies. */
static int write_related(Dump *dump, const RelatedSet *set) {
    const RelatedObject **list = related_set_list(set);
    int r = list ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < related_set_size(set); i++) {
        JsonWriter writer = begin_object(dump);

        json_write_raw(&writer, list[i]->text);
        r = end_object(dump);
    }
    free(list);
    return r;
}

static int write_all(Dump *dump, const Snapshot *snapshot, const Inventory *inventory) {
    const NodeTable *table = snapshot_table(snapshot);
    const RelatedObjects *related = snapshot_related(snapshot);
    int r = 0;

    buf_append(&dump->text, STR("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["));
    for (size_t i = 0; r == 0 && i < inventory->n_rows; i++)
        r = write_node(dump, table_node(table, inventory->rows[i]));
    for (size_t i = 0; r == 0 && i < inventory->n_pods; i++)
        r = write_pod(dump, &inventory->pods[i]);
    for (size_t i = 0; r == 0 && !dump->mask && i < _RELATED_KINDS; i++)
        r = related->kinds[i] ? write_related(dump, related->kinds[i]) : 0;
    buf_append(&dump->text, STR("\n]}\n"));
    return r < 0 ? r : flush(dump);
}

int dump_write(const Snapshot *snapshot, const ObjectMask *mask, DumpSink sink) {
    _cleanup_(inventory_done) Inventory inventory = {0};
    Dump dump = {.text = BUF_INIT(DUMP_OBJECT_MAX), .sink = sink, .mask = mask};
    int r = inventory_init(&inventory, snapshot_table(snapshot));

    if (r == 0)
        r = write_all(&dump, snapshot, &inventory);
    buf_done(&dump.text);
    return r;
}
