package main

import (
	"strings"

	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// field is one field of a record type.
type field struct {
	name string
	of   *cel.Type
}

// recordType is a closed type, as in berth's schema. Its values hold their fields in this order.
type recordType struct {
	name   string
	fields []field
	typ    *cel.Type
}

var (
	labelsType  = cel.MapType(cel.StringType, cel.StringType)
	amountsType = cel.MapType(cel.StringType, cel.DoubleType)
)

func newType(name string, fields ...field) *recordType {
	return &recordType{name, fields, cel.ObjectType(name)}
}

// The fields of pods and nodes that the rules read; the rest of berth's schema is omitted.
var (
	metadataType = newType("Metadata", field{"name", cel.StringType}, field{"namespace", cel.StringType},
		field{"labels", labelsType}, field{"annotations", labelsType},
		field{"creationTimestamp", cel.TimestampType})
	tolerationType = newType("Toleration", field{"key", cel.StringType}, field{"operator", cel.StringType},
		field{"value", cel.StringType}, field{"effect", cel.StringType})
	containerType = newType("Container", field{"name", cel.StringType}, field{"image", cel.StringType})
	podSpecType   = newType("PodSpec", field{"priority", cel.IntType},
		field{"tolerations", cel.ListType(tolerationType.typ)}, field{"containers", cel.ListType(containerType.typ)})
	podType = newType("Pod", field{"metadata", metadataType.typ}, field{"spec", podSpecType.typ},
		field{"owner", cel.StringType}, field{"requests", amountsType})

	taintType = newType("Taint", field{"key", cel.StringType}, field{"value", cel.StringType},
		field{"effect", cel.StringType}, field{"text", cel.StringType})
	conditionType = newType("Condition", field{"type", cel.StringType}, field{"status", cel.StringType})
	imageType     = newType("Image", field{"names", cel.ListType(cel.StringType)}, field{"sizeBytes", cel.IntType})
	nodeSpecType  = newType("NodeSpec", field{"unschedulable", cel.BoolType}, field{"taints", cel.ListType(taintType.typ)})
	statusType    = newType("NodeStatus", field{"conditions", cel.ListType(conditionType.typ)},
		field{"images", cel.ListType(imageType.typ)})
	nodeType = newType("Node", field{"metadata", metadataType.typ}, field{"spec", nodeSpecType.typ},
		field{"status", statusType.typ}, field{"allocatable", amountsType}, field{"requested", amountsType},
		field{"free", amountsType}, field{"pods", cel.ListType(podType.typ)}, field{"ready", cel.BoolType})

	allTypes = []*recordType{metadataType, tolerationType, containerType, podSpecType, podType,
		taintType, conditionType, imageType, nodeSpecType, statusType, nodeType}
)

// record is a value of a record type. Its fields are values of cel-go, except for maps,
// which cel-go looks into faster as Go maps: nothing is converted when an expression reads
// them.
type record struct {
	of     *recordType
	fields []any
	own    any // for the functions below: a taint, or the tolerations of a pod
}

func (r *record) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no native form", r.of.name)
}
func (r *record) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("%s has no other type", r.of.name)
}
func (r *record) Equal(other ref.Val) ref.Val    { return types.Bool(ref.Val(r) == other) }
func (r *record) Type() ref.Type                 { return r.of.typ }
func (r *record) Value() any                     { return r }
func (t *recordType) make(fields ...any) *record { return &record{of: t, fields: fields} }

// provider resolves the record types, and leaves all other types to the registry.
type provider struct {
	*types.Registry
	types  map[string]*recordType
	fields map[string]map[string]*types.FieldType
}

func newProvider() (*provider, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &provider{registry, map[string]*recordType{}, map[string]map[string]*types.FieldType{}}
	for _, t := range allTypes {
		p.types[t.name] = t
		p.fields[t.name] = map[string]*types.FieldType{}
		for i, f := range t.fields {
			p.fields[t.name][f.name] = &types.FieldType{
				Type:    f.of,
				IsSet:   func(target any) bool { return target.(*record).fields[i] != nil },
				GetFrom: func(target any) (any, error) { return target.(*record).fields[i], nil },
			}
		}
	}
	return p, nil
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t, found := p.types[name]; found {
		return types.NewTypeTypeWithParam(t.typ), true
	}
	return p.Registry.FindStructType(name)
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if fields, found := p.fields[name]; found {
		t, found := fields[field]
		return t, found
	}
	return p.Registry.FindStructFieldType(name, field)
}

// NativeToValue returns values of cel-go unchanged, which is the usual case here.
func (p *provider) NativeToValue(value any) ref.Val {
	if v, ok := value.(ref.Val); ok {
		return v
	}
	return p.Registry.NativeToValue(value)
}

type taint struct{ Key, Value, Effect string }
type toleration struct{ Key, Operator, Value, Effect string }

// text is the taint as kubectl writes it.
func (t *taint) text() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

func parseTaint(text string) *taint {
	name, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(name, "=")
	return &taint{key, value, effect}
}

func tolerates(tolerations []toleration, t *taint) bool {
	if t.Effect != "NoSchedule" && t.Effect != "NoExecute" {
		return true
	}
	for i := range tolerations {
		o := &tolerations[i]
		if (o.Effect == "" || o.Effect == t.Effect) && (o.Key == "" || o.Key == t.Key) &&
			(o.Operator == "Exists" || o.Value == t.Value) {
			return true
		}
	}
	return false
}

// Functions of berth that cel-go does not have.
var ownFunctions = []cel.EnvOption{
	cel.Function("tolerates", cel.MemberOverload("pod_tolerates_taint", []*cel.Type{podType.typ, taintType.typ},
		cel.BoolType, cel.BinaryBinding(func(pod, t ref.Val) ref.Val {
			return types.Bool(tolerates(pod.(*record).own.([]toleration), t.(*record).own.(*taint)))
		})), cel.MemberOverload("pod_tolerates_text", []*cel.Type{podType.typ, cel.StringType},
		cel.BoolType, cel.BinaryBinding(func(pod, t ref.Val) ref.Val {
			return types.Bool(tolerates(pod.(*record).own.([]toleration), parseTaint(string(t.(types.String)))))
		}))),
	cel.Function("sum",
		cel.MemberOverload("list_int_sum", []*cel.Type{cel.ListType(cel.IntType)}, cel.IntType, sum(types.Int(0))),
		cel.MemberOverload("list_double_sum", []*cel.Type{cel.ListType(cel.DoubleType)}, cel.DoubleType,
			sum(types.Double(0)))),
}

func sum(zero ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(value ref.Val) ref.Val {
		total := zero
		for it := value.(traits.Lister).Iterator(); it.HasNext() == types.True; {
			total = total.(traits.Adder).Add(it.Next())
		}
		return total
	})
}
