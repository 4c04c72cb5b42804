package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// rule is an expression with its settings in the policy.
type rule struct {
	Name         string
	Expression   string
	Unresolvable bool
	Weight       float64
	OnError      any // "allow", or a score

	program cel.Program
}

// rules is the output of bench/rules: all rules of a policy that apply to the pod, in the order of
// evaluation.
type rules struct {
	Params    []rule // constants
	Variables []rule
	Filters   []rule
	Scores    []rule
}

func readRules(path string) (*rules, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &rules{}
	return r, json.Unmarshal(text, r)
}

// activation holds the variables of an expression. It is made once and filled again for each node.
type activation struct {
	pod, node ref.Val
	now       types.Timestamp
	variables map[string]*variable
}

// variable is an expression with a name. It is evaluated once per request if it reads no node, else
// once per node, when it is first read.
type variable struct {
	program   cel.Program
	readsNode bool
	value     ref.Val
}

func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "node":
		return a.node, true
	case "pod":
		return a.pod, true
	case "now":
		return a.now, true
	}
	v, found := a.variables[name]
	if !found {
		return nil, false
	}
	if v.value == nil {
		v.value, _, _ = v.program.Eval(a)
	}
	return v.value, true
}

func (a *activation) Parent() cel.Activation { return nil }

func (a *activation) begin() {
	for _, v := range a.variables {
		v.value = nil
	}
}

func (a *activation) setNode(n *node) {
	a.node = n.value
	for _, v := range a.variables {
		if v.readsNode {
			v.value = nil
		}
	}
}

func newEnv() (*cel.Env, error) {
	p, err := newProvider()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{
		cel.CustomTypeProvider(p), cel.CustomTypeAdapter(p), cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Lists(), ext.Math(), ext.Sets(),
		ext.Bindings(), ext.TwoVarComprehensions(), cel.Variable("node", nodeType.typ),
		cel.Variable("pod", podType.typ), cel.Variable("now", cel.TimestampType),
	}
	return cel.NewEnv(append(options, ownFunctions...)...)
}

// compile uses all optimisations of cel-go: constants are folded, regular
// expressions and constant lists are prepared.
func compile(env *cel.Env, r *rule) (*cel.Ast, error) {
	checked, issues := env.Compile(r.Expression)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, issues.Err())
	}
	folding, err := cel.NewConstantFoldingOptimizer()
	if err != nil {
		return nil, err
	}
	optimizer := cel.NewStaticOptimizer(folding)
	if folded, issues := optimizer.Optimize(env, checked); issues.Err() == nil {
		checked = folded
	}
	r.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	return checked, err
}

func readsNode(checked *cel.Ast, known map[string]*variable) bool {
	reads := false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			v := known[e.AsIdent()]
			reads = reads || e.AsIdent() == "node" || v != nil && v.readsNode
		}
	}))
	return reads
}

// compileAll compiles every rule of @r, and returns the activation they run with.
func compileAll(r *rules, now time.Time) (*activation, error) {
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	a := &activation{now: types.Timestamp{Time: now}, variables: map[string]*variable{}}
	for i := range r.Params {
		checked, err := compile(env, &r.Params[i])
		if err != nil {
			return nil, err
		}
		value, _, err := r.Params[i].program.Eval(a)
		if err != nil {
			return nil, err
		}
		if env, err = env.Extend(cel.Constant("params."+r.Params[i].Name, checked.OutputType(), value)); err != nil {
			return nil, err
		}
	}
	for i := range r.Variables {
		checked, err := compile(env, &r.Variables[i])
		if err != nil {
			return nil, err
		}
		name := "variables." + r.Variables[i].Name
		a.variables[name] = &variable{program: r.Variables[i].program, readsNode: readsNode(checked, a.variables)}
		if env, err = env.Extend(cel.Variable(name, checked.OutputType())); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]rule{r.Filters, r.Scores} {
		for i := range list {
			if _, err := compile(env, &list[i]); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// passed means that no filter rejects the node.
const passed = -1

// filter returns the number of the first filter that rejects the node.
func (r *rules) filter(a *activation) int {
	for i := range r.Filters {
		out, _, err := r.Filters[i].program.Eval(a)
		if err != nil && r.Filters[i].OnError != "allow" || err == nil && out != types.True {
			return i
		}
	}
	return passed
}

// score returns the weighted mean of the scores.
func (r *rules) score(a *activation) float64 {
	total, weights := 0.0, 0.0
	for i := range r.Scores {
		value := 0.0
		switch out, _, err := r.Scores[i].program.Eval(a); {
		case err != nil:
			value, _ = r.Scores[i].OnError.(float64)
		case out.Type() == types.IntType:
			value = float64(out.(types.Int))
		default:
			value = float64(out.(types.Double))
		}
		total += r.Scores[i].Weight * min(max(value, 0), 100)
		weights += r.Scores[i].Weight
	}
	if weights == 0 {
		return 0
	}
	return total / weights
}
