#pragma once

/* Notices: what the watcher has to tell, as lines of the log. */

#include "kube/cluster-watcher.h"

void notice_log(const WatcherNotice *notice);
