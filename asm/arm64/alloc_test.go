package arm64

import (
	"strings"
	"testing"
)

// assembly builds one function and returns its text.
func assembly(t *testing.T, build func(f *Function)) (string, error) {
	t.Helper()
	file := NewFile()
	build(file.Function("f", "func(p *float32, n int)"))
	b, err := file.Assembly()
	return string(b), err
}

func mustAssemble(t *testing.T, build func(f *Function)) string {
	t.Helper()
	s, err := assembly(t, build)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func distinct(t *testing.T, what string, regs ...*register) {
	t.Helper()
	for i, a := range regs {
		for _, b := range regs[:i] {
			if a.physical == b.physical {
				t.Errorf("%s: two registers share number %d", what, a.physical)
			}
		}
	}
}

func params(f *Function) (p, n GP) {
	p, n = f.GP(), f.GP()
	f.Load(f.Param("p"), p)
	f.Load(f.Param("n"), n)
	return p, n
}

// TestDeadOutputGetsItsOwnRegister: a result that no instruction reads must not be in a live
// register.
func TestDeadOutputGetsItsOwnRegister(t *testing.T) {
	var live, dead, pairDead Vec
	mustAssemble(t, func(f *Function) {
		p, _ := params(f)
		live, dead, pairDead = f.V(), f.V(), f.V()
		f.FMOVQ(At(p, 0), live)
		f.FMOVQ(At(p, 16), dead)
		f.FLDPQ(At(p, 32), dead, pairDead)
		f.FMOVQStore(live, At(p, 0))
		f.RET()
	})
	distinct(t, "live beside dead", live.r, dead.r, pairDead.r)
}

// TestPostIndexedBaseIsWritten: the base that a post-indexed load advances is a second output.
func TestPostIndexedBaseIsWritten(t *testing.T) {
	var p, q GP
	mustAssemble(t, func(f *Function) {
		p, _ = params(f)
		q = f.GP()
		f.load("MOVD", Post(p, 8), 8, q, q.r)
		f.RET()
	})
	distinct(t, "base and destination", p.r, q.r)
}

// TestLoopCarried: a register is live throughout a loop if it is written before the loop and read
// in it, or if it is written at the loop's end and read at its start.
func TestLoopCarried(t *testing.T) {
	var sum, scale, last, x, y Vec
	mustAssemble(t, func(f *Function) {
		p, n := params(f)
		sum, scale, last, x, y = f.V(), f.V(), f.V(), f.V(), f.V()
		f.VMOVI(0, sum.B16())
		f.VMOVI(0, last.B16())
		f.FMOVQ(At(p, 0), scale)
		f.Label("loop")
		f.FMOVQ(Post(p, 16), x)
		f.VFMUL(scale.S4(), x.S4(), y.S4())
		f.VFADD(last.S4(), sum.S4(), sum.S4())
		f.VMOV(y, last) // read in the next round
		f.SUBS(Imm(4), n, n)
		f.BCond(GT, "loop")
		f.FMOVQStore(sum, At(p, 0))
		f.RET()
	})
	distinct(t, "loop", sum.r, scale.r, last.r, x.r)
	distinct(t, "loop", sum.r, scale.r, last.r, y.r)
}

// TestReadModifyWrite: instructions that read their destination keep it alive until then.
func TestReadModifyWrite(t *testing.T) {
	ops := map[string]func(f *Function, m, n, d Vec){
		"VFMLA":            func(f *Function, m, n, d Vec) { f.VFMLA(m.S4(), n.S4(), d.S4()) },
		"VFMLS":            func(f *Function, m, n, d Vec) { f.VFMLS(m.S4(), n.S4(), d.S4()) },
		"VFMLA by element": func(f *Function, m, n, d Vec) { f.VFMLA(m.S(1), n.S4(), d.S4()) },
		"VBSL":             func(f *Function, m, n, d Vec) { f.VBSL(m.B16(), n.B16(), d.B16()) },
		"VBIT":             func(f *Function, m, n, d Vec) { f.VBIT(m.B16(), n.B16(), d.B16()) },
		"VBIF":             func(f *Function, m, n, d Vec) { f.VBIF(m.B16(), n.B16(), d.B16()) },
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			var m, n, d Vec
			mustAssemble(t, func(f *Function) {
				p, _ := params(f)
				m, n, d = f.V(), f.V(), f.V()
				f.FMOVQ(At(p, 0), d)
				f.FMOVQ(At(p, 16), m)
				f.FMOVQ(At(p, 32), n)
				op(f, m, n, d)
				f.FMOVQStore(d, At(p, 0))
				f.RET()
			})
			distinct(t, name, m.r, n.r, d.r)
			// A destination without a value is an error.
			_, err := assembly(t, func(f *Function) {
				p, _ := params(f)
				m, n, d = f.V(), f.V(), f.V()
				f.FMOVQ(At(p, 16), m)
				f.FMOVQ(At(p, 32), n)
				op(f, m, n, d)
				f.RET()
			})
			if err == nil || !strings.Contains(err.Error(), "read before it is written") {
				t.Errorf("error %v, want one about reading before writing", err)
			}
		})
	}
	t.Run("VLD1Lane", func(t *testing.T) {
		_, err := assembly(t, func(f *Function) {
			p, _ := params(f)
			f.VLD1Lane(At(p, 0), f.V().S(1))
			f.RET()
		})
		if err == nil {
			t.Error("loading a lane of an undefined register is not an error")
		}
	})
}

// liveVectors keeps k vectors alive at the same time.
func liveVectors(k int) func(f *Function) {
	return func(f *Function) {
		p, _ := params(f)
		var vs []Vec
		for i := range k {
			vs = append(vs, f.V())
			f.FMOVQ(At(p, 16*i), vs[i])
		}
		for i, v := range vs {
			f.FMOVQStore(v, At(p, 16*i))
		}
		f.RET()
	}
}

func TestExhaustion(t *testing.T) {
	if _, err := assembly(t, liveVectors(32)); err != nil {
		t.Errorf("32 live vectors: %v", err)
	}
	_, err := assembly(t, liveVectors(33))
	want := "alloc_test.go:"
	if err == nil || !strings.Contains(err.Error(), "f: out of vector registers: 33 are live at FMOVQ, and 32 can be allocated") ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("33 live vectors: error %v, want it to name the place, the class and the numbers", err)
	}
	general := func(k int) func(f *Function) {
		return func(f *Function) {
			var rs []GP
			for i := range k {
				rs = append(rs, f.GP())
				f.MOVI(int64(i), rs[i])
			}
			for _, r := range rs {
				f.ADD(r, rs[0], rs[0])
			}
			f.RET()
		}
	}
	if _, err := assembly(t, general(24)); err != nil {
		t.Errorf("24 live general registers: %v", err)
	}
	if _, err := assembly(t, general(25)); err == nil || !strings.Contains(err.Error(), "out of general registers: 25") {
		t.Errorf("25 live general registers: error %v", err)
	}
}

// TestReservedRegisters: registers with fixed uses are never allocated, even if all other registers
// are taken.
func TestReservedRegisters(t *testing.T) {
	s := mustAssemble(t, func(f *Function) {
		var rs []GP
		for i := range 24 {
			rs = append(rs, f.GP())
			f.MOVI(int64(i), rs[i])
		}
		for _, r := range rs {
			f.ADD(r, rs[0], rs[0])
		}
		f.RET()
	})
	for _, r := range []string{"R16", "R17", "R18", "R27", "R28", "R29", "R30"} {
		if strings.Contains(s, r) {
			t.Errorf("%s is used", r)
		}
	}
	if !strings.Contains(s, "R26") {
		t.Error("R26 is not used")
	}
}

// TestConstants: constants stay in registers if there are enough. Otherwise they are loaded again,
// beginning with the constant outside the loop.
func TestConstants(t *testing.T) {
	build := func(held int) func(f *Function) {
		return func(f *Function) {
			p, n := params(f)
			var vs []Vec
			for i := range held {
				vs = append(vs, f.V())
				f.FMOVQ(At(p, 16*i), vs[i])
			}
			hot, cold := f.Const([4]uint32{1, 1, 1, 1}), f.Const([4]uint32{2, 2, 2, 2})
			f.Label("loop")
			for _, v := range vs {
				f.VEOR(hot.B16(), v.B16(), v.B16())
			}
			f.SUBS(Imm(1), n, n)
			f.BCond(NE, "loop")
			f.VEOR(cold.B16(), vs[0].B16(), vs[0].B16())
			for i, v := range vs {
				f.FMOVQStore(v, At(p, 16*i))
			}
			f.RET()
		}
	}
	loads := func(s string) (before, in int) {
		head, rest, _ := strings.Cut(s, "loop:")
		body, _, _ := strings.Cut(rest, "BNE")
		count := func(s string) int { return strings.Count(s, "FMOVQ") }
		return count(head), count(body)
	}
	if _, err := assembly(t, build(32)); err == nil {
		t.Error("32 vectors and a constant in one instruction: no error")
	}
	for _, c := range []struct{ held, before, in int }{
		{30, 32, 0}, // all constants stay in registers
		{31, 32, 0}, // the cold constant is loaded where it is used
	} {
		s := mustAssemble(t, build(c.held))
		if before, in := loads(s); before != c.before || in != c.in {
			t.Errorf("%d held: %d loads before the loop and %d in it, want %d and %d\n%s", c.held, before, in, c.before, c.in, s)
		}
	}
	if s := mustAssemble(t, build(4)); strings.Count(s, "GLOBL") != 1 || !strings.Contains(s, "GLOBL constants<>(SB), RODATA|NOPTR, $32") {
		t.Errorf("constants are not in one pool of 32 bytes:\n%s", s)
	}
}

// TestCopies: a copy whose source is no longer needed is removed. A copy whose source is still live
// when the copy changes remains.
func TestCopies(t *testing.T) {
	kept := mustAssemble(t, func(f *Function) {
		p, _ := params(f)
		v, w := f.V(), f.V()
		f.FMOVQ(At(p, 0), v)
		f.VMOV(v, w)
		f.VFMLA(v.S4(), v.S4(), w.S4())
		f.FMOVQStore(w, At(p, 0))
		f.FMOVQStore(v, At(p, 16))
		f.RET()
	})
	if !strings.Contains(kept, "VMOV") {
		t.Errorf("the copy of a register that lives on is missing:\n%s", kept)
	}
	gone := mustAssemble(t, func(f *Function) {
		p, _ := params(f)
		v, w, q := f.V(), f.V(), f.GP()
		f.FMOVQ(At(p, 0), v)
		f.Comment("copy")
		f.VMOV(v, w)
		f.MOVD(p, q)
		f.FMOVQStore(w, At(q, 0))
		f.RET()
	})
	if strings.Contains(gone, "VMOV") || strings.Count(gone, "MOVD") != 2 || !strings.Contains(gone, "// copy") {
		t.Errorf("copies of registers that die are kept, or their comment is not:\n%s", gone)
	}
}
