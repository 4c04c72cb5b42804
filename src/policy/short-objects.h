#pragma once

/*
 * ShortObjects: converts nodes and pods from a policy test's short form to Kubernetes' JSON.
 *
 * They have only the fields that rules read, in a flat form: docs/testing-policies.md.
 */

#include "yaml/reader.h"

/* Each appends one object to @out. Returns false if it has mistakes, which were reported. @node is
 * a name and its fields. */
bool short_node_json(YamlReader *reader, const YamlPair *node, Buf *out);
bool short_pod_json(YamlReader *reader, const YamlNode *pod, Buf *out);
