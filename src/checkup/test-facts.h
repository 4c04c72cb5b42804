#pragma once

/*
 * InstallationFacts of an installation without faults: two kube-schedulers, two replicas of berth
 * that bind, HTTPS between them. Tests break one thing at a time.
 */

#include "checkup/facts.h"

#define DAY 86400.0
#define SEC INT64_C(1000000000)

typedef struct Scene {
    InstallationFacts facts;
    SchedulerConfigFact configs[2]; /* of "berth", and of "default-scheduler" */
    ExtenderEntry extenders[2][2];  /* of each: berth, and another extender */
    ManagedResource managed[2][1];
    Str scheduler_names[2];
    BerthFact berths[2];
    Str client_names[1], berth_managed[1], exempt[1];
    PolicyFact policies[2][2];
    SourceFact sources[2][1];
    SchedulerFact schedulers[2][1];
    AdmissionFact wanted[1],
        objects[_ADMISSION_SOURCES][1]; /* what the first berth needs; what the cluster has */
    SlotFact slots[1], overlay[1];
    AdmissionFact definition[1];
    RightFact rights[6];
    PodFact pods[2];
} Scene;

void scene_init(Scene *scene);
