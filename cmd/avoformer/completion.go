// This file has the commands completion and man: completion scripts and a manual page, which are
// made from the flags.

package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// described describes a command and its flags, for completion scripts and the manual page.
type described struct {
	Name, Args, About string
	Flags             []describedFlag
}

type describedFlag struct {
	Name, Value, Usage string // Value: the name of its value, "" for a flag without one
}

// options returns the flags with their hyphens, separated by blanks.
func (d described) options() string {
	var all []string
	for _, f := range d.Flags {
		all = append(all, "-"+f.Name)
	}
	return strings.Join(all, " ")
}

// describe collects the flags of every command.
func describe() []described {
	var all []described
	for _, c := range commands {
		d := described{Name: c.name, Args: c.args, About: c.about}
		a := &app{describe: func(f *flags) {
			f.VisitAll(func(g *flag.Flag) {
				value, usage := flag.UnquoteUsage(g)
				d.Flags = append(d.Flags, describedFlag{g.Name, value, usage})
			})
		}}
		// Every command first defines its flags and calls parse, which then records them and ends
		// the command.
		if err := c.run(a, []string{"-h"}); err != flag.ErrHelp {
			panic(fmt.Sprintf("command %s does not parse its flags first: %v", c.name, err))
		}
		all = append(all, d)
	}
	return all
}

// This file builds text without package text/template, which calls methods by name: the linker
// would then keep all methods of every package (3.6 MB of this command).

// These quote text for a shell, and for a manual page.
var (
	fishQuoter = strings.NewReplacer(`\`, `\\`, "'", `\'`)
	zshQuoter  = strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`)
	roffQuoter = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "…", "...")
)

// each joins the results of f for all commands or flags.
func each[T any](all []T, f func(T) string) string {
	var b strings.Builder
	for _, x := range all {
		b.WriteString(f(x))
	}
	return b.String()
}

// bashCompletion returns the script for source <(avoformer completion bash).
func bashCompletion(all []described) string {
	names := each(all, func(d described) string { return d.Name + " " })
	return `# bash completion for avoformer: source <(avoformer completion bash)
_avoformer() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flags=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W '` + names + `help' -- "$word"))
		return
	fi
	case $command in
` + each(all, func(d described) string {
		return "\t" + d.Name + ") flags='" + d.options() + "' ;;\n"
	}) + `	help) COMPREPLY=($(compgen -W '` + names + `' -- "$word")); return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
	*) COMPREPLY=($(compgen -f -- "$word")) ;;
	esac
}
complete -o filenames -F _avoformer avoformer
`
}

// zshCompletion returns the script for source <(avoformer completion zsh), or for a file
// _avoformer.
func zshCompletion(all []described) string {
	quoted := zshQuoter.Replace
	return `#compdef avoformer
# zsh completion for avoformer: source <(avoformer completion zsh), or this as _avoformer in a folder of $fpath
_avoformer() {
	local -a all
	all=(` + each(all, func(d described) string {
		return "\n\t\t'" + d.Name + ":" + quoted(d.About) + "'"
	}) + `
	)
	if (( CURRENT == 2 )); then
		_describe command all
		return
	fi
	case ${words[2]} in
` + each(all, func(d described) string {
		return "\t" + d.Name + ")\n\t\t_arguments -S" + each(d.Flags, func(f describedFlag) string {
			value := ""
			if f.Value != "" {
				value = ":" + quoted(f.Value) + ":_files"
			}
			return " \\\n\t\t\t'-" + f.Name + "[" + quoted(f.Usage) + "]" + value + "'"
		}) + " \\\n\t\t\t'*:file:_files' ;;\n"
	}) + `	esac
}
if [ "${funcstack[1]}" = _avoformer ]; then _avoformer "$@"; else compdef _avoformer avoformer; fi
`
}

// fishCompletion returns the script for avoformer completion fish | source.
func fishCompletion(all []described) string {
	return `# fish completion for avoformer: avoformer completion fish | source
complete -c avoformer -n __fish_use_subcommand -f
` + each(all, func(d described) string {
		return "complete -c avoformer -n __fish_use_subcommand -a " + d.Name + " -d '" + fishQuoter.Replace(d.About) + "'\n" +
			each(d.Flags, func(f describedFlag) string {
				takes := ""
				if f.Value != "" {
					takes = " -r"
				}
				return "complete -c avoformer -n '__fish_seen_subcommand_from " + d.Name + "' -o " + f.Name + takes + " -d '" + fishQuoter.Replace(f.Usage) + "'\n"
			})
	})
}

// manualPage returns the source of the manual page for man(1).
func manualPage(all []described) string {
	quoted := roffQuoter.Replace
	return manualHead + each(all, func(d described) string {
		return ".SS avoformer " + quoted(d.Name) + " " + quoted(d.Args) + "\n" + quoted(d.About) + "\n" +
			each(d.Flags, func(f describedFlag) string {
				value := ""
				if f.Value != "" {
					value = ` \fI` + quoted(f.Value) + `\fR`
				}
				return ".TP\n.B \\-" + quoted(f.Name) + value + "\n" + quoted(f.Usage) + "\n"
			})
	}) + manualTail
}

const manualHead = `.TH AVOFORMER 1
.SH NAME
avoformer \- models of the Hugging Face hub on the CPU
.SH SYNOPSIS
.B avoformer
.I command
[flags] arguments
.br
.B avoformer \-\-version
.SH DESCRIPTION
Runs transformer models from folders as on the hub, or from GGUF files: texts become vectors, scores, labels or text, in
a command or in a server.
.I DIR
may be hf://org/name, which is downloaded first; nothing else uses the network.
.I FILE
is \- or missing for the standard input. Lines are UTF\-8; other bytes become U+FFFD.
Results go to the standard output, everything else to the standard error. Progress is shown only on a terminal.
.SH COMMANDS
`

const manualTail = `.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
an error, printed in one line
.TP
.B 2
wrong flags or arguments
.TP
.B 130
interrupted by SIGINT or SIGTERM
.TP
.B 141
in a shell: the reader of the output has gone
.SH ENVIRONMENT
.TP
.B AVOFORMER_ISA
generic, neon, avx2 or avx512: the instruction sets that kernels use
.TP
.B AVOFORMER_CPU
features of the CPU that kernels must not use, such as \-avx512vnni
.TP
.B AVOFORMER_API_KEYS
keys of \fBserve\fR, separated by commas
.TP
.B HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT
as in the Python library of the hub
.SH LIMITS
A line, and a prompt, has at most 64 MiB. Images have at most 50 million pixels unless \-pixels allows more. Sound is WAV,
MP3, FLAC, Vorbis in Ogg, or Opus in Ogg or WebM, at 1 kHz or more, of at most four hours. The flags of \fBserve\fR have its limits.
`

var shells = []string{"bash", "zsh", "fish"}

func completion(a *app, args []string) error {
	rest, err := a.flags("completion").parse(args, 1, 1)
	if err != nil {
		return err
	}
	if !slices.Contains(shells, rest[0]) {
		return usagef("completion for %q, want %s%s", rest[0], strings.Join(shells, ", "), meant("", rest[0], shells))
	}
	_, err = io.WriteString(a.out, map[string]func([]described) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[rest[0]](describe()))
	return err
}

func man(a *app, args []string) error {
	if _, err := a.flags("man").parse(args, 0, 0); err != nil {
		return err
	}
	_, err := io.WriteString(a.out, manualPage(describe()))
	return err
}
