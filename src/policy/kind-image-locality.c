/*
 * imageLocality: true — how many of the pod's images the node has: 100 points for all of them.
 *
 * Names are compared as the node lists them. An image without a tag is :latest, and one without a
 * registry is also looked for as docker.io/NAME and docker.io/library/NAME, which is how most
 * container runtimes call it. Sizes do not count: a policy that wants them can say so in an
 * expression.
 */

#include "policy/kind.h"

/* The pod's names are worked out once; the node's are known beforehand. No registry has images
 * called docker.io/docker.io/…, so prefixes can be put before every name. */
static const Str expression =
    STR("cel.bind(i, pod.spec.containers.map(c, "
        "c.image.matches('[:@][^/]*$') ? c.image : c.image + ':latest').distinct(), "
        "cel.bind(names, i + i.map(n, 'docker.io/' + n) + i.map(n, 'docker.io/library/' + n), "
        "math.least(100.0, "
        "double(node.status.images.map(m, m.names).flatten().filter(n, n in names).size()) * "
        "(i.size() > 0 ? 100.0 / double(i.size()) : 0.0))))");

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    kind_read_switch(reader, value, "imageLocality");
    buf_append(&ret->expression, expression);
}

const RuleKind kind_image_locality = {
    .field = STR("imageLocality"),
    .summary = "the more of the pod's images the node has, the better",
    .shape = &shape_true,
    .write = write,
};
