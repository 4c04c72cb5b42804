/* hash(): a number from 0 to 1 that looks random and is the same for the same texts, in every
 * replica and version. docs/cel.md has the algorithm, which never changes. */

#include "base/digest.h"
#include "cel/library.h"

#define UNIT 0x1p-53 /* of the 53 bits that a double holds */

static CelValue hash(CelRun *run, Str text, uint64_t seed) {
    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    return cel_double((double)(digest_short(text, seed) >> 11) * UNIT);
}

CEL_RETURNS(hash_one, hash(run, cel_str(args[0]), 0))

/* The end of the first text matters: hash('ab', 'c') is not hash('a', 'bc'). */
CEL_CHARGED(hash_two, args[0].len) {
    return hash(run, cel_str(args[1]), digest_short(cel_str(args[0]), 0));
}

static const CelOverloadSpec overloads[] = {
    {"hash", "(string) -> double", hash_one, CEL_READS},
    {"hash", "(string, string) -> double", hash_two, .cost = CEL_COST_BOTH, .reads_text = true},
};

CEL_LIBRARY(cel_hash_library, "hash", overloads);
