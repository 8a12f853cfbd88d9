// Tools answers a question with the help of a function of Go that the model calls:
//
//	$ go run ./text/examples/tools "What is the weather in Paris?"
//	get_weather {"city": "Paris"}
//	It is 21 degrees and sunny in Paris.
//
// The model is a tiny one that knows questions about the weather and the time of cities; any model
// of the hub that calls tools takes its place: -model DIR.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// weather is the tool, as the model is told of it.
var weather = []map[string]any{{"type": "function", "function": map[string]any{
	"name": "get_weather", "description": "The weather in a city, now.",
	"parameters": map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}},
}}}

func main() {
	model := flag.String("model", "text/examples/models/tools", "the model's `folder`, or a GGUF file")
	flag.Parse()
	log.SetFlags(0)
	g, err := text.OpenGenerator(*model, text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := ask(context.Background(), g, strings.Join(flag.Args(), " "), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// ask answers a question. The model gets the result of each call of the tool and continues with it.
func ask(ctx context.Context, g *text.Generator, question string, out io.Writer) error {
	messages := []text.Message{{Role: "user", Content: question}}
	for range 4 { // turns at most
		var a answer.Answer
		for e, err := range g.Answer(ctx, messages, text.PromptOptions{Tools: weather}, text.GenerateOptions{}) {
			if err != nil {
				return err
			}
			a.Add(e)
		}
		if len(a.Calls) == 0 {
			_, err := fmt.Fprintln(out, a.Content)
			return err
		}
		messages = append(messages, text.Reply(a))
		for _, c := range a.Calls {
			fmt.Fprintln(out, c.Name, c.Arguments)
			messages = append(messages, text.Message{Role: "tool", ToolCallID: c.ID, Content: `{"temperature": 21, "sky": "sunny"}`})
		}
	}
	return fmt.Errorf("the model goes on calling tools")
}
