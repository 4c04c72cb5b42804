module berth.dev/kyverno

// Nothing here is Go. tools/kyverno-test takes from this folder the version of Kyverno and its checksum; those of all
// other modules are in Kyverno's own go.sum.

go 1.26.6

require github.com/kyverno/kyverno v1.19.1
