#pragma once

/*
 * ReplicaName: what this process is called among others of its kind.
 *
 * The name of its pod ($POD_NAME), else of its host, and a random part: a container that is started
 * again in the same pod is somebody else.
 */

#define REPLICA_NAME_MAX 272u /* a pod's name, '_', 16 digits, NUL */

/* Once per process; returns @ret. */
const char *replica_name_make(char ret[static REPLICA_NAME_MAX]);
