// Runs cel-go with the libraries of Kubernetes, with the interface of `berth eval --batch`.
//
// Reads one JSON record a line ({"id", "expr", "type_env", "bindings"}), prints one line each:
// {"id", "value": {typed}} or {"id", "error"}. Values are typed as in the conformance vectors.
// Additional fields:
//
//	"dialect": "kubernetes"  compiles like kube-apiserver 1.37, with its validators. Default: the newest
//	                      version of every library.
//	"world": {…}          a cluster (world.go); later records with "rows": true are evaluated once
//	                      for each of its nodes: {"id", "rows": [{"value": …}, {"error": …}]}
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

const lineMax = 64 << 20

type request struct {
	ID           string `json:"id"`
	Expr         string `json:"expr"`
	Dialect      string `json:"dialect"`
	DisableCheck bool   `json:"disable_check"`
	Rows         bool   `json:"rows"`
	TypeEnv      []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"type_env"`
	Bindings map[string]*typed `json:"bindings"`
	World    *worldInput       `json:"world"`
}

type answer struct {
	ID    string   `json:"id,omitempty"`
	Value *typed   `json:"value,omitempty"`
	Error string   `json:"error,omitempty"`
	Rows  []answer `json:"rows,omitempty"`
}

// plainEnv has the newest version of every library, like berth with --plain.
func plainEnv() (*cel.Env, error) {
	return cel.NewEnv(cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(), ext.Strings(), ext.Math(), ext.Encoders(), ext.Sets(), ext.Lists(),
		ext.Bindings(), ext.TwoVarComprehensions(), ext.Regex(), library.URLs(), library.Regex(),
		library.Lists(library.ListsVersion(1)), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)))
}

// dialect makes an environment as strict as that of Kubernetes, for policies.
func dialect(env *cel.Env) (*cel.Env, error) {
	return env.Extend(cel.HomogeneousAggregateLiterals(), cel.ASTValidators(
		cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
		cel.ValidateHomogeneousAggregateLiterals()))
}

func kubernetesEnv() (*cel.Env, error) {
	set := environment.MustBaseEnvSet(version.MajorMinor(1, 37))
	return set.NewExpressionsEnv().Extend(library.JSONPatch())
}

type peer struct {
	plain, kubernetes *cel.Env
	world             *world
}

func (p *peer) envFor(r *request) (*cel.Env, error) {
	env := p.plain
	if r.Dialect == "kubernetes" {
		env = p.kubernetes
	}
	if r.Rows {
		if p.world == nil {
			return nil, fmt.Errorf("rows without a world")
		}
		env = p.world.env
	}
	var options []cel.EnvOption
	for _, variable := range r.TypeEnv {
		t, err := parseType(variable.Type)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.Variable(variable.Name, t))
	}
	if len(options) == 0 {
		return env, nil
	}
	return env.Extend(options...)
}

func (p *peer) compile(r *request) (cel.Program, error) {
	env, err := p.envFor(r)
	if err != nil {
		return nil, err
	}
	var ast *cel.Ast
	var issues *cel.Issues
	if r.DisableCheck {
		ast, issues = env.Parse(r.Expr)
	} else {
		ast, issues = env.Compile(r.Expr)
	}
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast)
}

func evaluate(program cel.Program, variables map[string]any) answer {
	out, _, err := program.Eval(variables)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: toTyped(out)}
}

// answer converts a panic of cel-go to an error.
func (p *peer) answer(r *request) (a answer) {
	defer func() {
		if reason := recover(); reason != nil {
			a = answer{ID: r.ID, Error: fmt.Sprintf("panic: %v", reason)}
		}
	}()
	if r.World != nil {
		env, err := dialect(p.plain)
		if err != nil {
			return answer{ID: r.ID, Error: err.Error()}
		}
		world, err := newWorld(env, r.World)
		if err != nil {
			return answer{ID: r.ID, Error: err.Error()}
		}
		p.world = world
		return answer{ID: r.ID}
	}
	program, err := p.compile(r)
	if err != nil {
		return answer{ID: r.ID, Error: err.Error()}
	}
	if r.Rows {
		a.ID = r.ID
		for i := range p.world.rows {
			a.Rows = append(a.Rows, evaluate(program, p.world.variables(i)))
		}
		return a
	}
	variables := map[string]any{}
	for name, value := range r.Bindings {
		variables[name] = ref.Val(fromTyped(value, nil))
	}
	a = evaluate(program, variables)
	a.ID = r.ID
	return a
}

func main() {
	plain, err := plainEnv()
	if err != nil {
		panic(err)
	}
	kubernetes, err := kubernetesEnv()
	if err != nil {
		panic(err)
	}
	p := &peer{plain: plain, kubernetes: kubernetes}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineMax)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		r := &request{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			panic(err)
		}
		if err := encoder.Encode(p.answer(r)); err != nil {
			panic(err)
		}
	}
	if lines.Err() != nil {
		panic(lines.Err())
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
}
