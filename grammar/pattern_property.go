package grammar

import (
	"strings"
	"unicode"
)

// This file has the properties of characters that patterns name by \p.

// propertySet returns the characters with a property; ok is false if there is no property of that
// name.
func propertySet(name string) (set []runeRange, ok bool) {
	key, value, given := strings.Cut(name, "=")
	if given {
		switch key {
		case "General_Category", "gc":
			return categorySet(value)
		case "Script", "sc", "Script_Extensions", "scx":
			t := unicode.Scripts[value]
			return tableSet(t), t != nil
		}
		return nil, false
	}
	switch name {
	case "Any":
		return []runeRange{{0, unicode.MaxRune}}, true
	case "ASCII":
		return []runeRange{{0, 0x7f}}, true
	case "Alphabetic", "Alpha":
		return tableSet(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "Uppercase", "Upper":
		return tableSet(unicode.Lu, unicode.Other_Uppercase), true
	case "Lowercase", "Lower":
		return tableSet(unicode.Ll, unicode.Other_Lowercase), true
	}
	if set, ok := categorySet(name); ok {
		return set, true
	}
	if t := unicode.Scripts[name]; t != nil { // as in package regexp
		return tableSet(t), true
	}
	t := unicode.Properties[name]
	return tableSet(t), t != nil
}

func categorySet(name string) ([]runeRange, bool) {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	t := unicode.Categories[name]
	return tableSet(t), t != nil
}

// tableSet returns the characters of tables.
func tableSet(tables ...*unicode.RangeTable) (set []runeRange) {
	for _, t := range tables {
		if t == nil {
			continue
		}
		for _, r := range t.R16 {
			set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normalised(set)
}

func appendStride(set []runeRange, lo, hi, stride rune) []runeRange {
	if stride == 1 {
		return append(set, runeRange{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		set = append(set, runeRange{r, r})
	}
	return set
}
