package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const french = "quatre-vingt-dix-sept mille deux cent quatre-vingt-un\n"
	long := strings.Repeat("one ", 1<<20)
	for _, c := range []struct {
		name           string
		args           []string
		stdin          string
		status         int
		stdout, stderr string // stderr is a regular expression
	}{
		{"argument", []string{"ninety-seven thousand two hundred and eighty-one"}, "", 0, french, `^$`},
		{"words as arguments", strings.Fields("ninety-seven thousand two hundred and eighty-one"), "", 0, french, `^$`},
		{"bad argument", []string{"hello"}, "", 1, "\n", `^translate: line 1: .*hello.*\n$`},
		{"lines", nil, "one\ntwo\r\nthree", 0, "un\ndeux\ntrois\n", `^$`},
		{"no lines", nil, "", 0, "", `^$`},
		{"bad lines between", nil, "one\nbonjour\n\n" + long + "\ntwo\n", 1, "un\n\n\n\ndeux\n", `^translate: line 2: .*\ntranslate: line 3: .*\ntranslate: line 4: .*\n$`},
		{"bad flag", []string{"-nonsense"}, "one\n", 2, "", `usage`},
		{"help", []string{"-h"}, "", 0, "", `usage`},
		{"verbose", []string{"-v", "one"}, "", 0, "un\n", `^kernels: \w+, \S+s per token\n`},
		{"two threads", []string{"-threads", "2", "one"}, "", 0, "un\n", `^$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(c.args, strings.NewReader(c.stdin), &stdout, &stderr)
			if status != c.status || stdout.String() != c.stdout {
				t.Errorf("status %d, standard output %q, want %d, %q", status, &stdout, c.status, c.stdout)
			}
			if !regexp.MustCompile(c.stderr).MatchString(stderr.String()) {
				t.Errorf("standard error %q does not match %s", &stderr, c.stderr)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("no") }
func (failing) Write([]byte) (int, error) { return 0, errors.New("no") }

func TestRunReportsFailures(t *testing.T) {
	if status := run(nil, failing{}, io.Discard, io.Discard); status != 1 {
		t.Errorf("status %d where standard input cannot be read", status)
	}
	if status := run([]string{"one"}, strings.NewReader(""), failing{}, io.Discard); status != 1 {
		t.Errorf("status %d where standard output cannot be written", status)
	}
}
