// Command pictures reads a recording of a terminal by script(1) from the standard input, and draws
// it as an SVG on the standard output. scripts/pictures/pictures.sh, which make pictures runs,
// records and draws the pictures of the documents.
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels.
const (
	margin = 14
	line   = 19
	font   = 14
	letter = 8.43 // width of a monospaced letter of that size
)

// control matches sequences of a terminal that print no letters.
var control = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func main() {
	var lines []string
	widest := 0
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		s := control.ReplaceAllString(strings.TrimRight(in.Text(), "\r "), "")
		if s == ">" { // the prompt before the end
			continue
		}
		lines = append(lines, s)
		widest = max(widest, utf8.RuneCountInString(s))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	width, height := int(float64(widest)*letter)+2*margin, len(lines)*line+2*margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	fmt.Printf(`<rect width="100%%" height="100%%" rx="8" fill="#1d2129"/>`+"\n"+`<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="%d" xml:space="preserve">`+"\n", font)
	for i, s := range lines {
		colour := "#e6e6e6"
		if strings.HasPrefix(s, "> ") || strings.HasPrefix(s, "$ ") { // the line was typed
			colour = "#8fd0ff"
		}
		fmt.Printf(`<text x="%d" y="%d" fill="%s">%s</text>`+"\n", margin, margin+(i+1)*line-5, colour, html.EscapeString(s))
	}
	fmt.Println("</g>\n</svg>")
}
