#pragma once

/*
 * GoScalar: what Go makes of the scalars of a YAML file.
 *
 * kube-scheduler reads YAML 1.1 and turns it into JSON before it looks at any field. So there
 * "yes" is no string, 010 is eight, 1_000 is a number, and 5.0 is as good as 5. Our tree is of
 * YAML 1.2.
 */

#include "yaml/document.h"

/* Gives every value of the tree the kind and the value that kube-scheduler sees. Texts, and so
 * messages, stay as they are written. */
void go_scalars_resolve(YamlNode *root);
