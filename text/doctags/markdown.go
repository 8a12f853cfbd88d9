package doctags

import (
	"strings"
)

// Markdown of texts and tables.

// asIs begins and ends what is Markdown already. Texts have no such character: they lose it.
const asIs = "\x00"

// raw marks Markdown, which escape leaves as it is.
func raw(s string) string { return asIs + strings.ReplaceAll(s, asIs, "") + asIs }

// escape returns text as Markdown that means it. Only what is often in texts of pages is escaped.
func escape(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(s, asIs) {
		if i%2 == 1 {
			b.WriteString(part)
			continue
		}
		escaper.WriteString(&b, part)
	}
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", "&", "&amp;")

// oneLine returns text in one line, with single spaces.
func oneLine(s string) string { return escape(strings.Join(strings.Fields(s), " ")) }

// paragraph returns text whose beginning is not the mark of another block.
func paragraph(s string) string {
	s = oneLine(s)
	switch digits := strings.TrimLeft(s, "0123456789"); {
	case s == "":
	case strings.ContainsAny(s[:1], "#>+-=|~"):
		return `\` + s
	case len(digits) < len(s) && digits != "" && strings.ContainsAny(digits[:1], ".)"):
		return s[:len(s)-len(digits)] + `\` + digits
	}
	return s
}

// span returns code within a line.
func span(s string) string {
	fence := strings.Repeat("`", ticks(s)+1)
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// ticks returns the length of the longest run of backquotes in s.
func ticks(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// A cell is one of a table.
type cell struct {
	tag  string
	text strings.Builder
}

// mostRepeated is the most bytes of a merged cell's text that each of its cells has. Longer text is
// in the first one only.
const mostRepeated = 200

// table returns the rows as a table, "" if there are none. The head has as many cells as the widest
// row, and other rows their own.
func table(rows [][]*cell) string {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	if width == 0 {
		return ""
	}
	var b strings.Builder
	var above []string
	head := true
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = strings.ReplaceAll(oneLine(c.text.String()), "|", `\|`)
			merged := ""
			switch {
			case (c.tag == "lcel" || c.tag == "xcel") && i > 0:
				merged = texts[i-1]
			case c.tag == "ucel" && i < len(above):
				merged = above[i]
			}
			if texts[i] == "" && len(merged) <= mostRepeated {
				texts[i] = merged
			}
		}
		above = texts
		b.WriteString("| " + strings.Join(texts, " | ") + " |")
		if head {
			b.WriteString(strings.Repeat("  |", width-len(row)))
			b.WriteString("\n|" + strings.Repeat(" --- |", width))
			head = false
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
