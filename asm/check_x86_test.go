package asm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
)

// tier returns the catalog's tier of that name.
func tier(t *testing.T, name string) arch.Tier {
	t.Helper()
	for _, tier := range arch.Tiers {
		if tier.Name == name {
			return tier
		}
	}
	t.Fatalf("the catalog has no tier %s", name)
	return arch.Tier{}
}

// TestCheckX86 runs the check on functions that break one rule each.
func TestCheckX86(t *testing.T) {
	end := func(c *build.Context) {
		c.VZEROUPPER()
		c.RET()
	}
	tiles := func(c *build.Context, opcodes ...string) {
		for _, opcode := range opcodes {
			c.Instruction(&ir.Instruction{Opcode: opcode, ISA: []string{"AMXTILE"}})
		}
	}
	for _, test := range []struct {
		name string
		tier string
		body func(*build.Context)
		want string // part of the error; empty if no error is expected
	}{
		{"tiles", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "LDTILECFG", "TILEZERO", "TILERELEASE")
			end(c)
		}, ""},
		{"tiles without the feature", "AVX2", func(c *build.Context) {
			tiles(c, "LDTILECFG", "TILERELEASE")
			end(c)
		}, "LDTILECFG needs AMXTILE, which AVX2 does not have"},
		{"tiles that are not released", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "LDTILECFG", "TILEZERO")
			end(c)
		}, "RET without TILERELEASE, VZEROUPPER"},
		{"tiles released behind VZEROUPPER", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "LDTILECFG")
			c.VZEROUPPER()
			tiles(c, "TILERELEASE")
			c.RET()
		}, "RET without TILERELEASE, VZEROUPPER"},
		{"release jumped over", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "LDTILECFG")
			c.TESTQ(reg.RAX, reg.RAX)
			c.JZ(operand.LabelRef("out"))
			tiles(c, "TILERELEASE")
			c.Label("out")
			end(c)
		}, "JZ leaves the function"},
		{"tiles without a configuration", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "TILEZERO", "LDTILECFG", "TILERELEASE")
			end(c)
		}, "TILEZERO before LDTILECFG"},
		{"unknown tile instruction", "AVX2 AMX", func(c *build.Context) {
			tiles(c, "LDTILECFG")
			c.Instruction(&ir.Instruction{Opcode: "TDPBSSD"})
			tiles(c, "TILERELEASE")
			end(c)
		}, "TDPBSSD names no CPU feature"},
		{"bytes", "AVX2", func(c *build.Context) {
			c.Instruction(&ir.Instruction{Opcode: "LONG", Operands: []operand.Op{operand.U32(0x49787ac4)}})
			end(c)
		}, "LONG names no CPU feature"},
		{"AVX2", "AVX2", func(c *build.Context) {
			c.VFMADD231PS(c.YMM(), c.YMM(), c.YMM())
			end(c)
		}, ""},
		{"AVX-512", "AVX512", func(c *build.Context) {
			c.VSCALEFPS(c.ZMM(), c.ZMM(), c.ZMM())
			end(c)
		}, ""},
		{"other tier's instruction", "AVX2", func(c *build.Context) {
			c.VSCALEFPS(c.ZMM(), c.ZMM(), c.ZMM())
			end(c)
		}, "VSCALEFPS needs AVX512F"},
		{"BMI", "AVX2", func(c *build.Context) {
			c.BZHIQ(c.GP64(), c.GP64(), c.GP64())
			end(c)
		}, "BZHIQ needs BMI2"},
		{"extension outside the tier", "AVX512", func(c *build.Context) {
			c.VPERMB(c.ZMM(), c.ZMM(), c.ZMM())
			end(c)
		}, "VPERMB needs AVX512VBMI"},
		{"legacy SSE", "AVX2", func(c *build.Context) {
			c.ADDPS(c.XMM(), c.XMM())
			end(c)
		}, "ADDPS needs SSE"},
		{"high register", "AVX2", func(c *build.Context) {
			c.VADDPS(reg.Y16, reg.Y1, reg.Y2)
			end(c)
		}, "VADDPS uses vector register Y16"},
		{"unknown instruction", "AVX512", func(c *build.Context) {
			c.Instruction(&ir.Instruction{Opcode: "VPDPBUSD", Operands: []operand.Op{reg.Z0, reg.Z1, reg.Z2}})
			end(c)
		}, "VPDPBUSD names no CPU feature"},
		{"no VZEROUPPER", "AVX2", func(c *build.Context) {
			c.VADDPS(c.YMM(), c.YMM(), c.YMM())
			c.RET()
		}, "RET without VZEROUPPER"},
		{"VZEROUPPER too early", "AVX2", func(c *build.Context) {
			c.VZEROUPPER()
			c.VADDPS(c.YMM(), c.YMM(), c.YMM())
			c.RET()
		}, "RET without VZEROUPPER"},
		{"VZEROUPPER jumped over", "AVX2", func(c *build.Context) {
			c.TESTQ(reg.RAX, reg.RAX)
			c.JZ(operand.LabelRef("out"))
			c.VZEROUPPER()
			c.Label("out")
			c.RET()
		}, "JZ leaves the function"},
		{"second RET", "AVX2", func(c *build.Context) {
			c.TESTQ(reg.RAX, reg.RAX)
			c.JZ(operand.LabelRef("other"))
			end(c)
			c.Label("other")
			c.RET()
		}, "leaves the function"},
		{"no RET", "AVX2", func(c *build.Context) {
			c.VZEROUPPER()
		}, "runs past its end"},
		{"GFNI", "AVX512", func(c *build.Context) {
			c.VGF2P8AFFINEQB(operand.U8(0), c.ZMM(), c.ZMM(), c.ZMM())
			end(c)
		}, "VGF2P8AFFINEQB"},
		{"reciprocal square root", "AVX512", func(c *build.Context) {
			c.VRSQRT14PS(c.ZMM(), c.ZMM())
			end(c)
		}, "VRSQRT14PS is computed wrongly"},
		{"masked reciprocal square root", "AVX512", func(c *build.Context) {
			c.VRSQRT14PS_Z(c.ZMM(), c.K(), c.ZMM())
			end(c)
		}, "VRSQRT14PS is computed wrongly"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := build.NewContext()
			ctx.Function("kernel")
			ctx.Attributes(attr.NOSPLIT)
			ctx.SignatureExpr("func()")
			test.body(ctx)
			file, err := ctx.Result()
			if err != nil {
				t.Fatal(err)
			}
			if err := compile.Execute(file); err != nil {
				t.Fatal(err)
			}
			name, withTiles := strings.CutSuffix(test.tier, " AMX")
			im := implementation{tier: tier(t, name)}
			if withTiles {
				im.on.Needs = []arch.Feature{arch.AMX}
			}
			err = checkX86(im, file.Functions()[0])
			switch {
			case err == nil && test.want != "":
				t.Errorf("accepted, want an error with %q", test.want)
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %q, want one with %q", err, test.want)
			}
		})
	}
}

// TestAssemblyText reads the committed assembly as text. Its rules do not use avo's tables, and so
// find mistakes in the tables or in the check.
func TestAssemblyText(t *testing.T) {
	names, err := filepath.Glob("../kernels/internal/simd/*_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wide    = regexp.MustCompile(`\b(Z[0-9]+|K[0-7]|[XY](1[6-9]|2[0-9]|3[01]))\b`)
		sse     = regexp.MustCompile(`\b[XYZ][0-9]+\b`)
		checked int
	)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), HeaderPrefix) {
			continue // handwritten
		}
		checked++
		t.Run(filepath.Base(name), func(t *testing.T) {
			avx2 := strings.Contains(name, "_avx2_")
			previous, function, returns := "", "", 0
			last, before := "", "" // lines
			for n, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "//")
				line = strings.TrimSpace(line)
				opcode, operands, _ := strings.Cut(line, " ")
				base, _, _ := strings.Cut(opcode, ".")
				switch {
				case opcode == "TEXT":
					if function != "" && returns == 0 {
						t.Errorf("%s has no RET", function)
					}
					function, returns = operands, 0
					continue
				case line == "" || opcode == "DATA" || opcode == "GLOBL" || strings.HasPrefix(line, "#"):
					continue
				case strings.HasSuffix(line, ":"): // a label: the instruction before it is not known
					previous = ""
					continue
				case opcode == "RET":
					returns++
					if previous != "VZEROUPPER" {
						t.Errorf("line %d: RET after %q, want VZEROUPPER", n+1, previous)
					}
					if strings.Contains(function, "AMX") && strings.Join(strings.Fields(before), " ") != "LONG $0x4978e2c4; BYTE $0xc0" {
						t.Errorf("line %d: %q before VZEROUPPER, want TILERELEASE", n+1, before)
					}
				}
				if avx2 && wide.MatchString(operands) {
					t.Errorf("line %d: %s is not AVX2", n+1, line)
				}
				if opcode[0] != 'V' && opcode[0] != 'K' && sse.MatchString(operands) {
					t.Errorf("line %d: %s is legacy SSE", n+1, line)
				}
				for _, d := range arch.AVX512.Distrusted {
					if base == d {
						t.Errorf("line %d: %s is computed wrongly by the emulator", n+1, opcode)
					}
				}
				previous, before = opcode, last
				last = line
			}
			if returns == 0 {
				t.Errorf("%s has no RET", function)
			}
		})
	}
	if checked == 0 {
		t.Error("there is no generated assembly to check")
	}
}

// TestEveryImplementation looks for the symbol of each implementation in the committed assembly of
// its tier.
func TestEveryImplementation(t *testing.T) {
	for _, tier := range arch.Tiers {
		var text strings.Builder
		names, err := filepath.Glob("../kernels/internal/simd/*_" + tier.File + "_" + tier.GOARCH + ".s")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for _, k := range Catalog {
			for _, im := range k.implementations([]arch.Tier{tier}) {
				if !strings.Contains(text.String(), "TEXT ·"+im.symbol()+"(SB)") {
					t.Errorf("%s has no assembly", im.symbol())
				}
			}
		}
	}
}
