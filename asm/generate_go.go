package asm

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// stubs declares the assembly functions. Their contracts are in enumeration.
func stubs(catalog []Kernel, tiers []arch.Tier) string {
	var w bytes.Buffer
	w.WriteString("// The functions in assembly. The constant Kernel... of each, in kernels.go, has its contract.\n\n")
	for _, k := range catalog {
		for _, im := range k.implementations(tiers) {
			fmt.Fprintf(&w, "//go:noescape\nfunc %s%s\n\n", im.symbol(), strings.TrimPrefix(k.signature(), "func"))
		}
	}
	return w.String()
}

// dispatch writes the functions that choose between the implementations and the pure-Go twin.
func dispatch(catalog []Kernel, tiers []arch.Tier) string {
	var w bytes.Buffer
	if len(tiers) > 0 {
		fmt.Fprintf(&w, "import \"github.com/avoformer/avoformer/internal/race\"\n\n")
	}
	for _, k := range catalog {
		args := strings.Join(k.paramNames(), ", ")
		ret := ""
		if k.Result != "" {
			ret = "return "
		}
		fmt.Fprintf(&w, "// %s runs the implementation for the tier. [Kernel%[1]s] has its contract.\n", exported(k.Name))
		fmt.Fprintf(&w, "func %s(isa ISA, %s {\n", exported(k.Name), strings.TrimPrefix(k.signature(), "func("))
		ims := k.implementations(tiers)
		if len(ims) == 0 {
			fmt.Fprintf(&w, "%s%sGeneric(%s)\n}\n\n", ret, k.Name, args)
			continue
		}
		fmt.Fprintf(&w, "%sswitch chosen[Kernel%s][isa&isaMask] {\n", raceReports(k), exported(k.Name))
		for i, im := range ims {
			fmt.Fprintf(&w, "case %d:\n%s%s(%s)\n", i, ret, im.symbol(), args)
		}
		fmt.Fprintf(&w, "default:\n%s%sGeneric(%s)\n}\n}\n\n", ret, k.Name, args)
	}
	return w.String()
}

// raceReports returns code that reports the memory that k reads and writes to the race detector,
// which does not observe assembly.
func raceReports(k Kernel) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "if race.Enabled {\n")
	for _, o := range k.operands() {
		access := "Read"
		if o.Access != Read {
			access = "Write"
		}
		if o.Rows == "1" || o.Access == Scratch {
			fmt.Fprintf(&w, "race%s(%s)\n", access, o.Name)
			continue
		}
		rows, _ := k.inGo(o.Rows)
		cols, _ := k.inGo(o.Cols)
		ld := o.Stride
		if ld == "" {
			ld = cols
		}
		if o.MayBeEmpty {
			fmt.Fprintf(&w, "if len(%s) > 0 {\n", o.Name)
		}
		fmt.Fprintf(&w, "race%sRows(%s, %s, %s, %s)\n", access, o.Name, rows, cols, ld)
		if o.MayBeEmpty {
			fmt.Fprintf(&w, "}\n")
		}
	}
	fmt.Fprintf(&w, "}\n")
	return w.String()
}

// genericTile is the register tile of the pure-Go path.
var genericTile = arch.Tile{MR: 4, NR: 8}

// implementationTable writes the data of each implementation that drivers may ask for.
func implementationTable(catalog []Kernel, tiers []arch.Tier) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// implementations lists those of each kernel that this architecture has, best first.\n")
	fmt.Fprintf(&w, "var implementations = [numKernels][]Implementation{\n")
	for _, k := range catalog {
		fmt.Fprintf(&w, "Kernel%s: {\n", exported(k.Name))
		for _, im := range k.implementations(tiers) {
			var needs []string
			for _, f := range im.on.Needs {
				needs = append(needs, f.Name)
			}
			fmt.Fprintf(&w, "{Name: %q, ISA: %s, ", strings.ToLower(im.name()), im.tier.Name)
			if len(needs) > 0 {
				fmt.Fprintf(&w, "Needs: %s, ", strings.Join(needs, "|"))
			}
			fmt.Fprintf(&w, "Width: %d, MR: %d, NR: %d, Elements: %d},\n", im.tier.Width, im.tier.Gemm.MR, im.tier.Gemm.NR, im.elements())
		}
		fmt.Fprintf(&w, "{Name: \"generic\", ISA: Generic, Width: 1, MR: %d, NR: %d, Elements: maxInt},\n},\n", genericTile.MR, genericTile.NR)
	}
	fmt.Fprintf(&w, "}\n")
	return w.String()
}

// functionTable writes the functions that tests must cover, in the order of implementations.
func functionTable(catalog []Kernel, tiers []arch.Tier) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// functions are the implementations of each kernel.\nvar functions = [numKernels][]any{\n")
	for _, k := range catalog {
		fmt.Fprintf(&w, "Kernel%s: {", exported(k.Name))
		for _, im := range k.implementations(tiers) {
			fmt.Fprintf(&w, "%s, ", im.symbol())
		}
		fmt.Fprintf(&w, "%sGeneric},\n", k.Name)
	}
	fmt.Fprintf(&w, "}\n")
	return w.String()
}

// enumeration names the kernels, with their contracts and the data that their callers need.
func enumeration(catalog []Kernel) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// The kernels.\nconst (\n")
	for i, k := range catalog {
		lines := k.contract()
		lines[0] = "Kernel" + exported(k.Name) + " " + lines[0]
		for _, line := range lines {
			fmt.Fprintf(&w, "// %s\n", line)
		}
		fmt.Fprintf(&w, "Kernel%s", exported(k.Name))
		if i == 0 {
			fmt.Fprintf(&w, " Kernel = iota")
		}
		fmt.Fprintln(&w)
	}
	fmt.Fprintf(&w, "numKernels\n)\n\nvar kernelNames = [numKernels]string{\n")
	for _, k := range catalog {
		fmt.Fprintf(&w, "%q,\n", k.Name)
	}
	fmt.Fprintf(&w, `}

const (
	// ShortQueries is the largest number of queries, and of keys, for AttnShort. Their
	// scores need ShortRows rows of ShortQueries elements.
	ShortQueries, ShortRows = %d, %d
	// FewKeys is the largest number of keys for AttnFew. The scores of a query need FewRow elements.
	FewKeys, FewRow = %d, %d
	// FetchedPiece is the number of bytes that AttnPanels fetches at a time.
	FetchedPiece = %d
	// Int8Stretch is the largest number of integers of a row that share a scale, and WeightBlock is
	// the largest one if the weights are in blocks.
	Int8Stretch, WeightBlock = %d, %d
	// RotateBlock is the number of elements of a row that are rotated together, and RotateGroup is the number for the rest of a row.
	RotateBlock, RotateGroup = %d, %d
	// SignPanel is the number of vectors in a panel of signs.
	SignPanel = %d
	// Weights of attention become words of WeightBits bits, and values words of at most ValueTop; sums of their products
	// have 31 bits for MostWordKeys keys.
	WeightBits, ValueTop, MostWordKeys = %d, %d, %d
	// TileSums is the number of sums in the tiles of Int8Tiles.
	TileSums = %d
	// BlockTileWork is the number of elements of 32 bits that products of blocks by tiles work in.
	BlockTileWork = %d
	// PanelsAtOnce is the number of panels that the kernels of one row multiply side by side.
	PanelsAtOnce = %d
)
`, kernel.ShortQueries, kernel.ShortRows, kernel.FewKeys, kernel.FewRow, kernel.FetchedPiece, kernel.Int8Stretch, kernel.WeightBlock, kernel.RotateBlock, kernel.RotateGroup, kernel.SignPanel,
		kernel.WeightBits, kernel.ValueTop, kernel.MostWordKeys, kernel.TileSums, kernel.BlockTileWork, kernel.PanelsAtOnce)
	fmt.Fprintf(&w, "\n// The layouts of weights in blocks, by kernel.\nvar (\n")
	for _, k := range catalog {
		if l := k.Blocks; l.Elements > 0 {
			fmt.Fprintf(&w, "%sLayout = BlockLayout{Elements: %d, Bits: %d, Group: %d, Scales: %t, Least: %t, Codes: %d, Head: %d, SubScales: %d, SubBytes: %d, Bytes: %d}\n",
				exported(k.Name), l.Elements, l.Bits, l.Group, l.Scales, l.Least, l.Codes, l.Head(), l.SubScales(), l.SubBytes(), l.Bytes())
		}
	}
	fmt.Fprintf(&w, ")\n")
	return w.String()
}

// recordTable writes the records for the tests.
func recordTable(catalog []Kernel) string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "// records say how tests call the kernels.\nvar records = [numKernels]record{\n")
	for _, k := range catalog {
		fmt.Fprintf(&w, "Kernel%s: {%ssums: %d, sizes: []size{\n", exported(k.Name),
			set("exact", k.Close.Exact)+set("relative", k.Close.Relative), max(k.Close.Sums, 1))
		var known []string
		for _, s := range k.sizes() {
			values := s.From
			if values == "" {
				list := make([]string, len(s.Values))
				for i, e := range s.Values {
					list[i] = inShape(e, known)
				}
				values = "func(s shape) []int { return []int{" + strings.Join(list, ", ") + "} }"
			}
			fmt.Fprintf(&w, "{name: %q, %s%sleast: %d, values: %s},\n", s.Name, set("each", s.Each), set("hint", s.Hint), s.Least, values)
			known = append(known, s.Name)
		}
		fmt.Fprintf(&w, "}, params: []param{\n")
		for _, p := range k.Params {
			switch p := p.(type) {
			case Operand:
				fmt.Fprintf(&w, "{name: %q, operand: &operand{%s}},\n", p.Name, p.forTests(known))
			case Scalar:
				fmt.Fprintf(&w, "{name: %q, values: %#v},\n", p.Name, p.Values)
			default:
				fmt.Fprintf(&w, "{name: %q},\n", p.paramName())
			}
		}
		fmt.Fprintf(&w, "}},\n")
	}
	fmt.Fprintf(&w, "}\n")
	return w.String()
}

// forTests returns the operand's fields in the tests.
func (o Operand) forTests(sizes []string) string {
	fields := fmt.Sprintf("rows: func(s shape) int { return %s }, cols: func(s shape) int { return %s }, ", inShape(o.Rows, sizes), inShape(o.Cols, sizes))
	fields += text("stride", o.Stride) + text("beta", o.Beta)
	fields += set("oneRow", o.OneRow) + set("read", o.Access&Read != 0) + set("write", o.Access != Read) + set("scratch", o.Access == Scratch)
	if len(o.Same) > 0 {
		fields += fmt.Sprintf("same: %#v", o.Same)
	}
	return strings.TrimSuffix(fields, ", ")
}

// set and text return a field of a literal, or "" if the field has its zero value.

func set(field string, value bool) string {
	if !value {
		return ""
	}
	return field + ": true, "
}

func text(field, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("%s: %q, ", field, value)
}

var shapeName = regexp.MustCompile(`\b[a-z]\w*\b`)

// inShape returns e as Go code of the tests, in which a shape s has the sizes.
func inShape(e Expr, known []string) string {
	return shapeName.ReplaceAllStringFunc(string(e), func(name string) string {
		if slices.Contains(known, name) || slices.Contains([]string{"width", "mr", "nr"}, name) {
			return fmt.Sprintf("s[%q]", name)
		}
		return name
	})
}

// spelled has the spelling of parts of names that have more than one capital letter.
var spelled = []struct{ lower, upper string }{{"axpy", "AXPY"}, {"bfloat", "BFloat"}, {"gelu", "GELU"}, {"relu", "ReLU"}, {"rms", "RMS"}, {"silu", "SiLU"}}

// exported returns the name of the function that chooses among a kernel's implementations.
func exported(name string) string {
	for _, s := range spelled {
		if rest, ok := strings.CutPrefix(name, s.lower); ok {
			return s.upper + rest
		}
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
