// Chat answers its arguments, or line after line of the standard input, as the text comes:
//
//	$ go run ./text/examples/chat "What is the capital of France?"
//	The capital of France is Paris.
//
// The model is a tiny one that knows capitals, sums, opposites, colours, animals and days; any chat
// model of the hub takes its place: -model DIR.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/avoformer/avoformer/text"
)

func main() {
	model := flag.String("model", "text/examples/models/chat", "the model's `folder`, or a GGUF file")
	flag.Parse()
	log.SetFlags(0)
	g, err := text.OpenGenerator(*model, text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var in io.Reader = os.Stdin
	if flag.NArg() > 0 {
		in = strings.NewReader(strings.Join(flag.Args(), " "))
	}
	if err := chat(context.Background(), g, in, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// chat answers each line, knowing those before it.
func chat(ctx context.Context, g *text.Generator, in io.Reader, out io.Writer) error {
	var messages []text.Message
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		messages = append(messages, text.Message{Role: "user", Content: lines.Text()})
		var answer strings.Builder
		for piece, err := range g.Chat(ctx, messages, text.GenerateOptions{}) {
			if err != nil {
				return err
			}
			answer.WriteString(piece.Text)
			fmt.Fprint(out, piece.Text)
		}
		fmt.Fprintln(out)
		messages = append(messages, text.Message{Role: "assistant", Content: answer.String()})
	}
	return lines.Err()
}
