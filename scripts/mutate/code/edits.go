package main

// This file has the changes that can be made to a file.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kinds are the kinds of changes. They are drawn in turn.
var kinds = []string{"constant", "operator", "border", "condition", "statement", "arguments"}

// mutant is one change of one file.
type mutant struct {
	file     string // relative to the root of the tree
	line     int
	function string // the function that it is in, "" outside functions
	kind     string
	text     string // the line in which it begins, without its indentation
	what     string // describes the change
	nth      int    // its number, from 1 on, among mutants whose fields above, except line, are equal

	start, end int // with replaces these bytes
	with       string
	from, to   token.Position // the positions of start and end
}

// key identifies the mutant as long as its line does not change.
func (u mutant) key() string {
	k := strings.Join([]string{u.file, u.function, u.text, u.what}, "\t")
	if u.nth > 1 {
		k += fmt.Sprintf(" (%d)", u.nth)
	}
	return k
}

func (u mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", u.file, u.line, u.text, strings.TrimPrefix(u.key(), strings.Join([]string{u.file, u.function, u.text, ""}, "\t")))
}

// finder collects the mutants of one file.
type finder struct {
	file  string
	src   []byte
	lines []string
	fset  *token.FileSet
	found []mutant
	seen  map[string]int
	path  []ast.Node // from the file to the current node
}

// mutantsOf lists the mutants of a file. A generated file has no mutants.
func mutantsOf(file string, src []byte) ([]mutant, error) {
	f := finder{file: file, src: src, lines: strings.Split(string(src), "\n"), fset: token.NewFileSet(), seen: map[string]int{}}
	tree, err := parser.ParseFile(f.fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			f.path = f.path[:len(f.path)-1]
			return true
		}
		if f.leaveAlone(n) {
			return false
		}
		f.path = append(f.path, n)
		f.visit(n)
		return true
	})
	return f.found, nil
}

// leaveAlone reports whether a change of a node would say nothing about the tests. Such nodes are
// imports, tags, documentation, the words of a message, and the measured figures of a tune.Record,
// which change no result.
func (f *finder) leaveAlone(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.CommentGroup:
		return true
	case *ast.CallExpr:
		return isMessage(n)
	case *ast.CompositeLit:
		name, _ := n.Type.(*ast.Ident)
		return name != nil && name.Name == "Record" && strings.HasPrefix(f.file, "kernels/internal/tune/")
	case *ast.BasicLit:
		_, tag := f.parent(0).(*ast.Field)
		return tag || n.Kind == token.STRING && strings.ContainsAny(n.Value, " \n")
	}
	return false
}

// isMessage reports whether a call makes or prints a message.
func isMessage(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "panic"
	case *ast.SelectorExpr:
		pkg, _ := fun.X.(*ast.Ident)
		return fun.Sel.Name == "Errorf" || pkg != nil && (pkg.Name == "errors" && fun.Sel.Name == "New" ||
			pkg.Name == "fmt" && strings.HasPrefix(fun.Sel.Name, "Fprint"))
	}
	return false
}

// parent returns the i-th node from the end of the path. While a node is visited, 0 is the node
// itself; before it is added to the path, 0 is the node that contains it.
func (f *finder) parent(i int) ast.Node {
	if i >= len(f.path) {
		return nil
	}
	return f.path[len(f.path)-1-i]
}

// add adds the mutant that replaces the source from start to end by with.
func (f *finder) add(kind string, start, end token.Pos, with, what string) {
	from, to := f.fset.Position(start), f.fset.Position(end)
	u := mutant{file: f.file, line: from.Line, kind: kind, text: strings.TrimSpace(f.lines[from.Line-1]), what: what,
		start: from.Offset, end: to.Offset, with: with, from: from, to: to}
	for _, n := range f.path {
		if d, ok := n.(*ast.FuncDecl); ok {
			u.function = d.Name.Name
			if d.Recv != nil {
				u.function = strings.TrimPrefix(f.source(d.Recv.List[0].Type), "*") + "." + u.function
			}
		}
	}
	f.seen[u.key()]++
	u.nth = f.seen[u.key()]
	f.found = append(f.found, u)
}

// replace adds a mutant that replaces a node. It describes the change by the old and the new
// source.
func (f *finder) replace(kind string, n ast.Node, with string) {
	f.add(kind, n.Pos(), n.End(), with, fmt.Sprintf("`%s` to `%s`", f.source(n), with))
}

// source returns the source of a node on one line.
func (f *finder) source(n ast.Node) string {
	return strings.Join(strings.Fields(string(f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])), " ")
}

var operators = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.AND_NOT: token.AND, token.XOR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

var borders = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}

var conditions = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND}

// operator adds the mutant with the operator that the table has for op.
func (f *finder) operator(kind string, table map[token.Token]token.Token, pos token.Pos, op token.Token) {
	if to, ok := table[op]; ok {
		f.add(kind, pos, pos+token.Pos(len(op.String())), to.String(), fmt.Sprintf("`%s` to `%s`", op, to))
	}
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if with := otherConstant(n); with != "" {
			f.replace("constant", n, with)
		}
	case *ast.Ident:
		if with, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.replace("constant", n, with)
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB || n.Op == token.NOT {
			f.replace("operator", n, f.source(n.X))
		}
	case *ast.BinaryExpr:
		f.operator("operator", operators, n.OpPos, n.Op)
		f.operator("border", borders, n.OpPos, n.Op)
		if _, whole := f.parent(1).(*ast.IfStmt); !whole || n.Op == token.LAND || n.Op == token.LOR {
			f.operator("condition", conditions, n.OpPos, n.Op)
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.CallExpr:
		f.swap(n)
	case ast.Stmt:
		f.statement(n)
	}
}

func (f *finder) negate(cond ast.Expr) {
	f.add("condition", cond.Pos(), cond.End(), "!("+string(f.src[f.fset.Position(cond.Pos()).Offset:f.fset.Position(cond.End()).Offset])+")", "negated")
}

// statement adds the mutants of a statement: one with another operator, and one without the
// statement.
func (f *finder) statement(n ast.Stmt) {
	dropped := false
	switch n := n.(type) {
	case *ast.AssignStmt:
		dropped = n.Tok != token.DEFINE
		f.operator("operator", operators, n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		dropped = true
		f.operator("operator", operators, n.TokPos, n.Tok)
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.ExprStmt, *ast.DeferStmt, *ast.SendStmt:
		dropped = true
	}
	switch f.parent(1).(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		dropped = false // it is not in a list of statements, such as the step of a loop
	}
	if dropped {
		f.add("statement", n.Pos(), n.End(), "", "left out")
	}
}

// swap adds the mutants in which neighbours among the arguments are swapped.
func (f *finder) swap(call *ast.CallExpr) {
	if fun, ok := call.Fun.(*ast.Ident); ok && (fun.Name == "min" || fun.Name == "max" || fun.Name == "append" || fun.Name == "make") {
		return
	}
	for i := range len(call.Args) - 1 {
		a, b := call.Args[i], call.Args[i+1]
		first, second := f.source(a), f.source(b)
		if first == second || strings.HasPrefix(first, "func(") || strings.HasPrefix(second, "func(") {
			continue
		}
		f.add("arguments", a.Pos(), b.End(), second+", "+first, fmt.Sprintf("`%s` and `%s` swapped", first, second))
	}
}

// otherConstant returns another value of the literal's type: one more, twice the value, or another
// string.
func otherConstant(lit *ast.BasicLit) string {
	switch lit.Kind {
	case token.INT:
		v, ok := new(big.Int).SetString(lit.Value, 0)
		if !ok {
			return ""
		}
		v.Add(v, big.NewInt(1))
		if strings.HasPrefix(lit.Value, "0x") {
			return "0x" + v.Text(16)
		}
		return v.String()
	case token.FLOAT:
		v, err := strconv.ParseFloat(lit.Value, 64)
		if err != nil {
			return ""
		} else if v == 0 {
			return "1.0"
		}
		with := strconv.FormatFloat(2*v, 'g', -1, 64)
		if !strings.ContainsAny(with, ".e") {
			with += ".0"
		}
		return with
	case token.CHAR:
		s, err := strconv.Unquote(lit.Value)
		if err != nil {
			return ""
		}
		r, _ := utf8.DecodeRuneInString(s)
		return strconv.QuoteRune(r + 1)
	case token.STRING:
		end := len(lit.Value) - 1
		return lit.Value[:end] + "x" + lit.Value[end:]
	}
	return ""
}
