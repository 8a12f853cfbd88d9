package answer_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/avoformer/avoformer/text/answer"
)

var tools = json.RawMessage(`[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]`)

// A model of Qwen's family thinks, says something and calls a tool.
func ExampleParser() {
	format := answer.Format{Calls: answer.Hermes, Think: "<think>", Unthink: "</think>"}
	p, err := answer.NewParser(format, answer.Options{Tools: tools, NewID: func() string { return "call_1" }})
	if err != nil {
		log.Fatal(err)
	}
	show := func(events []answer.Event) {
		for _, e := range events {
			switch e.Kind {
			case answer.CallBegin:
				fmt.Println(e.Kind, e.Call.ID, e.Call.Name)
			case answer.CallEnd:
				fmt.Println(e.Kind, e.Call.Arguments)
			default:
				fmt.Printf("%s %q\n", e.Kind, e.Text)
			}
		}
	}
	for _, piece := range []string{"<thi", "nk>\nThe weather", ", then.\n</think>\n\n", "I look", " it up.\n", "<tool_call>\n", `{"name": "weather", "argu`, `ments": {"city": `, `"Paris"}}`, "\n</tool_call>"} {
		show(p.Add(piece))
	}
	show(p.End())
	// Output:
	// reasoning "The weather"
	// reasoning ", then."
	// text "I look"
	// text " it up."
	// call begins call_1 weather
	// arguments "{\"city\": "
	// arguments "\"Paris\"}"
	// call ends {"city": "Paris"}
}

// Anything that is not a call is text.
func ExampleParse() {
	for _, text := range []string{`[TOOL_CALLS]weather[ARGS]{"city": "Paris"}`, `[TOOL_CALLS] are what I make.`} {
		a, err := answer.Parse(answer.Format{Calls: answer.Mistral}, answer.Options{Tools: tools, NewID: func() string { return "D681PevKs" }}, text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q %v\n", a.Content, a.Calls)
	}
	// Output:
	// "" [{D681PevKs weather {"city": "Paris"}}]
	// "[TOOL_CALLS] are what I make." []
}

func ExampleDetect() {
	template := `{% for m in messages %}...{% for c in m.tool_calls %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}`
	fmt.Println(answer.Detect(template, nil).Calls)
	// Output: hermes
}
