/* Which label of a series names its node, and what of its value counts. */

#include "load/join-internal.h"

#include <errno.h>

#define PORT_DIGITS_MAX 5u

/* --- what of a value counts ------------------------------------------------ */

static bool is_port(Str text) {
    if (text.len < 2 || text.len > PORT_DIGITS_MAX + 1 || text.ptr[0] != ':')
        return false;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return true;
}

/* "a:9100" and "[::1]:9100" without the port. An IPv6 address without brackets has more than one
 * colon, and none of them begins a port. */
static Str host_of(Str value) {
    size_t colon = str_find_last(value, ':');

    if (colon == SIZE_MAX || !is_port(str_skip(value, colon)))
        return value;
    if (value.ptr[0] == '[' ? value.ptr[colon - 1] != ']' : str_find(value, ':') != colon)
        return value;
    return str_take(value, colon);
}

static int compile(JoinWay *way) {
    RegexError error;

    way->pattern = regex_compile(way->gauge->node_pattern, GAUGE_PATTERN_MAX, way->arena, &error);
    if (way->pattern)
        return 0;
    return arena_has_failed(way->arena) ? -ENOMEM : -EINVAL;
}

/* The part of @value that the pattern takes; a NULL pointer: it does not match. */
static int extract(JoinWay *way, Str value, Str *ret) {
    _cleanup_(regex_scan_freep) RegexScan *scan = NULL;
    RegexSpan spans[2] = {{0}, {.from = SIZE_MAX}}; /* the second: if there is a group */
    size_t n_spans;
    int r = way->pattern ? 0 : compile(way);

    *ret = STR_NULL;
    if (r < 0)
        return r;
    n_spans = regex_n_groups(way->pattern) > 0 ? 2 : 1;
    scan = regex_scan_new(way->pattern, value, n_spans);
    r = scan ? regex_scan_next(scan, way->work, spans) : -ENOMEM;
    if (r == REGEX_LIMIT) {
        *way->work = 0;
        return -E2BIG;
    }
    if (r <= 0)
        return r;
    if (spans[1].from == SIZE_MAX)
        spans[1] = spans[0];
    *ret = str_of(value.ptr + spans[1].from, spans[1].to - spans[1].from);
    return 0;
}

/* --- where it leads -------------------------------------------------------- */

static const Str *find_mapped(const JoinWay *way, Str text) {
    return way->gauge->mapping.n > 0 ? labels_find(&way->gauge->mapping, text) : NULL;
}

/* By the mapping, which gives names, or else as it is. */
static int find_text(JoinWay *way, Str text, uint32_t *ret_row) {
    const Str *mapped = find_mapped(way, text);

    if (mapped)
        return join_index_find(way->index, GAUGE_BY_NAME, *mapped, ret_row);
    return join_index_find(way->index, way->identity, text, ret_row);
}

int join_way_find(JoinWay *way, Str value, uint32_t *ret_row) {
    Str host;
    int r;

    *ret_row = JOIN_ROW_NONE;
    if (!str_is_empty(way->gauge->node_pattern)) {
        r = extract(way, value, &host);
        return r < 0 || !host.ptr ? r : find_text(way, host, ret_row);
    }
    host = host_of(value);
    if (find_mapped(way, value)) /* the mapping may be of values with ports */
        host = value;
    r = find_text(way, host, ret_row);
    way->has_cut_port |= host.len < value.len && *ret_row != JOIN_ROW_NONE;
    return r;
}

Str join_way_compared(JoinWay *way, Str value) {
    Str part;

    if (str_is_empty(way->gauge->node_pattern))
        return host_of(value);
    return extract(way, value, &part) == 0 && part.ptr ? part : value;
}

Str join_label(const Series *series, Str name, size_t *hint) {
    size_t i = *hint;

    if (i >= series->n_labels || !str_eq(series->labels[i].name, name))
        for (i = 0; i < series->n_labels && !str_eq(series->labels[i].name, name);)
            i++;
    if (i == series->n_labels || str_is_empty(series->labels[i].value))
        return STR_NULL;
    *hint = i;
    return series->labels[i].value;
}

const char *join_identity_name(GaugeIdentity identity) {
    static const char *const names[] = {
        [GAUGE_BY_ANY] = "name, hostname or IP address",
        [GAUGE_BY_NAME] = "name",
        [GAUGE_BY_HOSTNAME] = "hostname",
        [GAUGE_BY_IP] = "IP address",
    };

    return names[identity];
}

void join_way_describe(const JoinWay *way, Message *message) {
    message_add(message, "label ");
    message_show(message, way->label, MESSAGE_QUOTE_MAX);
    if (!str_is_empty(way->gauge->node_pattern))
        message_add(message, ", by nodePattern,");
    else if (way->has_cut_port)
        message_add(message, ", without the port,");
    if (way->gauge->mapping.n > 0)
        message_add(message, " through the mapping");
    message_add(message, " is the node's %s", join_identity_name(way->identity));
}
