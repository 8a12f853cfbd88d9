package arm64

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMistakes makes mistakes that the assembler would not report, or would report less clearly.
func TestMistakes(t *testing.T) {
	other := NewFile().Function("other", "func()").V()
	for _, c := range []struct {
		name string
		f    func(f *Function, p GP, v, w Vec)
		want string
	}{
		{"lane too high", func(f *Function, p GP, v, w Vec) { f.VFMLA(v.S(4), w.S4(), w.S4()) }, "VFMLA: lane 4 of S, want 0 to 3"},
		{"lane below 0", func(f *Function, p GP, v, w Vec) { f.VDUP(v.S(-1), w.S4()) }, "VDUP: lane -1 of S, want 0 to 3"},
		{"lane of another size", func(f *Function, p GP, v, w Vec) { f.VFMLA(v.D(1), w.S4(), w.S4()) }, "VFMLA: a lane of D beside S4"},
		{"mixed arrangements", func(f *Function, p GP, v, w Vec) { f.VFADD(v.S4(), v.D2(), w.D2()) }, "VFADD: no form for arrangement D2"},
		{"mixed arrangements of a word", func(f *Function, p GP, v, w Vec) { f.VFADD(v.S4(), v.S4(), w.D2()) }, "VFADD: operands of arrangements D2 and S4"},
		{"arrangement not allowed", func(f *Function, p GP, v, w Vec) { f.VEOR(v.S4(), v.S4(), w.S4()) }, "VEOR: operand of arrangement S4"},
		{"native mixed", func(f *Function, p GP, v, w Vec) { f.VFMLA(v.S4(), v.D2(), w.D2()) }, "VFMLA: operand of arrangement S4 beside a destination of D2"},
		{"widening to 16 lanes", func(f *Function, p GP, v, w Vec) { f.VFCVTL(v.As(H4), w.B16()) }, "VFCVTL: operands of arrangements"},
		{"shift 0", func(f *Function, p GP, v, w Vec) { f.VSSHR(0, v.S4(), w.S4()) }, "VSSHR: shift by 0, want 1 to 32"},
		{"shift 33", func(f *Function, p GP, v, w Vec) { f.VUSHR(33, v.S4(), w.S4()) }, "VUSHR: shift by 33, want 1 to 32"},
		{"shift left 32", func(f *Function, p GP, v, w Vec) { f.VSHL(32, v.S4(), w.S4()) }, "VSHL: shift by 32, want 0 to 31"},
		{"pair offset", func(f *Function, p GP, v, w Vec) { f.FLDPQ(At(p, 1024), v, w) }, "FLDPQ: offset 1024"},
		{"pair twice the same", func(f *Function, p GP, v, w Vec) { f.FLDPQ(At(p, 0), v, v) }, "FLDPQ: both destinations"},
		{"table not a pair", func(f *Function, p GP, v, w Vec) { f.VTBL2(v.B16(), v, w, w.B16()) }, "VTBL: the table is not a TablePair"},
		{"offset odd", func(f *Function, p GP, v, w Vec) { f.FMOVQ(At(p, 257), v) }, "FMOVQ: offset 257"},
		{"offset post-indexed", func(f *Function, p GP, v, w Vec) { f.FMOVQ(Post(p, 256), v) }, "FMOVQ: offset 256"},
		{"offset where none is", func(f *Function, p GP, v, w Vec) { f.VLD1R(At(p, 4), v.S4()) }, "VLD1R: takes no offset"},
		{"immediate too wide", func(f *Function, p GP, v, w Vec) { f.ADD(Imm(4097), p, p) }, "ADD: immediate 4097"},
		{"immediate negative", func(f *Function, p GP, v, w Vec) { f.CMP(Imm(-1), p) }, "CMP: immediate -1"},
		{"mask with holes", func(f *Function, p GP, v, w Vec) { f.AND(Imm(5), p, p) }, "AND: immediate 0x5"},
		{"wrong type of parameter", func(f *Function, p GP, v, w Vec) { f.Load(f.Param("n"), v) }, "no move between int and"},
		{"unknown parameter", func(f *Function, p GP, v, w Vec) { f.Load(f.Param("q"), p) }, "unknown variable"},
		{"another function's register", func(f *Function, p GP, v, w Vec) { f.FMOVQ(At(p, 0), other) }, "belongs to another function"},
		{"write to a constant", func(f *Function, p GP, v, w Vec) { f.FMOVQ(At(p, 0), f.Const([4]uint32{})) }, "writes the constant"},
		{"zero Vec", func(f *Function, p GP, v, w Vec) { f.FMOVQ(At(p, 0), Vec{}) }, "FMOVQ: no register"},
		{"no such label", func(f *Function, p GP, v, w Vec) { f.B("nowhere") }, "branch to label nowhere, which is not defined"},
		{"label twice", func(f *Function, p GP, v, w Vec) { f.Label("a"); f.Label("a") }, "label a is defined twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := assembly(t, func(f *Function) {
				p, _ := params(f)
				v, w := f.V(), f.V()
				f.FMOVQ(At(p, 0), v)
				f.FMOVQ(At(p, 0), w)
				c.f(f, p, v, w)
				f.RET()
			})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "check_test.go:") {
				t.Errorf("error %v, want %q and the line", err, c.want)
			}
		})
	}
	if _, err := assembly(t, func(f *Function) { params(f) }); err == nil || !strings.Contains(err.Error(), "runs off the end") {
		t.Errorf("no RET: error %v", err)
	}
	file := NewFile()
	file.Function("bad", "func(x what)").RET()
	if _, err := file.Assembly(); err == nil || !strings.Contains(err.Error(), "bad: signature") {
		t.Errorf("bad signature: error %v", err)
	}
}

// everything uses every constructor once.
func everything(f *Function) {
	p, n := params(f)
	d := f.GP()
	f.ADD(n, p, d)
	f.ADD(n.LSL(2), p, d)
	f.ADD(Imm(4095), p, d)
	f.ADD(Imm(0xfff000), p, d)
	f.SUB(Imm(1), p, d)
	f.SUBS(n, p, d)
	f.MUL(n, p, d)
	f.MADD(n, p, n, d)
	f.AND(Imm(0xff0), n, d)
	f.AND(n, n, d)
	f.LSL(Imm(2), n, d)
	f.LSR(n, n, d)
	f.ASR(Imm(63), n, d)
	f.CMP(Imm(4095), n)
	f.CMP(d, n)
	f.CMP(d.LSL(3), n)
	for _, c := range []Cond{EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS} {
		f.CSEL(c, n, ZR, d)
		f.BCond(c, "end")
	}
	f.CBZ(n, "end")
	f.CBNZ(n, "end")
	f.TBZ(63, n, "end")
	f.TBNZ(0, n, "end")
	f.MOVD(p, d)
	f.MOVI(-1, d)
	f.MOVI(0x123456789abcdef0, d)
	f.MOVDLoad(At(p, 8), d)
	f.MOVDStore(ZR, Post(p, 8))
	v, w, x := f.V(), f.V(), f.V()
	f.FMOVQ(At(p, -256), v)
	f.FMOVQ(At(p, 65520), w)
	f.FMOVQ(Post(p, 255), x)
	f.FMOVD(At(p, 32760), x)
	f.FMOVS(At(p, 16380), x)
	f.FMOVQStore(v, At(p, 16))
	f.FMOVDStore(v, Post(p, -8))
	f.FMOVSStore(v, At(p, 4))
	f.FMOVSToGP(v, d)
	f.SCVTFS(n, x)
	f.FLDPQ(At(p, 1008), v, w)
	f.FLDPQ(Post(p, -1024), v, w)
	f.FSTPQ(v, w, At(p, 32))
	f.VLD1R(At(p, 0), x.S4())
	f.VLD1Lane(At(p, 0), x.S(3))
	f.VLD1Lane(At(p, 0), x.D(1))
	f.VST1Lane(x.S(2), At(p, 0))
	f.VDUP(v.S(3), w.S4())
	f.VDUPGP(n, w.S4())
	f.VMOV(v, w)
	f.VMOVI(0, x.B16())
	f.VMOVI(255, x.B16())
	f.VADD(v.S4(), w.S4(), x.S4())
	f.VSUB(v.D2(), w.D2(), x.D2())
	f.VADDP(v.S4(), w.S4(), x.S4())
	f.VAND(v.B16(), w.B16(), x.B16())
	f.VORR(v.B16(), w.B16(), x.B16())
	f.VEOR(v.B16(), w.B16(), x.B16())
	f.VBSL(v.B16(), w.B16(), x.B16())
	f.VCNT(v.B16(), x.B16())
	f.VBIT(v.B16(), w.B16(), x.B16())
	f.VBIF(v.B16(), w.B16(), x.B16())
	f.VEXT(15, v.B16(), w.B16(), x.B16())
	f.VTBL(v.B16(), w, x.B16())
	low, high := f.TablePair()
	f.LoadConst([4]uint32{1}, low)
	f.LoadConst([4]uint32{2}, high)
	f.VTBL2(v.B16(), low, high, x.B16())
	f.VZIP1(v.S4(), w.S4(), x.S4())
	f.VZIP2(v.S4(), w.S4(), x.S4())
	f.VSHL(31, v.S4(), x.S4())
	f.VUSHR(32, v.S4(), x.S4())
	f.VFMLA(v.S4(), w.S4(), x.S4())
	f.VFMLS(v.S4(), w.S4(), x.S4())
	f.VFMLA(v.S(3), w.S4(), x.S4())
	f.VFMLS(v.S(1), w.S4(), x.S4())
	f.VFMUL(v.S(2), w.S4(), x.S4())
	for _, op := range []func(m, n, d Arranged){f.VFADD, f.VFSUB, func(m, n, d Arranged) { f.VFMUL(m, n, d) }, f.VFDIV,
		f.VFMAX, f.VFMIN, f.VFMAXNM, f.VFMINNM, f.VFADDP, f.VFMAXP, f.VFMINP, f.VFCMEQ, f.VFCMGE, f.VFCMGT} {
		op(v.S4(), w.S4(), x.S4())
	}
	f.VBIC(v.B16(), w.B16(), x.B16())
	for _, op := range []func(n, d Arranged){f.VFABS, f.VFNEG, f.VFSQRT, f.VFRINTN, f.VFRINTM, f.VFCVTZS, f.VFCVTNS, f.VSCVTF} {
		op(v.S4(), x.S4())
	}
	f.VNOT(v.B16(), x.B16())
	f.VFMAXV(v.S4(), x)
	f.VFMINV(v.S4(), x)
	f.VSSHR(32, v.S4(), x.S4())
	f.VFCVTL(v.As(H4), x.S4())
	f.VXTN(v.S4(), x.H4())
	f.VXTN(v.H8(), x.B8())
	f.VSADALP(v.H8(), x.S4())
	for _, op := range []func(m, n, d Arranged){f.VSMULL, f.VSMLAL} {
		op(v.B8(), w.B8(), x.H8())
	}
	for _, op := range []func(m, n, d Arranged){f.VSMULL2, f.VSMLAL2} {
		op(v.B16(), w.B16(), x.H8())
	}
	f.VSMLAL(v.H4(), w.H4(), x.S4())
	f.VSMLAL2(v.H8(), w.H8(), x.S4())
	f.VSDOT(v.S(3), w.B16(), x.S4())
	f.VSMMLA(v.B16(), w.B16(), x.S4())
	f.MOVHULoad(At(p, 8190), d)
	f.MOVBLoad(At(p, 4095), d)
	f.FMOVSFromGP(n, x)
	f.LoadConst([4]uint32{1, 2, 3, 4}, x)
	f.Undefine(w)
	f.VFADD(f.Const([4]uint32{5, 6, 7, 8}).S4(), w.S4(), x.S4())
	f.B("end")
	f.Label("end")
	f.RET()
}

// TestEverythingIsEverything: a new constructor must be added to everything, or no test assembles
// it.
func TestEverythingIsEverything(t *testing.T) {
	source, err := os.ReadFile("check_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func everything(")
	body, _, _ = strings.Cut(body, "\n}\n")
	notInstructions := []string{"Comment", "Doc", "GP", "V", "Param", "ReturnIndex", "Store", "Load", "Label"}
	methods := reflect.TypeFor[*Function]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if !slices.Contains(notInstructions, name) && !regexp.MustCompile(`\bf\.`+name+`\b`).MatchString(body) {
			t.Errorf("everything leaves out %s", name)
		}
	}
}

// goRun writes the file as a package and runs the go command in it, for arm64.
func goRun(t *testing.T, toolchain string, file *File, args ...string) string {
	t.Helper()
	text, err := file.Assembly()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"go.mod":         []byte("module x\n\ngo 1.26.0\n"),
		"code_arm64.s":   text,
		"stubs_arm64.go": file.Stubs("x"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if toolchain != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+toolchain)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s\n%s", args, err, out, text)
	}
	return string(out)
}

func fileOfEverything(go127 bool) *File {
	file := NewFile()
	file.Go127 = go127
	everything(file.Function("f", "func(p *float32, n int)"))
	return file
}

// TestGoAssembles: Go's assembler and vet accept every constructor's output.
func TestGoAssembles(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	goRun(t, "", fileOfEverything(false), "build", ".")
	goRun(t, "", fileOfEverything(false), "vet", ".")
}

// TestGo127: for its own mnemonics, Go 1.27's assembler emits the same words. The Makefile names
// the toolchain and downloads it.
func TestGo127(t *testing.T) {
	toolchain := os.Getenv("AVOFORMER_SECOND_GO")
	if toolchain == "" {
		t.Skip("AVOFORMER_SECOND_GO names no toolchain")
	}
	code := func(go127 bool) string {
		args := []string{"tool", "asm", "-S", "-p", "x", "-o", filepath.Join(t.TempDir(), "code.o"), "-I", includeDir(t, toolchain), "code_arm64.s"}
		listing := goRun(t, toolchain, fileOfEverything(go127), args...)
		// The lines that begin with a tab and an offset hold the code in hex.
		return strings.Join(regexp.MustCompile(`(?m)^\t0x[0-9a-f]{4}( [0-9a-f]{2})+`).FindAllString(listing, -1), "\n")
	}
	words, mnemonics := code(false), code(true)
	if len(words) < 1000 || words != mnemonics {
		t.Errorf("words:\n%s\nmnemonics:\n%s", words, mnemonics)
	}
}

// includeDir returns the folder of a toolchain's textflag.h.
func includeDir(t *testing.T, toolchain string) string {
	t.Helper()
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "pkg", "include")
}
