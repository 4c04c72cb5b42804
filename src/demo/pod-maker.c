/* Reads workloads and their pod templates from YAML; makes pods from templates, and their JSON. */

#include "demo/pod-maker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "demo/demo-node.h"
#include "model/time.h"
#include "yaml/document.h"

#define POD_MAX ((size_t)64 * 1024)

static const char source[] =
#include "demo-workloads.inc"
    ;

void demo_pod_write(const DemoPod *demo_pod, bool is_typed, Buf *out) {
    const Pod *pod = &demo_pod->model;
    _cleanup_(buf_done) Buf created = BUF_INIT(64), user = BUF_INIT(64);
    BufValue values[] = {
        {STR("{name}"), pod->name},
        {STR("{uid}"), pod->uid},
        {STR("{created}")},
        {STR("{person}")},
    };

    time_print(pod->created_at, &created);
    values[2].text = buf_str(&created);
    buf_printf(&user, "user-%u", demo_pod->person + 1);
    values[3].text = buf_str(&user);
    buf_append(out, is_typed ? STR("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",") : STR("{"));
    buf_append_template(out, demo_pod->workload->json, values, ELEMENTS_OF(values));
    if (str_is_empty(pod->node_name)) {
        buf_append(out, STR("},\"status\":{\"phase\":\"Pending\"}}"));
        return;
    }
    buf_printf(out,
        ",\"nodeName\":\"%.*s\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
        "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"",
        STR_FMT(pod->node_name));
    time_print(pod->scheduled_at, out);
    buf_append(out, STR("\"}]}}"));
}

static int read_template(const Workload *workload, unsigned person, Arena *arena, PodRequest *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POD_MAX);
    const DemoPod pod = {.workload = workload, .person = person};
    JsonReader reader;
    Str json;

    demo_pod_write(&pod, /* is_typed= */ false, &text);
    json = arena_copy(arena, buf_str(&text));
    if (buf_error(&text) < 0 || !json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, json);
    pod_request_decode(&reader, arena, ret);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM; /* the text is valid */
}

static unsigned number_of(const YamlNode *workload, const char *key) {
    const YamlNode *value = yaml_find(workload, str_from_c(key));

    return value ? (unsigned)value->integer : 0;
}

static int read_workload(const YamlNode *node, Arena *arena, Workload *ret) {
    _cleanup_(buf_done) Buf json = BUF_INIT(POD_MAX);
    PodRequest *templates = ARENA_ARRAY(arena, PodRequest, WORKLOAD_PEOPLE);
    const Pod *pod = &templates->pod;
    int r = templates ? 0 : -ENOMEM;

    /* Drops the first brace and those that end the spec: demo_pod_write() adds fields there. */
    yaml_to_json(yaml_find(node, STR("pod")), &json);
    ret->json = arena_copy(arena, str_skip(str_take(buf_str(&json), json.len - strlen("}}")), 1));
    for (unsigned i = 0; r == 0 && i < WORKLOAD_PEOPLE; i++)
        r = read_template(ret, i, arena, &templates[i]);
    if (r < 0)
        return r;
    ret->templates = templates;
    ret->name = pod->owner_name;
    ret->namespace = pod->namespace;
    ret->owner_kind = pod->owner_kind;
    ret->gpus = resources_get(&pod->requests, STR(DEMO_GPU));
    ret->home = yaml_text(yaml_find(node, STR("home")));
    ret->home_max = number_of(node, "homeMax");
    ret->share = number_of(node, "share");
    ret->life_span = number_of(node, "lifeSpan");
    return 0;
}

int pod_maker_init(PodMaker *maker, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    DemoWorkloads *all = &maker->workloads;
    YamlStream stream;
    int r = yaml_parse(STR("workloads"), str_from_c(source), arena, &diags, &stream);

    for (size_t i = 0; r == 0 && i < stream.documents[0]->n && i < DEMO_WORKLOADS_MAX; i++) {
        all->items[i].number = all->n++;
        r = read_workload(stream.documents[0]->items[i], arena, &all->items[i]);
    }
    return r < 0 ? -ENOMEM : 0;
}

const Workload *demo_workloads_find(const DemoWorkloads *workloads, Str name) {
    for (size_t i = 0; i < workloads->n; i++)
        if (str_eq(workloads->items[i].name, name))
            return &workloads->items[i];
    return NULL;
}

static void fill_queue(PodMaker *maker, Rng *rng) {
    const DemoWorkloads *all = &maker->workloads;

    for (size_t i = 0; i < all->n; i++)
        for (unsigned j = 0; j < all->items[i].share && maker->n_queue < WORKLOAD_SHARES; j++)
            maker->queue[maker->n_queue++] = &all->items[i];
    for (size_t i = maker->n_queue; i > 1; i--) {
        size_t other = rng_pick(rng, i);
        const Workload *chosen = maker->queue[other];

        maker->queue[other] = maker->queue[i - 1];
        maker->queue[i - 1] = chosen;
    }
}

const Workload *pod_maker_next(PodMaker *maker, Rng *rng) {
    if (maker->n_queue == 0)
        fill_queue(maker, rng);
    return maker->queue[--maker->n_queue];
}

/* Five letters, unique for the first 14 million pods: multiplying by a number coprime to the range
 * is a permutation, and one near the golden ratio of the range spreads neighbours well. */
static void pod_suffix(uint64_t number, char suffix[6]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const uint64_t n = UINT64_C(27) * 27 * 27 * 27 * 27;
    uint64_t rest = (number * UINT64_C(8867945) + 1234567) % n;

    for (int i = 5; i-- > 0;) {
        suffix[i] = letters[rest % 27];
        rest /= 27;
    }
    suffix[5] = '\0';
}

void pod_maker_make(
    PodMaker *maker, const Workload *workload, int64_t now_sec, Rng *rng, DemoPod *ret) {
    uint64_t high = rng_next(rng), low = rng_next(rng);
    char suffix[6];

    ret->number = (uint32_t)maker->n_made;
    pod_suffix(maker->n_made++, suffix);
    ret->workload = workload;
    ret->person = (unsigned)(low % WORKLOAD_PEOPLE);
    ret->template = &workload->templates[ret->person];
    ret->model = ret->template->pod;
    ret->model.created_at = now_sec;
    (void)snprintf(ret->name, sizeof(ret->name), "%.*s-%s", STR_FMT(workload->name), suffix);
    (void)snprintf(
        ret->full_name, sizeof(ret->full_name), "%.*s/%s", STR_FMT(workload->namespace), ret->name);
    (void)snprintf(ret->uid, sizeof(ret->uid),
        "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-a%03" PRIx64 "-%012" PRIx64, high >> 32,
        high >> 16 & 0xffff, high & 0xfff, low >> 48 & 0xfff, low & UINT64_C(0xffffffffffff));
    ret->model.name = str_from_c(ret->name);
    ret->model.uid = str_from_c(ret->uid);
}
