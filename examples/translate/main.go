// Translate writes English number words in French:
//
//	$ go run ./examples/translate "ninety-seven thousand two hundred and eighty-one"
//	quatre-vingt-dix-sept mille deux cent quatre-vingt-un
//
// Without an argument it reads lines from standard input and prints one line of French for each.
// For a line that it cannot read it prints an empty line, and a message on standard error, and the
// exit status is 1. With -v it prints on standard error the tier of the kernels and the time per
// token, and the time per token in pure Go.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/avoformer/avoformer/examples/numbers"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/transformer"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("translate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	verbose := flags.Bool("v", false, "tell which kernels ran and how fast")
	threads := flags.Int("threads", 1, "number of threads")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: translate [-v] [-threads n] [number in English words]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	translator, err := numbers.Load()
	if err != nil {
		fmt.Fprintln(stderr, "translate:", err)
		return 1
	}
	p := program{translator: translator, stderr: stderr}
	p.ws.Threads = kernels.Threads(*threads)

	input := stdin
	if flags.NArg() > 0 {
		text := strings.Join(flags.Args(), " ")
		if strings.ContainsAny(text, "\r\n") { // one argument, one line
			text = strings.Join(strings.Fields(text), " ")
		}
		input = strings.NewReader(text + "\n")
	}
	if err := p.lines(input, stdout); err != nil {
		fmt.Fprintln(stderr, "translate:", err)
		return 1
	}
	if *verbose {
		if err := p.report(); err != nil {
			fmt.Fprintln(stderr, "translate:", err)
			return 1
		}
	}
	if p.failed {
		return 1
	}
	return 0
}

type program struct {
	translator *numbers.Translator
	ws         transformer.Workspace
	stderr     io.Writer
	failed     bool
	last       string // the last line that was translated
}

// lines translates line by line. A line that cannot be read is reported and counted in failed. The
// error is one of reading the input or writing the output.
func (p *program) lines(r io.Reader, w io.Writer) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		french := ""
		if err == nil {
			french, _, err = p.translator.Translate(&p.ws, line)
		}
		if err != nil {
			if !errors.Is(err, numbers.ErrText) {
				return fmt.Errorf("line %d: %w", n, err)
			}
			fmt.Fprintf(p.stderr, "translate: line %d: %v\n", n, err)
			p.failed = true
		} else {
			p.last = line
		}
		if _, err := fmt.Fprintln(w, french); err != nil {
			return err
		}
	}
}

// readLine reads a line. It keeps only the first part of a line that is longer than any number
// needs; such a line is an error, but the next lines can be read.
func readLine(r *bufio.Reader) (string, error) {
	const longest = 1 << 16
	var line []byte
	for read := false; ; read = true {
		part, err := r.ReadSlice('\n')
		if len(line) <= longest {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (read || len(part) > 0):
		case err != nil:
			return "", err
		}
		if len(line) > longest {
			return "", fmt.Errorf("%w: the line is longer than %d bytes", numbers.ErrText, longest)
		}
		return string(bytes.TrimRight(line, "\r\n")), nil
	}
}

// report prints the time per token of the last translation, on the active tier and in pure Go.
func (p *program) report() error {
	if p.last == "" {
		return nil
	}
	active := kernels.Active()
	perToken, err := p.time(p.translator)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "kernels: %v, %v per token\n", active, perToken)
	if active == kernels.Generic {
		return nil
	}
	// Weights are packed for the tier that is active when they are loaded.
	defer machine.Use(kernels.Generic)()
	generic, err := numbers.Load()
	if err != nil {
		return err
	}
	if perToken, err = p.time(generic); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "kernels: %v, %v per token\n", kernels.Active(), perToken)
	return nil
}

// time returns the time per step of decoding, including the encoder's pass and excluding loading
// and warming up.
func (p *program) time(t *numbers.Translator) (time.Duration, error) {
	if _, _, err := t.Translate(&p.ws, p.last); err != nil {
		return 0, err
	}
	steps := 0
	start := time.Now()
	for steps < 100 {
		_, n, err := t.Translate(&p.ws, p.last)
		if err != nil {
			return 0, err
		}
		steps += n
	}
	return (time.Since(start) / time.Duration(steps)).Round(100 * time.Nanosecond), nil
}
