#pragma once

/* Notices: the reports of the watcher as log lines. */

#include "kube/cluster-watcher.h"

void notice_log(const WatcherNotice *notice);
