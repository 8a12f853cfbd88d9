package arm64

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/gotypes"
)

// File is an assembly file under construction.
type File struct {
	// Header is printed first; it should be a comment.
	Header string
	// Constraint is the go:build expression; arm64 if empty.
	Constraint string
	// Go127 uses the mnemonics that Go 1.27's assembler added, instead of words.
	Go127 bool

	functions []*Function
	pool      [][4]uint32
	errs      []error
}

// NewFile returns an empty file.
func NewFile() *File { return &File{} }

// poolSymbol names the file's read-only data.
const poolSymbol = "constants"

// poolOffset returns the offset of these words in the pool.
func (file *File) poolOffset(words [4]uint32) int {
	for i, w := range file.pool {
		if w == words {
			return 16 * i
		}
	}
	file.pool = append(file.pool, words)
	return 16 * (len(file.pool) - 1)
}

// Function begins a function with a signature such as "func(x []float32) int". The types must be
// Go's own.
func (file *File) Function(name, signature string) *Function {
	sig, err := gotypes.ParseSignature(signature)
	if err != nil {
		file.errs = append(file.errs, fmt.Errorf("%s: %s: signature %q: %w", caller(), name, signature, err))
		sig = gotypes.NewSignatureVoid()
	}
	f := &Function{name: name, sig: sig, file: file}
	file.functions = append(file.functions, f)
	return f
}

// Assembly returns the text of the .s file.
func (file *File) Assembly() ([]byte, error) {
	errs := file.errs
	var body bytes.Buffer
	for _, f := range file.functions {
		if len(f.errs) > 0 {
			errs = append(errs, f.errs...)
			continue
		}
		nodes, err := f.compile()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f.print(&body, nodes)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var w bytes.Buffer
	file.top(&w)
	w.WriteString("#include \"textflag.h\"\n")
	w.Write(body.Bytes())
	for i, words := range file.pool {
		if i == 0 {
			w.WriteByte('\n')
		}
		for j := 0; j < 4; j += 2 {
			fmt.Fprintf(&w, "DATA %s<>+%d(SB)/8, $0x%08x%08x\n", poolSymbol, 16*i+4*j, words[j+1], words[j])
		}
	}
	if n := len(file.pool); n > 0 {
		fmt.Fprintf(&w, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", poolSymbol, 16*n)
	}
	return w.Bytes(), nil
}

// Stubs returns the Go file that declares the functions.
func (file *File) Stubs(pkg string) []byte {
	var w bytes.Buffer
	file.top(&w)
	fmt.Fprintf(&w, "package %s\n", pkg)
	for _, f := range file.functions {
		w.WriteByte('\n')
		for i, line := range f.doc {
			if i == 0 {
				line = f.name + " " + line
			}
			w.WriteString(strings.TrimRight("// "+line, " ") + "\n")
		}
		if len(f.doc) > 0 {
			w.WriteString("//\n")
		}
		fmt.Fprintf(&w, "//go:noescape\nfunc %s%s\n", f.name, f.sig)
	}
	return w.Bytes()
}

// top prints the beginning of both files.
func (file *File) top(w *bytes.Buffer) {
	if file.Header != "" {
		w.WriteString(strings.TrimRight(file.Header, "\n") + "\n\n")
	}
	constraint := file.Constraint
	if constraint == "" {
		constraint = "arm64"
	}
	fmt.Fprintf(w, "//go:build %s\n\n", constraint)
}

// print writes the function. It pads mnemonics to a common width between labels.
func (f *Function) print(w *bytes.Buffer, nodes []node) {
	fmt.Fprintf(w, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", f.name, f.sig, f.name, f.sig.Bytes())
	nodes = slices.DeleteFunc(nodes, func(n node) bool { return n.label == "" && n.op == "" })
	for i := 0; i < len(nodes); {
		if n := &nodes[i]; n.label != "" {
			w.WriteByte('\n')
			printComments(w, n.comment, "")
			fmt.Fprintf(w, "%s:\n", n.label)
			i++
			continue
		}
		end, width := i, 0
		for ; end < len(nodes) && nodes[end].label == ""; end++ {
			width = max(width, len(nodes[end].mnemonic()))
		}
		for ; i < end; i++ {
			n := &nodes[i]
			printComments(w, n.comment, "\t")
			if n.word != nil {
				word, text := n.asWord()
				fmt.Fprintf(w, "\t%-*s $0x%08x // %s\n", width, "WORD", word, text)
				continue
			}
			args := make([]string, len(n.args))
			for j, a := range n.args {
				args[j] = a.text()
			}
			fmt.Fprintf(w, "%s\n", strings.TrimRight(fmt.Sprintf("\t%-*s %s", width, n.mnemonic(), strings.Join(args, ", ")), " "))
		}
	}
}

func (n *node) mnemonic() string {
	if n.word != nil {
		return "WORD"
	}
	return n.op
}

func printComments(w *bytes.Buffer, lines []string, indent string) {
	for _, line := range lines {
		w.WriteString(strings.TrimRight(indent+"// "+line, " ") + "\n")
	}
}
