#pragma once

/*
 * Hash: one keyed hash for all names.
 *
 * Names come from outside, so the key is random and drawn once per process: an attacker who does
 * not know it cannot choose names that collide.
 */

#include "base/str.h"

/* XXH3 of the bytes with the process's key. It differs in every process, so
 * nothing that is stored or sent may depend on it. Any thread. */
uint64_t hash_str(Str str);

/* For tests and fuzzers that must repeat: sets the key. Before the first use. */
void hash_set_key(uint64_t key);
