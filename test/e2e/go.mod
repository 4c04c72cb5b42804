module berth.dev/e2e

// Nothing here is Go. tools/e2e takes from this folder the Go that is needed, and from go.sum the
// checksums of Kubernetes' own modules; those of all others are in Kubernetes' go.sum.

go 1.26.0
