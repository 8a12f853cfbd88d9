// Command avoformer runs models of the Hugging Face hub from a folder on disk.
//
//	avoformer embed DIR [FILE]      vectors of lines
//	avoformer bulk DIR embed FILE…  files of texts to files of vectors, by many processes
//	avoformer rerank DIR QUERY      lines by how well they answer
//	avoformer classify DIR [FILE]   labels of lines, of their words, of images
//	avoformer generate DIR [PROMPT] text, or a chat
//	avoformer translate DIR [FILE]  lines in another language, or shorter
//	avoformer transcribe DIR SOUND… text of speech
//	avoformer read DIR PAGE…        pages as Markdown
//	avoformer info DIR              what a folder can be used for
//	avoformer bench DIR             how fast it is here
//	avoformer serve DIR…            models over HTTP
//	avoformer prepare DIR           packed weights, for processes that map them
//	avoformer pull NAME             a model of the hub, to a folder
//	avoformer list                  the models that were pulled
//	avoformer rm NAME…              remove models that were pulled
//	avoformer quantize FILE         a GGUF file with weights of fewer bits
//	avoformer version               what this binary is
//	avoformer completion SHELL      completion for bash, zsh or fish
//	avoformer man                   the manual page
//
// DIR may be hf://org/name, which is pulled first; nothing else goes to the network.
//
// With -weights the weights take fewer bits. With -cache, in commands that generate text, the keys
// and values of the tokens so far take fewer bits. -check, in embed, rerank and classify, measures
// what -weights costs on the given texts and, for vectors, which parts of the model cost most.
// -adapter adds a LoRA adapter to the weights.
//
// The exit status is 0; 1 after an error, with one line that says what is wrong; 2 after a wrong
// call; and 130 if SIGINT or SIGTERM interrupted the command. If the reader of its output has gone,
// the command ends with SIGPIPE, as other programs do (141 in a shell).
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/replica"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func init() {
	commands = []command{
		{"embed", "DIR [FILE]", "print vectors of lines as JSONL, CSV, .npy or raw float32, or the lines that are nearest to a text", embed},
		{"rerank", "DIR QUERY [FILE]", "print lines in the order of how well they answer a query", rerank},
		{"classify", "DIR [FILE...]", "print labels of lines, of their words (-words), or of images", classify},
		{"bulk", "DIR embed|rank|classify FILE...", "compute vectors, scores or labels of files and folders of texts to files, with any number of processes", bulkFiles},
		{"generate", "DIR [PROMPT]", "print text that follows a prompt, or chat", generate},
		{"translate", "DIR [FILE]", "print lines in another language, or shorter", translate},
		{"transcribe", "DIR SOUND...", "print the text of speech", transcribe},
		{"read", "DIR PAGE...", "print images of pages as Markdown: files, or folders of them; pdftoppm -png makes images of the pages of a PDF", readPages},
		{"info", "DIR", "print what a folder can be used for, and which parts of it are not supported", info},
		{"serve", "DIR...", "serve models over HTTP, for clients of OpenAI, text-embeddings-inference, Cohere, Ollama and Hugging Face", serveModels},
		{"prepare", "DIR", "keep packed weights in the folder of -ready, so that other processes map them", prepare},
		{"pull", "NAME[@REVISION]", "download a model of the hub, or NAME/FILE of it, to the cache, and print its folder; other commands accept hf://NAME as DIR", pull},
		{"list", "", "list the models in the cache of the hub: names for DIR, sizes, folders; and the files of packed weights", list},
		{"rm", "NAME...", "remove models from the cache of the hub, and files of packed weights", remove},
		{"quantize", "FILE", "write a GGUF file again, with weights of fewer bits: -weights q4_k -o OUT.gguf", quantize},
		{"bench", "DIR", "measure speed and memory on this machine, next to other engines that are installed", bench},
		{"version", "", "print the version, how it was built, and which kernels run on this machine; also --version", version},
		{"completion", "bash|zsh|fish", "print a script that completes commands and flags in a shell", completion},
		{"man", "", "print the manual page, for man -l or a folder man1", man},
	}
}

func main() {
	limitHeap()
	os.Exit(run(interrupts(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// limitHeap limits the heap to the memory that the machine and its cgroups allow, unless GOMEMLIMIT
// is set. Without a limit the heap may grow to twice the memory in use before the collector frees
// garbage.
func limitHeap() {
	if _, ok := os.LookupEnv("GOMEMLIMIT"); ok {
		return
	}
	if allowed, _ := replica.Memory(); allowed > 0 {
		debug.SetMemoryLimit(allowed - allowed/16)
	}
}

// run is main with given streams. It returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	a := &app{ctx: ctx, in: in, out: bufio.NewWriterSize(out, 1<<16), err: stderr, shown: isTerminal(out), talks: isTerminal(in), warned: map[string]bool{}}
	err := dispatch(a, args)
	a.tellCut()
	if flushed := a.out.Flush(); flushed != nil && (err == nil || errors.Is(err, flag.ErrHelp)) {
		err = flushed
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage), errors.Is(err, fault.ErrOption) && !errors.Is(err, fault.ErrFolder) && !errors.Is(err, fault.ErrConfig):
		a.fail(a.withFlag(err))
		return exitUsage
	case errors.Is(err, context.Canceled):
		a.fail("interrupted" + a.left)
		return exitInterrupted
	case readerGone(err):
		return exitFailed // the reader of the output has closed it
	}
	a.fail(a.withFlag(err) + a.left)
	return exitFailed
}

func dispatch(a *app, args []string) error {
	if len(args) == 0 {
		return usagef("avoformer COMMAND, one of %s; avoformer help describes them", names())
	}
	if args[0] == "help" && len(args) == 2 {
		args = []string{args[1], "-h"}
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		for _, c := range commands {
			fmt.Fprintf(a.out, "avoformer %-10s %-17s %s\n", c.name, c.args, c.about)
		}
		fmt.Fprintln(a.out, "\navoformer COMMAND -h prints the flags of a command. Without FILE, or with -, commands read the standard input.\nLines are UTF-8; other bytes become U+FFFD. Exit codes: 0; 1 after an error; 2 after a wrong call; 130 after\nan interrupt; 141 if the reader of the output has gone.")
		return nil
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands {
		if c.name == args[0] {
			err := c.run(a, args[1:])
			if err != nil && !errors.Is(err, errUsage) && !errors.Is(err, flag.ErrHelp) {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			return err
		}
	}
	if c := meant("avoformer ", args[0], commandNames()); c != "" {
		return usagef("no command %q%s", args[0], c)
	}
	return usagef("no command %q, want one of %s", args[0], names())
}

func commandNames() (all []string) {
	for _, c := range commands {
		all = append(all, c.name)
	}
	return all
}

func names() string { return strings.Join(commandNames(), ", ") }
