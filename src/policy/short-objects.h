#pragma once

/*
 * ShortObjects: nodes and pods that a user wrote down for a test, as Kubernetes' JSON.
 *
 * Only the fields that rules read, without the levels that Kubernetes has around them:
 * docs/testing-policies.md.
 */

#include "yaml/reader.h"

/* Each appends one object to @out. Returns false if it has mistakes, which were reported. @node:
 * its name and fields. */
bool short_node_json(YamlReader *reader, const YamlPair *node, Buf *out);
bool short_pod_json(YamlReader *reader, const YamlNode *pod, Buf *out);
