// This file has flags that apply to all models of a server, or to one.

package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve"
)

const eachUsage = "; NAME=VALUE is for one model"

// perModel is the value of a flag that may be given several times: VALUE for all models, NAME=VALUE
// for one.
type perModel struct {
	all string
	one map[string]string // values that of has not returned yet
}

func (p *perModel) String() string { return p.all }

// Set parses VALUE or NAME=VALUE.
func (p *perModel) Set(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok {
		p.all = v
		return nil
	}
	if p.one == nil {
		p.one = map[string]string{}
	}
	p.one[name] = value
	return nil
}

// of returns the value for a model, under its name or an alias. Without a value it returns without.
func (p *perModel) of(m *serve.Model, without string) string {
	for _, name := range namesOf(m) {
		if v, ok := p.one[name]; ok {
			delete(p.one, name)
			return v
		}
	}
	if p.all != "" {
		return p.all
	}
	return without
}

// where is like of, for a flag that applies only to some kinds of models: the value for all models
// does not count for a model to which it does not apply.
func (p *perModel) where(applies bool, m *serve.Model, without string) string {
	if applies {
		return p.of(m, without)
	}
	own := perModel{one: p.one}
	return own.of(m, without)
}

// unused returns a name in the flag that is not the name of a model, or "".
func (p *perModel) unused() string {
	for _, name := range slices.Sorted(maps.Keys(p.one)) {
		return name
	}
	return ""
}

// namesOf returns the names of a model: its own, or the default names of its folder.
func namesOf(m *serve.Model) []string {
	if m.Name == "" {
		return append([]string{serve.NameOf(m.Dir)}, serve.AliasesOf(m.Dir)...)
	}
	return append([]string{m.Name}, m.Aliases...)
}
