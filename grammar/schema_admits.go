package grammar

import (
	"math/big"

	"github.com/avoformer/avoformer/fault"
)

// This file checks values of an enumeration against the other keywords.

// admitsNumber reports whether the other facts of f allow a number of an enumeration.
func admitsNumber(f *facts, v *value) (bool, error) {
	if !f.integer && !f.fraction && f.lo == nil && f.hi == nil && len(f.multiples) == 0 {
		return true, nil
	}
	n := v.rational()
	if n == nil {
		return false, errorf(fault.ErrTooLarge, "%s: %.60s has too many digits", f.path, v.text)
	}
	for _, m := range f.multiples {
		if new(big.Rat).Quo(n, m.of).IsInt() == m.not {
			return false, nil
		}
	}
	return (!f.integer || n.IsInt()) && !(f.fraction && n.IsInt()) && f.lo.below(n) && f.hi.above(n), nil
}

// admits reports whether the other facts of f allow a value of an enumeration.
func (c *schemaCompiler) admits(f *facts, v *value, types kind) (bool, error) {
	if v.kind&types == 0 {
		return false, nil
	}
	switch v.kind {
	case kindNumber:
		return admitsNumber(f, v)
	case kindString:
		return c.admitsText(f, v.text)
	case kindArray:
		if len(v.list) < f.minItems || f.maxItems >= 0 && len(v.list) > f.maxItems {
			return false, nil
		}
		if len(f.arrays)+len(f.contains)+len(f.looseItems) > 0 || f.unique != nil && len(v.list) > 1 {
			return true, c.leave(unheldAt(fault.ErrUnsupported, f.path, "a list in enum or const with keywords of its items"))
		}
	case kindObject:
		if len(v.list) < f.minProperties || f.maxProperties >= 0 && len(v.list) > f.maxProperties {
			return false, nil
		}
		if len(f.objects)+len(f.dependents)+len(f.names)+len(f.looseMembers) > 0 {
			return true, c.leave(unheldAt(fault.ErrUnsupported, f.path, "an object in enum or const with keywords of its members"))
		}
	}
	return true, nil
}
