package main

import v1 "k8s.io/api/core/v1"

// The rules of bench/policy.yaml.
const (
	poolLabel = "example.com/pool"
	zoneLabel = "topology.kubernetes.io/zone"

	headroomCPU    = 500               // millicores
	headroomMemory = 512 * 1024 * 1024 // bytes
	maxPods        = 110

	preferredZone = "eu-west-1a"

	binPackWeight, zoneWeight = 3.0, 1.0
	cpuWeight, memoryWeight   = 2.0, 1.0
)

// usage is what pods request, or the allocatable resources of a node.
type usage struct {
	cpu, memory int64 // millicores, bytes
	pods        int
}

func (u *usage) add(other usage) {
	u.cpu += other.cpu
	u.memory += other.memory
	u.pods += other.pods
}

// node is what the rules read of a Node.
type node struct {
	pool, zone  string
	ready       bool
	taints      []v1.Taint
	allocatable usage
	used        usage
}

func newNode(object *v1.Node) *node {
	n := &node{
		pool:   object.Labels[poolLabel],
		zone:   object.Labels[zoneLabel],
		taints: object.Spec.Taints,
		allocatable: usage{
			cpu:    object.Status.Allocatable.Cpu().MilliValue(),
			memory: object.Status.Allocatable.Memory().Value(),
		},
	}
	for i := range object.Status.Conditions {
		condition := &object.Status.Conditions[i]
		if condition.Type == v1.NodeReady {
			n.ready = condition.Status == v1.ConditionTrue && !object.Spec.Unschedulable
		}
	}
	return n
}

// podUsage is what kube-scheduler counts for a pod: the sum of its containers,
// or the peak while init containers run, whichever is more, and the overhead.
func podUsage(pod *v1.Pod) usage {
	total := usage{pods: 1}
	for i := range pod.Spec.Containers {
		total.add(listUsage(pod.Spec.Containers[i].Resources.Requests))
	}
	var sidecars, peak usage
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		asked := listUsage(container.Resources.Requests)
		if container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways {
			sidecars.add(asked)
			asked = usage{}
		}
		peak.cpu = max(peak.cpu, sidecars.cpu+asked.cpu)
		peak.memory = max(peak.memory, sidecars.memory+asked.memory)
	}
	total.add(sidecars)
	total.cpu = max(total.cpu, peak.cpu)
	total.memory = max(total.memory, peak.memory)
	total.add(listUsage(pod.Spec.Overhead))
	return total
}

func listUsage(list v1.ResourceList) usage {
	return usage{cpu: list.Cpu().MilliValue(), memory: list.Memory().Value()}
}

// judge returns the reason to reject the node, or "". Rules whose failure
// preemption cannot resolve come first, as in berth.
func judge(pod *v1.Pod, asked usage, n *node) (reason string, unresolvable bool) {
	if n == nil {
		return "node is not known", false
	}
	if n.pool != "general" && n.pool != "batch" {
		return "node is not in a pool for this workload", true
	}
	if !n.ready {
		return "node is not ready", false
	}
	if !tolerates(pod.Spec.Tolerations, n.taints) {
		return "node has a taint that the pod does not tolerate", false
	}
	if n.allocatable.cpu-n.used.cpu-asked.cpu < headroomCPU ||
		n.allocatable.memory-n.used.memory-asked.memory < headroomMemory {
		return "node has too little headroom", false
	}
	if n.used.pods >= maxPods {
		return "node has its number of pods", false
	}
	return "", false
}

func tolerates(tolerations []v1.Toleration, taints []v1.Taint) bool {
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectPreferNoSchedule {
			continue
		}
		if !toleratesOne(tolerations, &taints[i]) {
			return false
		}
	}
	return true
}

func toleratesOne(tolerations []v1.Toleration, taint *v1.Taint) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if t.Effect != "" && t.Effect != taint.Effect {
			continue
		}
		if t.Key != "" && t.Key != taint.Key {
			continue
		}
		if t.Operator == v1.TolerationOpExists || t.Value == taint.Value {
			return true
		}
	}
	return false
}

// score combines the rules, each 0..100, by weight and maps them to 0..10.
func score(asked usage, n *node) int64 {
	if n == nil {
		return 0
	}
	zone := 0.0
	if n.zone == preferredZone {
		zone = 100
	}
	combined := (binPackWeight*binPack(asked, n) + zoneWeight*zone) / (binPackWeight + zoneWeight)
	return int64(combined/10 + 0.5)
}

func binPack(asked usage, n *node) float64 {
	sum, weights := 0.0, 0.0
	for _, part := range []struct {
		weight            float64
		used, allocatable int64
	}{
		{cpuWeight, n.used.cpu + asked.cpu, n.allocatable.cpu},
		{memoryWeight, n.used.memory + asked.memory, n.allocatable.memory},
	} {
		if part.allocatable <= 0 {
			continue
		}
		weights += part.weight
		if part.used <= part.allocatable {
			sum += part.weight * float64(part.used) / float64(part.allocatable)
		}
	}
	if weights == 0 {
		return 0
	}
	return 100 * sum / weights
}
