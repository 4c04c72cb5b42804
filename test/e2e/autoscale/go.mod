module berth.dev/autoscale

// Nothing here is Go. tools/autoscale-test takes from this folder the version of Karpenter and its checksum; those of all
// other modules are in Karpenter's own go.sum.

go 1.26.6

require sigs.k8s.io/karpenter v1.14.1
