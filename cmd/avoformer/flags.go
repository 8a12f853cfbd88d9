// This file has the flags and arguments of commands.

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/hub"
)

// flags is a command's flag set. Its method parse allows flags between arguments.
type flags struct {
	*flag.FlagSet
	app            *app
	usage, summary string
}

// json adds the flag -json of a command. what describes the fields.
func (f *flags) json(what string) *bool { return f.Bool("json", false, "print JSON, "+what) }

func (a *app) flags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), app: a}
	f.SetOutput(io.Discard)
	for _, c := range commands {
		if c.name == name {
			f.usage, f.summary = strings.TrimSpace(fmt.Sprintf("avoformer %s [flags] %s", name, c.args)), c.about
		}
	}
	f.BoolVar(&a.silent, "quiet", false, "do not print progress")
	f.StringVar(&a.ready, "ready", os.Getenv("AVOFORMER_READY"), "`folder` for packed weights: a model that was opened before with the same formats is mapped from there, one copy for all processes; default: AVOFORMER_READY, or none")
	f.BoolVar(&a.offline, "offline", false, "take models of the hub from the cache, and ask no server")
	return f
}

// parse parses flags and returns the other arguments. Their number must be between least and most.
func (f *flags) parse(args []string, least, most int) ([]string, error) {
	if f.app.describe != nil {
		f.app.describe(f)
		return nil, flag.ErrHelp
	}
	f.app.given = f
	var rest []string
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(f.app.out, "%s\n%s\n\n", f.usage, f.summary)
			f.SetOutput(f.app.out)
			f.PrintDefaults()
			return nil, err
		} else if err != nil {
			return nil, usagef("%v%s; %s", err, meantFlag(err, f.FlagSet), f.usage)
		}
		args = f.Args()
		if len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if len(rest) < least || most >= 0 && len(rest) > most {
		return nil, usagef("%s", f.usage)
	}
	if len(rest) > 0 && !slices.Contains([]string{"pull", "rm", "completion", "serve"}, f.Name()) {
		var err error
		if rest[0], err = f.app.pulled(rest[0]); err != nil {
			return nil, err
		}
		if _, err := hub.Stat(hub.Folder(rest[0])); errors.Is(err, fs.ErrNotExist) && f.Name() != "serve" { // serve may open the folder later
			return nil, err
		}
	}
	return rest, nil
}

// arg returns the i-th argument, or "" if there are fewer.
func arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// given reports whether the command line has one of the flags.
func (f *flags) given(names ...string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || slices.Contains(names, g.Name) })
	return found
}
