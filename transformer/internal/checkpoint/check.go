package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// This file finds the tensors that a plan wants and a checkpoint lacks, and the other way round.

// Check returns an error unless every tensor is there in the right shape and none under the prefix
// is left over: a [*LoadError]. It reads no matrices and no tables.
func (p *Plan) Check(prefix string) error { return p.settle(prefix, func() {}) }

// Finish is Check that also reads and packs matrices and tables, if all are there, on as many
// threads as there are; layers can be used from then on.
func (p *Plan) Finish(prefix string) error {
	return p.settle(prefix, p.readOrPack)
}

// settle compares the plan with the source. It calls fill if nothing is wrong so far.
func (p *Plan) settle(prefix string, fill func()) error {
	for _, v := range p.tables {
		if v.absent {
			p.open(v.want) // which notes that there is none
		}
	}
	failed := len(p.err.other) // a part that could not be made did not ask for its tensors
	if p.err.count() == 0 {
		fill()
	}
	p.tables, p.matrices, p.taken = nil, nil, 0
	if failed == 0 {
		p.err.LeftOver = append(p.leftOver(prefix), p.source.unused(p.used)...)
	}
	if p.err.count() == 0 {
		return nil
	}
	slices.Sort(p.err.LeftOver)
	p.err.hint = p.err.prefixHint(prefix)
	if p.cut {
		p.err.LeftOver = nil
	}
	return &p.err
}

// leftOver returns the checkpoint's tensors that no part of the model wants.
func (p *Plan) leftOver(prefix string) (names []string) {
	for name := range p.names.listed {
		if strings.HasPrefix(name, prefix) && !p.used[name] && !matches(p.ignored, name) {
			names = append(names, name)
		}
	}
	return names
}

// prefixHint says under which prefix, instead of the given one, the missing tensors would be found,
// if they are among those left over.
func (e *LoadError) prefixHint(prefix string) string {
	for _, missing := range e.Missing {
		for _, left := range e.LeftOver {
			if front, ok := strings.CutSuffix(left, missing); ok && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", prefix+front)
			}
			want := strings.TrimPrefix(missing, prefix)
			if front, ok := strings.CutSuffix(missing, left); ok && prefix != "" && strings.HasPrefix(prefix, front) {
				return fmt.Sprintf("prefix %q would fit", strings.TrimPrefix(prefix, front))
			}
			if front, ok := strings.CutSuffix(left, want); ok && front != prefix && strings.HasSuffix(front, ".") {
				return fmt.Sprintf("prefix %q would fit", front)
			}
		}
	}
	return ""
}
