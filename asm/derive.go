package asm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/asm/arch"
)

// Data derived from a record: implementations and their names, the signature, the contract, and
// whether the record is complete.

// implementations returns k.On, or one implementation per tier, for those tiers
// that are in tiers.
func (k Kernel) implementations(tiers []arch.Tier) []implementation {
	on := k.On
	if on == nil {
		for _, t := range arch.Tiers {
			on = append(on, On{Tier: t.Name})
		}
	}
	var all []implementation
	for _, o := range on {
		if i := slices.IndexFunc(tiers, func(t arch.Tier) bool { return t.Name == o.Tier }); i >= 0 {
			if o.Body == nil {
				o.Body = k.Body
			}
			all = append(all, implementation{k, o, tiers[i]})
		}
	}
	return all
}

// implementation is a kernel on a tier.
type implementation struct {
	kernel Kernel
	on     On
	tier   arch.Tier
}

// name distinguishes the implementation from the kernel's other ones; it is
// the end of the symbol.
func (im implementation) name() string {
	name := im.tier.Name
	for _, f := range im.on.Needs {
		name += f.Suffix
	}
	return name
}

func (im implementation) symbol() string { return im.kernel.Name + im.name() }

// features returns the features, by avo's names, that the instructions may need.
func (im implementation) features() []string {
	features := slices.Clone(im.tier.Features)
	for _, f := range im.on.Needs {
		features = append(features, f.Avo...)
	}
	return features
}

// leave returns the instructions that must come before a return.
func (im implementation) leave() (all []string) {
	for _, f := range im.on.Needs {
		all = append(all, f.Leave...)
	}
	return append(all, im.tier.Leave...)
}

// mostElements is the largest number of elements of a call that takes at most 100 µs on a slow core: at
// 2 GHz, with memory that delivers 4 GB/s and 12 bytes per element, or 6 cycles per element.
const mostElements = 1 << 15

func (im implementation) elements() int {
	if n, ok := im.kernel.Elements[im.name()]; ok {
		return n
	}
	return mostElements
}

// signature returns the Go function type.
func (k Kernel) signature() string {
	var b strings.Builder
	for i, p := range k.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.paramName())
		if i+1 == len(k.Params) || k.Params[i+1].paramType() != p.paramType() {
			b.WriteString(" " + p.paramType())
		}
	}
	sig := "func(" + b.String() + ")"
	if k.Result != "" {
		sig += " " + k.Result
	}
	return sig
}

func (k Kernel) paramNames() []string {
	names := make([]string, len(k.Params))
	for i, p := range k.Params {
		names[i] = p.paramName()
	}
	return names
}

func (k Kernel) operands() (ops []Operand) {
	for _, p := range k.Params {
		if o, ok := p.(Operand); ok {
			ops = append(ops, o)
		}
	}
	return ops
}

// sizes returns all sizes; sizes that the parameters' values depend on come first.
func (k Kernel) sizes() []Size {
	sizes := slices.Clone(k.Sizes)
	var hints []Size
	for _, p := range k.Params {
		if s, ok := p.(Size); ok && s.Hint {
			hints = append(hints, s)
		} else if ok {
			sizes = append(sizes, s)
		}
	}
	return append(sizes, hints...)
}

var identifier = regexp.MustCompile(`[a-z]\w*`)

// inGo returns e as Go code of the dispatching function. A size that is not a parameter becomes the length
// of a slice.
func (k Kernel) inGo(e Expr) (string, error) {
	var err error
	code := identifier.ReplaceAllStringFunc(string(e), func(name string) string {
		if slices.Contains(k.paramNames(), name) {
			return name
		}
		for _, o := range k.operands() {
			if o.Rows == "1" && string(o.Cols) == name {
				return "len(" + o.Name + ")"
			}
		}
		err = fmt.Errorf("%s: no parameter and no slice tells the size %s", k.Name, name)
		return name
	})
	return code, err
}

// check finds missing fields and contradictions in a record.
func (k Kernel) check() error {
	var scalars, strides []string
	for _, p := range k.Params {
		switch p := p.(type) {
		case Scalar:
			scalars = append(scalars, p.Name)
			if len(p.Values) == 0 {
				return fmt.Errorf("%s: no value for %s", k.Name, p.Name)
			}
		case Stride:
			strides = append(strides, string(p))
		}
	}
	for _, o := range k.On {
		for _, f := range o.Needs {
			if err := f.Check(); err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
	}
	written := k.Result != ""
	for _, o := range k.operands() {
		for _, e := range []Expr{o.Rows, o.Cols} {
			if _, err := k.inGo(e); err != nil {
				return err
			}
		}
		if o.Stride != "" && !slices.Contains(strides, o.Stride) {
			return fmt.Errorf("%s: no parameter %s, the stride of %s", k.Name, o.Stride, o.Name)
		}
		if o.Beta != "" && !slices.Contains(scalars, o.Beta) {
			return fmt.Errorf("%s: no parameter %s, which says whether %s is read", k.Name, o.Beta, o.Name)
		}
		for _, name := range o.Same {
			if !slices.Contains(k.paramNames(), name) {
				return fmt.Errorf("%s: no operand %s, which %s may be", k.Name, name, o.Name)
			}
		}
		written = written || o.Access&Write != 0
	}
	for _, s := range strides {
		if !slices.ContainsFunc(k.operands(), func(o Operand) bool { return o.Stride == s }) {
			return fmt.Errorf("%s: %s is the stride of no operand", k.Name, s)
		}
	}
	for _, s := range k.sizes() {
		if len(s.Values) == 0 && s.From == "" {
			return fmt.Errorf("%s: no values for the size %s", k.Name, s.Name)
		}
	}
	if !written {
		return fmt.Errorf("%s: neither writes an operand nor returns anything", k.Name)
	}
	return nil
}

// contract returns the comment of the kernel's declarations, after its symbol.
func (k Kernel) contract() []string {
	lines := append(slices.Clone(k.Doc), "")
	width := 0
	for _, o := range k.operands() {
		width = max(width, len(o.Name))
	}
	for _, o := range k.operands() {
		lines = append(lines, fmt.Sprintf("\t%-*s %s", width, o.Name, o.describe()))
	}
	var least []string
	for _, s := range k.sizes() {
		if s.Least > 0 {
			least = append(least, s.Name+" >= "+strconv.Itoa(s.Least))
		}
	}
	last := "Operands that are written overlap no others, unless it says so."
	if len(least) > 0 {
		last = strings.Join(least, ", ") + ". " + last
	}
	return append(lines, "", last)
}

// describe returns the operand in words.
func (o Operand) describe() string {
	var w []string
	shape := fmt.Sprintf("%s x %s", o.Rows, o.Cols)
	if o.Rows == "1" {
		shape = string(o.Cols)
	}
	if o.Elem != Float32 {
		shape += " " + string(o.Elem)
	}
	w = append(w, shape)
	if o.Stride != "" {
		apart := "rows " + o.Stride + " apart"
		if o.OneRow {
			apart += ", or one row where that is 0"
		}
		w = append(w, apart)
	}
	switch {
	case o.Access == Scratch:
		w = append(w, "scratch")
	case o.Beta != "":
		w = append(w, "written, and read unless "+o.Beta+" is 0")
	case o.Access == Read|Write:
		w = append(w, "read and written")
	case o.Access == Write:
		w = append(w, "written")
	}
	if o.MayBeEmpty {
		w = append(w, "may be empty")
	}
	if len(o.Same) > 0 {
		w = append(w, "may be "+strings.Join(o.Same, " or ")+" itself")
	}
	return strings.Join(w, ", ")
}
