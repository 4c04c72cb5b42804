/* The names of Kubernetes' own resources, and words that people write for them. */

#include "policy/resource-names.h"

#include "base/cleanup.h"

/* Shorter names are near to everything: gpu is not a misspelt cpu. */
#define MEANT_MIN 4u

static const Str names[] = {STR("cpu"), STR("memory"), STR("ephemeral-storage"), STR("pods")};
static const Str prefixes[] = {STR("hugepages-"), STR("attachable-volumes-")};

static const struct {
    Str word, meant;
} words[] = {
    {STR("cores"), STR("cpu")},
    {STR("vcpu"), STR("cpu")},
    {STR("mem"), STR("memory")},
    {STR("ram"), STR("memory")},
    {STR("storage"), STR("ephemeral-storage")},
    {STR("disk"), STR("ephemeral-storage")},
    {STR("pod"), STR("pods")},
    {STR("gpu"), STR("nvidia.com/gpu")},
    {STR("gpus"), STR("nvidia.com/gpu")},
};

bool resource_name_is_possible(Str name) {
    if (str_find(name, '/') != SIZE_MAX || str_is_one_of(name, names, ELEMENTS_OF(names)))
        return true;
    for (size_t i = 0; i < ELEMENTS_OF(prefixes); i++)
        if (str_has_prefix(name, prefixes[i]))
            return true;
    return false;
}

Str resource_name_meant(Str name) {
    for (size_t i = 0; i < ELEMENTS_OF(words); i++)
        if (str_eq_nocase(name, words[i].word))
            return words[i].meant;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (str_eq_nocase(name, names[i]))
            return names[i];
    return name.len >= MEANT_MIN ? str_nearest(name, names, ELEMENTS_OF(names)) : STR_NULL;
}
