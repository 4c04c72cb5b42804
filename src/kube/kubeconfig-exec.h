#pragma once

#include "kube/exec.h"
#include "kube/kubeconfig-tree.h"

/* The plugin that @user names, and what @cluster has to say to it: *ret is the caller's, and stays
 * as it was when there is none, or when it is refused. */
void kubeconfig_read_exec(
    Tree *tree, const TreeEntry *user, const TreeEntry *cluster, ExecSpec **ret);
