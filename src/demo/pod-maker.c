/* Pods as copies of templates, and their JSON. */

#include "demo/pod-maker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "json/read.h"

#define POD_MAX ((size_t)64 * 1024)

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_metadata(const DemoPod *pod, Buf *out) {
    const Workload *workload = pod->workload;
    char created[JSON_TIME_MAX];

    json_put(out,
        "'metadata':{'name':'%s','namespace':'%s','uid':'%s','creationTimestamp':'%s',"
        "'labels':{'app.kubernetes.io/name':'%s',",
        pod->name, workload->namespace, pod->uid, json_time(pod->model.created_at, created),
        workload->name);
    json_put_pairs(out, workload->labels, WORKLOAD_PAIRS_MAX);
    if (workload->has_person)
        json_put(out, ",'owner':'user-%u'", pod->person + 1);
    buf_append_char(out, '}');
    if (workload->annotations[0].key) {
        json_put(out, ",'annotations':{");
        json_put_pairs(out, workload->annotations, WORKLOAD_PAIRS_MAX);
        buf_append_char(out, '}');
    }
    json_put(out,
        ",'ownerReferences':[{'apiVersion':'%s','kind':'%s','name':'%s','uid':'%s',"
        "'controller':true}]}",
        workload->owner_kind[0] == 'J' ? "batch/v1" : "apps/v1", workload->owner_kind,
        workload->name, workload->name);
}

static void put_spec(const Workload *workload, Str node, Buf *out) {
    json_put(out,
        "'spec':{'containers':[{'name':'%s','image':'%s','resources':{'requests':"
        "{'cpu':'%s','memory':'%s'",
        workload->name, workload->image ? workload->image : "registry.example.com/demo:1",
        workload->cpu, workload->memory);
    if (workload->gpus > 0)
        json_put(out, ",'" DEMO_GPU "':'%d'", workload->gpus);
    json_put(out, "}}}],");
    if (!str_is_empty(node))
        json_put(out, "'nodeName':'%.*s',", STR_FMT(node));
    json_put(out, "'schedulerName':'default-scheduler',");
    if (workload->tolerates_gpu_taint)
        json_put(out,
            "'tolerations':[{'key':'" DEMO_GPU "','operator':'Exists','effect':'NoSchedule'}],");
    json_put(out, "'priority':0}");
}

void demo_pod_write(const DemoPod *pod, Str node, bool is_typed, Buf *out) {
    char placed[JSON_TIME_MAX];

    json_put(out, "{%s", is_typed ? "'apiVersion':'v1','kind':'Pod'," : "");
    put_metadata(pod, out);
    buf_append_char(out, ',');
    put_spec(pod->workload, node, out);
    if (str_is_empty(node))
        json_put(out, ",'status':{'phase':'Pending'}}");
    else
        json_put(out,
            ",'status':{'phase':'Running','conditions':[{'type':'PodScheduled','status':'True',"
            "'lastTransitionTime':'%s'}]}}",
            json_time(pod->model.scheduled_at, placed));
}

/* --- templates -------------------------------------------------------------------------------- */

static int make_template(PodMaker *maker, size_t number, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POD_MAX);
    DemoPod pod = {
        .workload = &workloads[number / WORKLOAD_PEOPLE],
        .person = (unsigned)(number % WORKLOAD_PEOPLE),
    };
    JsonReader reader;
    Str json;

    demo_pod_write(&pod, /* node= */ STR_NULL, /* is_typed= */ false, &text);
    json = arena_copy(arena, buf_str(&text));
    if (buf_error(&text) < 0 || !json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, json);
    pod_request_decode(&reader, arena, &maker->templates[number]);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM;
}

int pod_maker_init(PodMaker *maker, Arena *arena) {
    size_t n = n_workloads * WORKLOAD_PEOPLE;
    int r = 0;

    *maker = (PodMaker){.templates = ARENA_ARRAY(arena, PodRequest, n)};
    if (!maker->templates)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = make_template(maker, i, arena);
    return r;
}

const PodRequest *pod_maker_template(
    const PodMaker *maker, const Workload *workload, unsigned person) {
    return &maker->templates[(size_t)(workload - workloads) * WORKLOAD_PEOPLE + person];
}

/* --- new pods --------------------------------------------------------------------------------- */

static void fill_queue(PodMaker *maker, Rng *rng) {
    for (size_t i = 0; i < n_workloads; i++)
        for (unsigned j = 0; j < workloads[i].share && maker->n_queue < WORKLOAD_SHARES; j++)
            maker->queue[maker->n_queue++] = &workloads[i];
    for (size_t i = maker->n_queue; i > 1; i--) {
        size_t other = rng_pick(rng, i);
        const Workload *card = maker->queue[other];

        maker->queue[other] = maker->queue[i - 1];
        maker->queue[i - 1] = card;
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
    ret->template = pod_maker_template(maker, workload, ret->person);
    ret->model = ret->template->pod;
    ret->model.created_at = now_sec;
    (void)snprintf(ret->name, sizeof(ret->name), "%s-%s", workload->name, suffix);
    (void)snprintf(ret->full_name, sizeof(ret->full_name), "%s/%s", workload->namespace, ret->name);
    (void)snprintf(ret->uid, sizeof(ret->uid),
        "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-a%03" PRIx64 "-%012" PRIx64, high >> 32,
        high >> 16 & 0xffff, high & 0xfff, low >> 48 & 0xfff, low & UINT64_C(0xffffffffffff));
    ret->model.name = str_from_c(ret->name);
    ret->model.uid = str_from_c(ret->uid);
}
