/* Objects in the cluster that let new pods, and Karpenter, use what policies publish, the
 * definition of PlacementPolicies, and the webhook that checks them. */

#include "base/quantity.h"
#include "base/vec.h"
#include "collect/collect.h"

#define NANO 1000000000
#define OBJECTS_MAX 1024u /* of one kind */
#define TRIAL_SEC 35      /* a webhook has up to 30 */
#define SELECTOR "?labelSelector=app.kubernetes.io%2Fname%3Dberth&limit=1000"

#define DEFINITIONS                                                                                \
    "/apis/apiextensions.k8s.io/v1/"                                                               \
    "customresourcedefinitions?fieldSelector=metadata.name%3Dplacementpolicies.berth.dev"

typedef VEC(AdmissionFact) Objects;
typedef VEC(SlotFact) Slots;

/* A list while it is read. */
typedef struct List {
    Objects objects;
    Slots slots;
} List;

/* Reads the quantities of an overlay; one that is no whole number is -1, which no limit equals. */
static void read_capacity(JsonReader *reader, Arena *arena, void *target) {
    Slots *slots = *(Slots **)target;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        SlotFact *slot = slots->n < OBJECTS_MAX ? VEC_PUSH(slots, arena) : NULL;
        Str text = STR_NULL;
        Quantity quantity;

        key = arena_copy(arena, key);
        json_string(reader, arena, &text);
        if (!slot)
            continue;
        *slot = (SlotFact){.resource = key, .limit = -1};
        if (quantity_parse(text, &quantity) && quantity.nano % NANO == 0 &&
            quantity.nano / NANO <= INT64_MAX)
            slot->limit = (int64_t)(quantity.nano / NANO);
    }
}

static void read_item(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Item {
        AdmissionFact object;
        Slots *slots;
    } Item;
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, Item, object.name),
        JSON_MEMBER("metadata.annotations.berth.dev/digest", TEXT, Item, object.digest),
        JSON_CUSTOM("spec.capacity", Item, slots, read_capacity),
    };
    List *list = target;
    AdmissionFact *place = list->objects.n < OBJECTS_MAX ? VEC_PUSH(&list->objects, arena) : NULL;
    Item item = {.slots = &list->slots};

    JSON_READ_FIELDS(reader, arena, fields, &item);
    if (place)
        *place = item.object;
}

/* Lists objects. If the cluster does not have the API, it is known that there are none. */
static ObjectsFact list_objects(Collector *collector, const char *path, List *ret) {
    static const JsonField fields[] = {{"items", JSON_FIELD_ARRAY, .read = read_item}};
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    BlockingReply reply = {0};
    ObjectsFact fact = {0};

    *ret = (List){0};
    if (collect_get(collector, path, &reply, error)) {
        fact.has_kind = JSON_READ_DOCUMENT(reply.body, collector->arena, fields, ret);
        fact.items = ret->objects.items;
        fact.n = fact.has_kind ? ret->objects.n : 0;
    }
    fact.is_known = fact.has_kind || reply.status == 404;
    if (!fact.is_known)
        fact.error = error[0] ? arena_copy(collector->arena, str_from_c(error))
                              : STR("this is no list of objects");
    return fact;
}

/* Lists the objects of the first version that the cluster has. */
static ObjectsFact list_admission(Collector *collector, AdmissionSource source) {
#define REGISTRATION "/apis/admissionregistration.k8s.io/"
    static const char *const paths[_ADMISSION_SOURCES][2] = {
        [ADMISSION_POLICIES] = {REGISTRATION "v1/mutatingadmissionpolicies" SELECTOR,
            REGISTRATION "v1beta1/mutatingadmissionpolicies" SELECTOR},
        [ADMISSION_BINDINGS] = {REGISTRATION "v1/mutatingadmissionpolicybindings" SELECTOR,
            REGISTRATION "v1beta1/mutatingadmissionpolicybindings" SELECTOR},
        [ADMISSION_BY_KYVERNO] = {"/apis/policies.kyverno.io/v1/mutatingpolicies" SELECTOR},
    };
    List list;
    ObjectsFact fact = list_objects(collector, paths[source][0], &list);

    if (fact.is_known && !fact.has_kind && paths[source][1])
        fact = list_objects(collector, paths[source][1], &list);
    return fact;
}

/* A field that no node has. */
#define MISTAKE "berthCheck"

/* Lets the API server decide about a policy with a mistake: only this shows whether its webhook
 * works. A dry run stores nothing. */
static TrialFact try_policy(Collector *collector) {
    static const BlockingRequest request = {
        .method = "POST",
        .path = "/apis/berth.dev/v1alpha1/placementpolicies?dryRun=All",
        .body =
            STR("{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"PlacementPolicy\",\"metadata\":"
                "{\"name\":\"berth-check\"},\"spec\":{\"filters\":[{\"name\":\"mistake\","
                "\"expression\":\"node." MISTAKE "\"}]}}"),
        .total_sec = TRIAL_SEC,
    };
    char error[BLOCKING_CLIENT_ERROR_MAX] = COLLECT_LATE;
    BlockingReply reply = {0};
    TrialFact fact = {.result = TRIAL_UNKNOWN};

    if (!collect_is_late(collector) && collect_ask(collector, &request, &reply, error))
        blocking_client_explain(&reply, collector->arena, error);
    fact.text = arena_copy(collector->arena, str_from_c(error));
    if (reply.status == 200 || reply.status == 201)
        fact.result = TRIAL_STORED;
    else if (strstr(error, "denied the request") && strstr(error, MISTAKE))
        fact.result = TRIAL_DENIED;
    else if (strstr(error, "failed calling webhook"))
        fact.result = TRIAL_BLOCKED;
    return fact;
}

void collect_published(Collector *collector) {
    InstallationFacts *facts = collector->facts;
    size_t n_admission = 0, n_slots = 0;
    bool has_policies = false;
    List list;

    for (size_t i = 0; i < facts->n_berths; i++) {
        has_policies |= facts->berths[i].has_cluster_policies;
        n_admission += facts->berths[i].n_admission;
        n_slots += facts->berths[i].n_slots;
    }
    for (size_t i = 0; n_admission > 0 && i < _ADMISSION_SOURCES; i++)
        facts->admission[i] = list_admission(collector, i);
    if (has_policies) {
        facts->definition = list_objects(collector, DEFINITIONS, &list);
        facts->trial = try_policy(collector);
    }
    if (n_slots == 0)
        return;
    facts->overlays.objects =
        list_objects(collector, "/apis/karpenter.sh/v1alpha1/nodeoverlays?limit=1000", &list);
    facts->overlays.slots = list.slots.items;
    facts->overlays.n_slots = list.slots.n;
}
