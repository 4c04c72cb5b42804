/*
 * topologySpread: pods of a kind evenly over zones and the like.
 *
 *     topologySpread:
 *       topologyKey: topology.kubernetes.io/zone
 *       maxSkew: 1
 *       podSelector: {matchLabels: {app: web}}    # or sameOwner, matchLabelKeys
 *       minDomains: 3                             # with fewer, the emptiest counts as empty
 *
 * The node's domain, this pod included, may have at most maxSkew pods more than the one that has
 * fewest. A node without the label fails. Pods that do not count themselves are not held back.
 */

#include <inttypes.h>

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"
#include "policy/pod-choice.h"

#define SKEW_MAX 1000000

typedef struct Config {
    PodChoice choice; /* first: pod-choice.h */
    int64_t max_skew;
    int64_t min_domains; /* 0: not given */
} Config;

/* --- reading ------------------------------------------------------------------ */

static void read_max_skew(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "maxSkew", 1, SKEW_MAX, &((Config *)into)->max_skew);
}

static void read_min_domains(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "minDomains", 1, SKEW_MAX, &((Config *)into)->min_domains);
}

static const Shape count_shape = {.kind = SHAPE_INT, .min = 1, .max = SKEW_MAX};

static const Field fields[] = {
    {.name = STR("topologyKey"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the label whose values are the domains",
        .read = pod_choice_read_topology_key},
    {.name = STR("maxSkew"),
        .is_required = true,
        .shape = &count_shape,
        .about = "how many more pods than the emptiest a domain may have",
        .read = read_max_skew},
    {.name = STR("minDomains"),
        .shape = &count_shape,
        .about = "with fewer domains than this the emptiest counts as empty",
        .read = read_min_domains},
    POD_CHOICE_SELECTOR,
    POD_CHOICE_SAME_OWNER,
    POD_CHOICE_LABEL_KEYS,
    POD_CHOICE_OWN_NAMESPACE,
};

/* --- writing ------------------------------------------------------------------ */

static void write_domains(Buf *out, const Config *config) {
    buf_append(out, STR("cluster.domains("));
    cel_text_string(out, config->choice.topology_key);
    buf_append_char(out, ')');
}

/* The pods of the emptiest domain: the same for all nodes. */
static void write_least(Buf *out, const Config *config) {
    if (config->min_domains > 0) {
        buf_append_char(out, '(');
        write_domains(out, config);
        buf_printf(out, ".size() < %" PRId64 " ? 0 : ", config->min_domains);
    }
    write_domains(out, config);
    buf_append(out, STR(".map(d, d.pods"));
    pod_choice_write_filter(out, &config->choice);
    buf_append(out, STR(".size()).min()"));
    if (config->min_domains > 0)
        buf_append_char(out, ')');
}

/* Where no node has the label there are no domains, and no least: but then the first condition is
 * false everywhere, and the error of the second does not count. */
static void write_expression(Buf *out, const Config *config) {
    pod_choice_write_unless(out, &config->choice, /* counts= */ true);
    pod_choice_write_has_key(out, &config->choice);
    buf_append(out, STR(" && "));
    pod_choice_write_count(out, &config->choice);
    buf_append(out, STR(" < "));
    write_least(out, config);
    buf_printf(out, " + %" PRId64, config->max_skew);
}

static void write_message(Buf *out, const Config *config) {
    pod_choice_write_unless_absent(out, &config->choice);
    buf_append(out, STR("string("));
    pod_choice_write_count(out, &config->choice);
    buf_append(out, STR(") + "));
    pod_choice_write_located(out, &config->choice, " matching pods are ", ", ");
    buf_append(out, STR(" + string("));
    write_least(out, config);
    buf_printf(out, ") + ' in the emptiest domain, maxSkew is %" PRId64 "'", config->max_skew);
}

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {.choice = {.is_own_namespace = true}};

    reader_fields(reader, value, "topologySpread", fields, ELEMENTS_OF(fields), &config);
    pod_choice_require(reader, value, "topologySpread", &config.choice);
    write_expression(&ret->expression, &config);
    write_message(&ret->message, &config);
}

static const Shape shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};

const RuleKind kind_topology_spread = {
    .field = STR("topologySpread"),
    .summary = "pods of this kind are spread evenly over zones and the like",
    .shape = &shape,
    .write = write,
};
