package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// typed is a value in the spelling of the conformance vectors: numbers are text, maps are pairs,
// bytes are base64. A world also has "record" (with its type in Name), "amounts" and "quantity".
type typed struct {
	Type    string            `json:"type"`
	Name    string            `json:"name,omitempty"`
	Value   json.RawMessage   `json:"value,omitempty"`
	Base64  *string           `json:"base64,omitempty"`
	Seconds string            `json:"seconds,omitempty"`
	Nanos   *int32            `json:"nanos,omitempty"`
	Fields  map[string]*typed `json:"fields,omitempty"`
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (v *typed) text() string {
	var s string
	check(json.Unmarshal(v.Value, &s))
	return s
}

func (v *typed) seconds() int64 {
	n, err := strconv.ParseInt(v.Seconds, 10, 64)
	check(err)
	return n
}

func (v *typed) nanos() int64 {
	if v.Nanos == nil {
		return 0
	}
	return int64(*v.Nanos)
}

func fromTyped(v *typed, w *world) ref.Val {
	switch v.Type {
	case "null":
		return types.NullValue
	case "bool":
		var b bool
		check(json.Unmarshal(v.Value, &b))
		return types.Bool(b)
	case "int":
		n, err := strconv.ParseInt(v.text(), 10, 64)
		check(err)
		return types.Int(n)
	case "uint":
		n, err := strconv.ParseUint(v.text(), 10, 64)
		check(err)
		return types.Uint(n)
	case "double":
		d, err := strconv.ParseFloat(v.text(), 64)
		check(err)
		return types.Double(d)
	case "string":
		return types.String(v.text())
	case "bytes":
		b, err := base64.StdEncoding.DecodeString(*v.Base64)
		check(err)
		return types.Bytes(b)
	case "duration":
		return types.Duration{Duration: time.Duration(v.seconds())*time.Second + time.Duration(v.nanos())}
	case "timestamp":
		return types.Timestamp{Time: time.Unix(v.seconds(), v.nanos()).UTC()}
	case "quantity":
		q, err := resource.ParseQuantity(v.text())
		check(err)
		return apiservercel.Quantity{Quantity: &q}
	case "list":
		var items []*typed
		check(json.Unmarshal(v.Value, &items))
		values := make([]ref.Val, len(items))
		for i, item := range items {
			values[i] = fromTyped(item, w)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, values)
	case "map", "amounts":
		var pairs [][2]*typed
		check(json.Unmarshal(v.Value, &pairs))
		values := map[ref.Val]ref.Val{}
		for _, pair := range pairs {
			values[fromTyped(pair[0], w)] = fromTyped(pair[1], w)
		}
		of := types.NewRefValMap(types.DefaultTypeAdapter, values)
		if v.Type == "amounts" {
			return amounts{of}
		}
		return of
	case "record":
		return w.newRecord(v)
	}
	panic("a value of type " + v.Type)
}

func quoted(s string) json.RawMessage {
	text, err := json.Marshal(s)
	check(err)
	return text
}

func raw(v any) json.RawMessage {
	text, err := json.Marshal(v)
	check(err)
	return text
}

func doubleText(d float64) string {
	switch {
	case math.IsInf(d, 1):
		return "Infinity"
	case math.IsInf(d, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(d, 'g', -1, 64)
}

func timeToTyped(name string, seconds int64, nanos int32) *typed {
	return &typed{Type: name, Seconds: strconv.FormatInt(seconds, 10), Nanos: &nanos}
}

func toTyped(v ref.Val) *typed {
	switch v := v.(type) {
	case types.Null:
		return &typed{Type: "null"}
	case types.Bool:
		return &typed{Type: "bool", Value: raw(bool(v))}
	case types.Int:
		return &typed{Type: "int", Value: quoted(strconv.FormatInt(int64(v), 10))}
	case types.Uint:
		return &typed{Type: "uint", Value: quoted(strconv.FormatUint(uint64(v), 10))}
	case types.Double:
		return &typed{Type: "double", Value: quoted(doubleText(float64(v)))}
	case types.String:
		return &typed{Type: "string", Value: quoted(string(v))}
	case types.Bytes:
		text := base64.StdEncoding.EncodeToString(v)
		return &typed{Type: "bytes", Base64: &text}
	case types.Duration:
		return timeToTyped("duration", int64(v.Duration/time.Second), int32(v.Duration%time.Second))
	case types.Timestamp:
		return timeToTyped("timestamp", v.Unix(), int32(v.Nanosecond()))
	case *types.Type:
		return &typed{Type: "type", Value: quoted(v.TypeName())}
	case *types.Optional:
		if !v.HasValue() {
			return &typed{Type: "optional"}
		}
		return &typed{Type: "optional", Value: raw(toTyped(v.GetValue()))}
	case traits.Lister:
		items := []*typed{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, toTyped(it.Next()))
		}
		return &typed{Type: "list", Value: raw(items)}
	case traits.Mapper:
		pairs := [][2]*typed{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			pairs = append(pairs, [2]*typed{toTyped(key), toTyped(v.Get(key))})
		}
		return &typed{Type: "map", Value: raw(pairs)}
	}
	return &typed{Type: "opaque", Name: v.Type().TypeName(), Value: quoted(fmt.Sprint(v.Value()))}
}

var simpleTypes = map[string]*cel.Type{
	"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "string": cel.StringType,
	"bytes": cel.BytesType, "bool": cel.BoolType, "duration": cel.DurationType,
	"timestamp": cel.TimestampType, "null_type": cel.NullType, "dyn": cel.DynType,
	"kubernetes.Quantity": apiservercel.QuantityType,
}

// parseType reads list(T), map(K, V) with a key without parts, or a name.
func parseType(text string) (*cel.Type, error) {
	if t, found := simpleTypes[text]; found {
		return t, nil
	}
	name, rest, isCall := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	switch {
	case isCall && name == "list":
		element, err := parseType(rest)
		return cel.ListType(element), err
	case isCall && name == "map":
		keyText, valueText, _ := strings.Cut(rest, ", ")
		key, err := parseType(keyText)
		if err != nil {
			return nil, err
		}
		value, err := parseType(valueText)
		return cel.MapType(key, value), err
	case isCall:
		return nil, fmt.Errorf("type %s", text)
	}
	return cel.ObjectType(text), nil
}
