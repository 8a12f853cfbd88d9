// avoformer completion and man: what shells and manual pages want to know, from the flags themselves.

package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// described is a command with its flags, as templates have it.
type described struct {
	Name, Args, About string
	Flags             []describedFlag
}

type describedFlag struct {
	Name, Value, Usage string // Value: what it takes, "" for one that is on or off
}

// Options are the flags as the shell writes them.
func (d described) Options() string {
	var all []string
	for _, f := range d.Flags {
		all = append(all, "-"+f.Name)
	}
	return strings.Join(all, " ")
}

// describe asks every command for its flags.
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
		// Every command begins with its flags; parse hands them over and ends it.
		if err := c.run(a, []string{"-h"}); err != flag.ErrHelp {
			panic(fmt.Sprintf("command %s does not parse its flags first: %v", c.name, err))
		}
		all = append(all, d)
	}
	return all
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"single": func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }, // within '
	"fish":   func(s string) string { return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) },
	"zsh": func(s string) string {
		return strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
	},
	"roff": func(s string) string {
		return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "…", "...").Replace(s)
	},
}).Parse(`
{{define "bash"}}# bash completion for avoformer: source <(avoformer completion bash)
_avoformer() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flags=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W '{{range .}}{{.Name}} {{end}}help' -- "$word"))
		return
	fi
	case $command in
{{- range .}}
	{{.Name}}) flags='{{.Options}}' ;;
{{- end}}
	help) COMPREPLY=($(compgen -W '{{range .}}{{.Name}} {{end}}' -- "$word")); return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
	*) COMPREPLY=($(compgen -f -- "$word")) ;;
	esac
}
complete -o filenames -F _avoformer avoformer
{{end}}
{{define "zsh"}}#compdef avoformer
# zsh completion for avoformer: source <(avoformer completion zsh), or this as _avoformer in a folder of $fpath
_avoformer() {
	local -a all
	all=({{range .}}
		'{{.Name}}:{{zsh .About}}'{{end}}
	)
	if (( CURRENT == 2 )); then
		_describe command all
		return
	fi
	case ${words[2]} in
{{- range .}}
	{{.Name}})
		_arguments -S{{range .Flags}} \
			'-{{.Name}}[{{zsh .Usage}}]{{if .Value}}:{{zsh .Value}}:_files{{end}}'{{end}} \
			'*:file:_files' ;;
{{- end}}
	esac
}
if [ "${funcstack[1]}" = _avoformer ]; then _avoformer "$@"; else compdef _avoformer avoformer; fi
{{end}}
{{define "fish"}}# fish completion for avoformer: avoformer completion fish | source
complete -c avoformer -n __fish_use_subcommand -f
{{range $c := .}}complete -c avoformer -n __fish_use_subcommand -a {{.Name}} -d '{{fish .About}}'
{{range .Flags}}complete -c avoformer -n '__fish_seen_subcommand_from {{$c.Name}}' -o {{.Name}}{{if .Value}} -r{{end}} -d '{{fish .Usage}}'
{{end}}{{end}}{{end}}
{{define "man"}}.TH AVOFORMER 1
.SH NAME
avoformer \- models of the Hugging Face hub on the CPU
.SH SYNOPSIS
.B avoformer
.I command
[flags] arguments
.br
.B avoformer \-\-version
.SH DESCRIPTION
Runs transformers from a folder as the hub has it, or from a GGUF file: texts to vectors, scores, labels and text; as
a command, or as a server.
.I DIR
may be hf://org/name, which is pulled first; nothing else goes to the network.
.I FILE
is \- or missing for the standard input; its lines are UTF\-8, and what is not becomes U+FFFD.
Results go to the standard output, everything else to the standard error; progress is shown on a terminal alone.
.SH COMMANDS
{{range .}}.SS avoformer {{roff .Name}} {{roff .Args}}
{{roff .About}}
{{range .Flags}}.TP
.B \-{{roff .Name}}{{if .Value}} \fI{{roff .Value}}\fR{{end}}
{{roff .Usage}}
{{end}}{{end}}.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
an error, told in one line
.TP
.B 2
called wrongly
.TP
.B 130
interrupted by SIGINT or SIGTERM
.TP
.B 141
in a shell: whoever reads the output has gone
.SH ENVIRONMENT
.TP
.B AVOFORMER_ISA
generic, neon, avx2 or avx512: force the kernels' tier
.TP
.B AVOFORMER_CPU
features not to be used, such as \-avx512vnni
.TP
.B AVOFORMER_API_KEYS
keys of \fBserve\fR, with commas between them
.TP
.B HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE
as the Python library of the hub has them
.SH LIMITS
A line, and a prompt, has at most 64 MiB. Images have at most 50 million pixels unless \-pixels allows more. Sound is WAV
with 16 bits, of any length and rate from 1 kHz on. What \fBserve\fR limits, its flags say.
{{end}}`))

var shells = []string{"bash", "zsh", "fish"}

func completion(a *app, args []string) error {
	rest, err := a.flags("completion").parse(args, 1, 1)
	if err != nil {
		return err
	}
	if !slices.Contains(shells, rest[0]) {
		return usagef("completion for %q, want %s%s", rest[0], strings.Join(shells, ", "), meant("", rest[0], shells))
	}
	return describeTo(a.out, rest[0])
}

func man(a *app, args []string) error {
	if _, err := a.flags("man").parse(args, 0, 0); err != nil {
		return err
	}
	return describeTo(a.out, "man")
}

func describeTo(w io.Writer, what string) error {
	return templates.ExecuteTemplate(w, what, describe())
}
