package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// worldInput is a cluster as expressions of policies see it: the record types with their fields, the
// variables with their types, and the values of the variables. Those of Common are the same for all nodes.
type worldInput struct {
	Types     map[string]map[string]string `json:"types"`
	Variables map[string]string            `json:"variables"`
	Common    map[string]*typed            `json:"common"`
	Rows      []*typed                     `json:"rows"`
}

type world struct {
	*types.Registry
	fields map[string]map[string]*types.FieldType
	env    *cel.Env
	common map[string]any
	rows   []*record
}

// record is a value of a record type. Fields that it lacks are absent for has().
type record struct {
	typ    *cel.Type
	fields map[string]ref.Val
}

func (r *record) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no native form", r.typ)
}
func (r *record) ConvertToType(ref.Type) ref.Val { return types.NewErr("%s has no other type", r.typ) }
func (r *record) Equal(other ref.Val) ref.Val    { return types.Bool(ref.Val(r) == other) }
func (r *record) Type() ref.Type                 { return r.typ }
func (r *record) Value() any                     { return r }
func (r *record) IsSet(field ref.Val) ref.Val {
	return types.Bool(r.fields[string(field.(types.String))] != nil)
}
func (r *record) Get(field ref.Val) ref.Val {
	if value := r.fields[string(field.(types.String))]; value != nil {
		return value
	}
	return types.NewErr("no such key: %v", field)
}

func (r *record) text(field string) string { return string(r.fields[field].(types.String)) }

// amounts is a map of amounts: 0.0 for a resource that is absent.
type amounts struct{ traits.Mapper }

func (a amounts) Find(key ref.Val) (ref.Val, bool) {
	if value, found := a.Mapper.Find(key); found {
		return value, true
	}
	return types.Double(0), true
}

func (a amounts) Get(key ref.Val) ref.Val {
	value, _ := a.Find(key)
	return value
}

func newWorld(base *cel.Env, input *worldInput) (*world, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	w := &world{Registry: registry, fields: map[string]map[string]*types.FieldType{}, common: map[string]any{}}
	for name, fields := range input.Types {
		w.fields[name] = map[string]*types.FieldType{}
		for field, text := range fields {
			t, err := parseType(text)
			if err != nil {
				return nil, err
			}
			w.fields[name][field] = &types.FieldType{
				Type:  t,
				IsSet: func(target any) bool { return target.(*record).fields[field] != nil },
				GetFrom: func(target any) (any, error) {
					if value := target.(*record).fields[field]; value != nil {
						return value, nil
					}
					return nil, fmt.Errorf("no such key: %s", field)
				},
			}
		}
	}
	options := append([]cel.EnvOption{cel.CustomTypeProvider(w), cel.CustomTypeAdapter(w)}, w.functions()...)
	for name, text := range input.Variables {
		t, err := parseType(text)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.Variable(name, t))
	}
	if w.env, err = base.Extend(options...); err != nil {
		return nil, err
	}
	for name, value := range input.Common {
		w.common[name] = fromTyped(value, w)
	}
	for _, row := range input.Rows {
		w.rows = append(w.rows, w.newRecord(row))
	}
	return w, nil
}

func (w *world) newRecord(v *typed) *record {
	r := &record{cel.ObjectType(v.Name), map[string]ref.Val{}}
	for name, value := range v.Fields {
		r.fields[name] = fromTyped(value, w)
	}
	return r
}

func (w *world) variables(row int) map[string]any {
	result := map[string]any{"node": w.rows[row]}
	for name, value := range w.common {
		result[name] = value
	}
	return result
}

func (w *world) FindStructType(name string) (*types.Type, bool) {
	if w.fields[name] != nil {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return w.Registry.FindStructType(name)
}

func (w *world) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields := w.fields[name]; fields != nil {
		t, found := fields[field]
		return t, found
	}
	return w.Registry.FindStructFieldType(name, field)
}

func (w *world) NativeToValue(value any) ref.Val {
	if v, ok := value.(ref.Val); ok {
		return v
	}
	return w.Registry.NativeToValue(value)
}

// --- functions of berth that Kubernetes does not have ---

func listOf(values []ref.Val) ref.Val { return types.NewRefValList(types.DefaultTypeAdapter, values) }

func each(list ref.Val, visit func(*record)) {
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		visit(it.Next().(*record))
	}
}

func labelOf(node *record, key ref.Val) (ref.Val, bool) {
	return node.fields["metadata"].(*record).fields["labels"].(traits.Mapper).Find(key)
}

// domains are the groups of nodes with the same value of a label, in the order of their first node.
func (w *world) domains(key ref.Val) []ref.Val {
	var found []ref.Val
	seen := map[string]bool{}
	for _, row := range w.rows {
		value, has := labelOf(row, key)
		if has && !seen[string(value.(types.String))] {
			seen[string(value.(types.String))] = true
			found = append(found, w.domain(key, value))
		}
	}
	return found
}

func (w *world) domain(key, value ref.Val) ref.Val {
	var nodes, pods []ref.Val
	for _, row := range w.rows {
		if label, has := labelOf(row, key); has && label == value {
			nodes = append(nodes, row)
			each(row.fields["pods"], func(pod *record) { pods = append(pods, pod) })
		}
	}
	return &record{cel.ObjectType("Domain"), map[string]ref.Val{
		"value": value, "nodes": listOf(nodes), "pods": listOf(pods)}}
}

func tolerates(pod *record, key, value, effect string) bool {
	if effect != "NoSchedule" && effect != "NoExecute" {
		return true
	}
	found := false
	each(pod.fields["spec"].(*record).fields["tolerations"], func(t *record) {
		found = found || (t.text("effect") == "" || t.text("effect") == effect) &&
			(t.text("key") == "" || t.text("key") == key) &&
			(t.text("operator") == "Exists" || t.text("value") == value)
	})
	return found
}

func toleratesTaint(pod, taint ref.Val) ref.Val {
	t := taint.(*record)
	return types.Bool(tolerates(pod.(*record), t.text("key"), t.text("value"), t.text("effect")))
}

func toleratesText(pod, text ref.Val) ref.Val {
	name, effect, _ := strings.Cut(string(text.(types.String)), ":")
	key, value, _ := strings.Cut(name, "=")
	return types.Bool(tolerates(pod.(*record), key, value, effect))
}

// selects ignores node affinity, because pods of a world have none.
func selects(pod, node ref.Val) ref.Val {
	selector := pod.(*record).fields["spec"].(*record).fields["nodeSelector"].(traits.Mapper)
	for it := selector.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		if value, has := labelOf(node.(*record), key); !has || value != selector.Get(key) {
			return types.False
		}
	}
	return types.True
}

func (w *world) functions() []cel.EnvOption {
	node, pod, taint := cel.ObjectType("Node"), cel.ObjectType("Pod"), cel.ObjectType("Taint")
	running, domain, cluster := cel.ObjectType("NodePod"), cel.ObjectType("Domain"), cel.ObjectType("Cluster")
	on := func(name, id string, self, argument, result *cel.Type, call func(a, b ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{self, argument}, result, cel.BinaryBinding(call)))
	}
	return []cel.EnvOption{
		on("domain", "node_domain", node, cel.StringType, domain, func(node, key ref.Val) ref.Val {
			if value, has := labelOf(node.(*record), key); has {
				return w.domain(key, value)
			}
			return &record{domain, map[string]ref.Val{
				"value": types.String(""), "nodes": listOf(nil), "pods": listOf(nil)}}
		}),
		on("domains", "cluster_domains", cluster, cel.StringType, cel.ListType(domain), func(_, key ref.Val) ref.Val {
			return listOf(w.domains(key))
		}),
		on("nodesByLabel", "cluster_nodes_by_label", cluster, cel.StringType, cel.MapType(cel.StringType, cel.IntType),
			func(_, key ref.Val) ref.Val {
				counts := map[ref.Val]ref.Val{}
				for _, domain := range w.domains(key) {
					fields := domain.(*record).fields
					counts[fields["value"]] = fields["nodes"].(traits.Lister).Size()
				}
				return types.NewRefValMap(types.DefaultTypeAdapter, counts)
			}),
		on("tolerates", "pod_tolerates_taint", pod, taint, cel.BoolType, toleratesTaint),
		on("tolerates", "running_tolerates_taint", running, taint, cel.BoolType, toleratesTaint),
		on("tolerates", "pod_tolerates_text", pod, cel.StringType, cel.BoolType, toleratesText),
		on("tolerates", "running_tolerates_text", running, cel.StringType, cel.BoolType, toleratesText),
		on("selects", "pod_selects_node", pod, node, cel.BoolType, selects),
	}
}
