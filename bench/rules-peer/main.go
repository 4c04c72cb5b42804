// The rules of a policy in cel-go, node by node.
//
//	rules-peer -cluster FILE -pod FILE -rules FILE -now SECONDS -rounds N -verdicts FILE
//
// -rules is the output of `bench/rules --cel`: the CEL expression of each rule of a policy.
// Before the measurement, nodes and pods become values of cel-go, of closed types whose fields are
// found by number; the programs are compiled with all optimisations, and run with one
// activation. Filters after the first failure are skipped. The figure is CPU time of the
// process, garbage collection included. The best round counts; garbage is collected between
// rounds, so the best round contains none.
//
// Prints JSON: nanoseconds of all filters over all nodes, of all scores over the nodes that
// passed, and over all nodes. -verdicts gets a line for each node: name, the filter that rejects
// it or -, score.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"syscall"
	"time"
)

func cpu() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// best runs @do @rounds times and returns the least CPU nanoseconds.
func best(rounds int, do func()) int64 {
	least := int64(1) << 62
	for range rounds {
		runtime.GC()
		start := cpu()
		do()
		least = min(least, cpu()-start)
	}
	return least
}

type judgement struct {
	verdicts []int
	scores   []float64
}

func (j *judgement) write(path string, nodes []node, r *rules) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	for i, n := range nodes {
		verdict := "-"
		if j.verdicts[i] != passed {
			verdict = r.Filters[j.verdicts[i]].Name
		}
		fmt.Fprintf(out, "%s %s %.17g\n", n.name, verdict, j.scores[i])
	}
	return out.Flush()
}

func main() {
	clusterFile := flag.String("cluster", "", "`file` with nodes and pods")
	podFile := flag.String("pod", "", "`file` with the pod to place")
	rulesFile := flag.String("rules", "", "`file` with the rules")
	verdictsFile := flag.String("verdicts", "", "`file` to write what was found to")
	now := flag.Int64("now", 0, "the time of the request, in seconds since 1970")
	rounds := flag.Int("rounds", 5, "how often")
	flag.Parse()

	r, err := readRules(*rulesFile)
	if err != nil {
		log.Fatal(err)
	}
	start := cpu()
	a, err := compileAll(r, time.Unix(*now, 0).UTC())
	if err != nil {
		log.Fatal(err)
	}
	compiling := cpu() - start
	nodes, resources, err := readCluster(*clusterFile)
	if err != nil {
		log.Fatal(err)
	}
	pod, err := readPod(*podFile, resources)
	if err != nil {
		log.Fatal(err)
	}
	a.pod = pod

	found := judgement{make([]int, len(nodes)), make([]float64, len(nodes))}
	filtering := best(*rounds, func() {
		a.begin()
		for i := range nodes {
			a.setNode(&nodes[i])
			found.verdicts[i] = r.filter(a)
		}
	})
	score := func(all bool) {
		a.begin()
		for i := range nodes {
			if all || found.verdicts[i] == passed {
				a.setNode(&nodes[i])
				found.scores[i] = r.score(a)
			}
		}
	}
	scoring := best(*rounds, func() { score(false) })
	scoringAll := best(*rounds, func() { score(true) })
	nPassed := 0
	for _, verdict := range found.verdicts {
		if verdict == passed {
			nPassed++
		}
	}
	if *verdictsFile != "" {
		if err := found.write(*verdictsFile, nodes, r); err != nil {
			log.Fatal(err)
		}
	}
	line, err := json.Marshal(map[string]any{
		"nodes": len(nodes), "filters": len(r.Filters), "scores": len(r.Scores), "passed": nPassed,
		"filter_ns": filtering, "score_ns": scoring, "score_all_ns": scoringAll, "compile_ns": compiling})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}
