package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// object has the fields of a Node or a Pod that the rules need.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
		CreationTimestamp   time.Time
		OwnerReferences     []struct {
			UID        string
			Controller bool
		}
	}
	Spec struct {
		NodeName      string
		Priority      int64
		Unschedulable bool
		Taints        []taint
		Tolerations   []toleration
		Containers    []struct {
			Name, Image string
			Resources   struct{ Requests map[string]string }
		}
	}
	Status struct {
		Allocatable map[string]string
		Conditions  []struct{ Type, Status string }
		Images      []struct {
			Names     []string
			SizeBytes int64
		}
	}
}

// node is a node as an expression sees it.
type node struct {
	name  string
	value *record
}

var suffixes = map[string]float64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 1e3, "M": 1e6, "G": 1e9}

// amount reads a quantity in whole units; cpu in thousandths.
func amount(resource, text string) float64 {
	factor := 1.0
	if resource == "cpu" {
		factor = 1000
	}
	if digits, isMilli := strings.CutSuffix(text, "m"); isMilli {
		text, factor = digits, factor/1000
	}
	for suffix, by := range suffixes {
		if digits, has := strings.CutSuffix(text, suffix); has {
			text, factor = digits, factor*by
			break
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", resource, err))
	}
	return number * factor
}

func add(to map[string]float64, list map[string]string) {
	for resource, text := range list {
		to[resource] += amount(resource, text)
	}
}

// amounts is a map of doubles, in cores and in whole units, in which every resource of the
// cluster has a value.
func amounts(counted map[string]float64, resources map[string]bool) map[string]any {
	result := map[string]any{"milliCPU": types.Double(counted["cpu"])}
	for resource := range resources {
		if resource == "cpu" {
			result[resource] = types.Double(counted[resource] / 1000)
		} else {
			result[resource] = types.Double(counted[resource])
		}
	}
	return result
}

func stringMap(labels map[string]string) map[string]any {
	result := map[string]any{}
	for key, value := range labels {
		result[key] = types.String(value)
	}
	return result
}

func list[T any](items []T, makeOne func(*T) ref.Val) ref.Val {
	values := make([]ref.Val, len(items))
	for i := range items {
		values[i] = makeOne(&items[i])
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

func metadata(o *object) *record {
	return metadataType.make(types.String(o.Metadata.Name), types.String(o.Metadata.Namespace),
		stringMap(o.Metadata.Labels), stringMap(o.Metadata.Annotations),
		types.Timestamp{Time: o.Metadata.CreationTimestamp})
}

func requests(o *object) map[string]float64 {
	total := map[string]float64{}
	for i := range o.Spec.Containers {
		add(total, o.Spec.Containers[i].Resources.Requests)
	}
	return total
}

func makePod(o *object, resources map[string]bool) *record {
	owner := types.String("")
	for _, reference := range o.Metadata.OwnerReferences {
		if reference.Controller {
			owner = types.String(reference.UID)
		}
	}
	tolerations := list(o.Spec.Tolerations, func(t *toleration) ref.Val {
		return tolerationType.make(types.String(t.Key), types.String(t.Operator), types.String(t.Value),
			types.String(t.Effect))
	})
	containers := make([]ref.Val, len(o.Spec.Containers))
	for i, c := range o.Spec.Containers {
		containers[i] = containerType.make(types.String(c.Name), types.String(c.Image))
	}
	spec := podSpecType.make(types.Int(o.Spec.Priority), tolerations,
		types.NewRefValList(types.DefaultTypeAdapter, containers))
	pod := podType.make(metadata(o), spec, owner, amounts(requests(o), resources))
	pod.own = o.Spec.Tolerations
	return pod
}

func makeNode(o *object, pods []*object, resources map[string]bool) *record {
	taints := list(o.Spec.Taints, func(t *taint) ref.Val {
		value := taintType.make(types.String(t.Key), types.String(t.Value), types.String(t.Effect),
			types.String(t.text()))
		value.own = t
		return value
	})
	ready := false
	conditions := list(o.Status.Conditions, func(c *struct{ Type, Status string }) ref.Val {
		ready = ready || c.Type == "Ready" && c.Status == "True"
		return conditionType.make(types.String(c.Type), types.String(c.Status))
	})
	images := make([]ref.Val, len(o.Status.Images))
	for i, image := range o.Status.Images {
		names := list(image.Names, func(name *string) ref.Val { return types.String(*name) })
		images[i] = imageType.make(names, types.Int(image.SizeBytes))
	}
	allocatable, requested, free := map[string]float64{}, map[string]float64{}, map[string]float64{}
	add(allocatable, o.Status.Allocatable)
	for _, pod := range pods {
		for resource, asked := range requests(pod) {
			requested[resource] += asked
		}
	}
	for resource := range resources {
		free[resource] = allocatable[resource] - requested[resource]
	}
	on := list(pods, func(pod **object) ref.Val { return makePod(*pod, resources) })
	return nodeType.make(metadata(o),
		nodeSpecType.make(types.Bool(o.Spec.Unschedulable), taints),
		statusType.make(conditions, types.NewRefValList(types.DefaultTypeAdapter, images)),
		amounts(allocatable, resources), amounts(requested, resources), amounts(free, resources), on,
		types.Bool(ready))
}

// readCluster reads what `kubectl get nodes,pods -A -o json` prints, item by item.
func readCluster(path string) (nodes []node, resources map[string]bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for token := json.Token(nil); token != "items"; {
		if token, err = decoder.Token(); err != nil {
			return nil, nil, err
		}
	}
	if _, err = decoder.Token(); err != nil {
		return nil, nil, err
	}
	var objects []*object
	pods := map[string][]*object{}
	resources = map[string]bool{"cpu": true, "memory": true}
	for decoder.More() {
		o := &object{}
		if err := decoder.Decode(o); err != nil {
			return nil, nil, err
		}
		if o.Kind == "Pod" {
			pods[o.Spec.NodeName] = append(pods[o.Spec.NodeName], o)
			continue
		}
		objects = append(objects, o)
		for resource := range o.Status.Allocatable {
			resources[resource] = true
		}
	}
	for _, o := range objects {
		nodes = append(nodes, node{o.Metadata.Name, makeNode(o, pods[o.Metadata.Name], resources)})
	}
	return nodes, resources, nil
}

func readPod(path string, resources map[string]bool) (*record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o := &object{}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, err
	}
	return makePod(o, resources), nil
}
