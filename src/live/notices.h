#pragma once

/* Notices: what the mirror has to tell, as lines of the log. */

#include "kube/mirror.h"

void notice_log(const MirrorNotice *notice);
