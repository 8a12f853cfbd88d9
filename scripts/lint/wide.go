package main

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode/utf8"
)

// widest is the width of comments in columns, with tabs of four. A last word may begin before it.
const widest = 100

// commentsAreNarrow finds wide lines of comments that have no code before them. Code in comments,
// which is indented, may be wider.
func commentsAreNarrow(t *tree) (problems []string) {
	for _, f := range t.files {
		if ast.IsGenerated(f.File) {
			continue
		}
		lines := strings.Split(f.text, "\n")
		for _, group := range f.Comments {
			for _, c := range group.List {
				at := t.fset.Position(c.Pos())
				indent, text, _ := strings.Cut(lines[at.Line-1], "//")
				if strings.TrimSpace(indent) != "" || !strings.HasPrefix(text, " ") || strings.HasPrefix(text, "  ") {
					continue
				}
				before := strings.TrimRight(text[:strings.LastIndex(text, " ")], " ")
				if 4*len(indent)+2+utf8.RuneCountInString(before) >= widest {
					problems = append(problems, fmt.Sprintf("%s:%d: wider than %d columns", f.path, at.Line, widest))
				}
			}
		}
	}
	return problems
}
