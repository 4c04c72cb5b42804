// Peer: an extender as a Go team would write it for bench/policy.yaml.
//
// It uses net/http, encoding/json and the k8s.io types in the usual way: it loads
// the cluster once into maps of the fields that the rules need, keeps quantities as
// integers, and sends Content-Length. It returns the same nodes, reasons and scores
// as `berth serve`, so the benchmark compares the cost of the same work.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	v1 "k8s.io/api/core/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address` to serve on")
	cluster := flag.String("cluster", "", "`file` with nodes and pods, as kubectl get nodes,pods -A -o json prints them")
	flag.Parse()

	server := &server{nodes: map[string]*node{}}
	if *cluster != "" {
		if err := server.load(*cluster); err != nil {
			log.Fatal(err)
		}
	}
	http.HandleFunc("POST /filter", server.filter)
	http.HandleFunc("POST /prioritize", server.prioritize)

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}

// server holds the cluster as it was at the start; requests only read it.
type server struct {
	nodes map[string]*node
}

// load reads a List of nodes and pods, one item at a time: the raw list may be
// hundreds of megabytes.
func (s *server) load(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	decoder := json.NewDecoder(file)
	if err := seekItems(decoder); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	used := map[string]*usage{}
	for decoder.More() {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := s.add(item, used); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for name, u := range used {
		if n := s.nodes[name]; n != nil {
			n.used = *u
		}
	}
	return nil
}

// seekItems moves the decoder to the first element of the top-level "items".
func seekItems(decoder *json.Decoder) error {
	for {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("no items: %w", err)
		}
		if token == "items" {
			_, err := decoder.Token()
			return err
		}
	}
}

func (s *server) add(item json.RawMessage, used map[string]*usage) error {
	var kind struct{ Kind string }
	if err := json.Unmarshal(item, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Node":
		var object v1.Node
		if err := json.Unmarshal(item, &object); err != nil {
			return err
		}
		s.nodes[object.Name] = newNode(&object)
	case "Pod":
		var pod v1.Pod
		if err := json.Unmarshal(item, &pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			return nil
		}
		u := used[pod.Spec.NodeName]
		if u == nil {
			u = &usage{}
			used[pod.Spec.NodeName] = u
		}
		u.add(podUsage(&pod))
	}
	return nil
}

// candidates returns the nodes of a request, by name or as whole objects; nil for an
// unknown name. Only the cluster file has the pods of a node.
func (s *server) candidates(args *extender.ExtenderArgs) (names []string, nodes []*node) {
	if args.NodeNames != nil {
		names = *args.NodeNames
		nodes = make([]*node, len(names))
		for i, name := range names {
			nodes[i] = s.nodes[name]
		}
		return names, nodes
	}
	if args.Nodes == nil {
		return nil, nil
	}
	names = make([]string, len(args.Nodes.Items))
	nodes = make([]*node, len(args.Nodes.Items))
	for i := range args.Nodes.Items {
		object := &args.Nodes.Items[i]
		names[i] = object.Name
		nodes[i] = newNode(object)
		if known := s.nodes[object.Name]; known != nil {
			nodes[i].used = known.used
		}
	}
	return names, nodes
}

func (s *server) filter(w http.ResponseWriter, r *http.Request) {
	var args extender.ExtenderArgs
	if !decode(w, r, &args) {
		return
	}
	asked := podUsage(args.Pod)
	names, nodes := s.candidates(&args)
	result := extender.ExtenderFilterResult{
		FailedNodes:                extender.FailedNodesMap{},
		FailedAndUnresolvableNodes: extender.FailedNodesMap{},
	}
	passed := make([]string, 0, len(names))
	var items []v1.Node
	for i, name := range names {
		reason, unresolvable := judge(args.Pod, asked, nodes[i])
		if reason != "" {
			result.FailedNodes[name] = reason
			if unresolvable {
				result.FailedAndUnresolvableNodes[name] = reason
			}
			continue
		}
		if args.NodeNames != nil {
			passed = append(passed, name)
		} else {
			items = append(items, args.Nodes.Items[i])
		}
	}
	if args.NodeNames != nil {
		result.NodeNames = &passed
	} else {
		result.Nodes = &v1.NodeList{Items: items}
	}
	reply(w, &result)
}

func (s *server) prioritize(w http.ResponseWriter, r *http.Request) {
	var args extender.ExtenderArgs
	if !decode(w, r, &args) {
		return
	}
	asked := podUsage(args.Pod)
	names, nodes := s.candidates(&args)
	scores := make(extender.HostPriorityList, 0, len(names))
	for i, name := range names {
		if points := score(asked, nodes[i]); points > 0 {
			scores = append(scores, extender.HostPriority{Host: name, Score: points})
		}
	}
	reply(w, scores)
}

func decode(w http.ResponseWriter, r *http.Request, args *extender.ExtenderArgs) bool {
	if err := json.NewDecoder(r.Body).Decode(args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	if args.Pod == nil {
		http.Error(w, "no Pod", http.StatusBadRequest)
		return false
	}
	return true
}

// reply sends Content-Length: kube-scheduler drops the connection after a chunked
// reply.
func reply(w http.ResponseWriter, value any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Write(body.Bytes())
}
