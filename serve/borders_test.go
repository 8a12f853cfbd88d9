package serve

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// written finds the text of an answer of any protocol.
var written = regexp.MustCompile(`"(?:text|content|response|generated_text)":"((?:[^"\\]|\\.)*)"`)

// TestSamplingBorders tries the ends of the fields of sampling on each route: whether the answer is
// the likeliest one, as with a temperature of 0, whether it is another one each time, or whether
// the request is refused.
func TestSamplingBorders(t *testing.T) {
	t.Parallel()
	h := started(t, Options{}, "generate")
	const message = `"messages":[{"role":"user","content":"Hello"}]`
	routes := map[string]struct{ body, temperature, zero string }{ // zero: the temperature that takes the likeliest token
		"/v1/completions":      {`{"prompt":"Hello","max_tokens":12,%s}`, `"temperature":2`, `"temperature":0`},
		"/v1/chat/completions": {`{` + message + `,"max_tokens":12,%s}`, `"temperature":2`, `"temperature":0`},
		"/v1/responses":        {`{"input":"Hello","max_output_tokens":12,%s}`, `"temperature":2`, `"temperature":0`},
		"/v1/messages":         {`{` + message + `,"max_tokens":12,%s}`, `"temperature":2`, `"temperature":0`},
		"/api/chat":            {`{"model":"generate",` + message + `,"stream":false,"options":{"num_predict":12,%s}}`, `"temperature":2`, `"temperature":0`},
		"/api/generate":        {`{"model":"generate","prompt":"Hello","stream":false,"options":{"num_predict":12,%s}}`, `"temperature":2`, `"temperature":0`},
		"/models/generate":     {`{"inputs":"Hello","parameters":{"max_new_tokens":12,%s}}`, `"temperature":2.0`, `"do_sample":false`},
	}
	openAI := []string{"/v1/completions", "/v1/chat/completions"}
	local := append([]string{"/api/chat", "/api/generate"}, openAI...)
	all := append([]string{"/v1/responses", "/v1/messages"}, local...)
	withTopK := append([]string{"/v1/messages"}, local...)
	hub := []string{"/models/generate"}
	const likeliest, random, refused = "the likeliest", "random", "refused"
	for _, c := range []struct {
		routes []string
		field  string
		want   string
	}{
		{all, `"top_p":0`, likeliest}, {all, `"top_p":0.0`, likeliest}, {all, `"top_p":5e-324`, likeliest}, {all, `"top_p":1`, random}, {all, `"top_p":1.0001`, refused},
		{all, `"top_p":-0.1`, refused}, {all, `"top_p":null`, random}, {all, `"top_p":NaN`, refused}, {all, `"top_p":1e999`, refused},
		{hub, `"top_p":0`, refused}, {hub, `"top_p":1`, random}, // as text-generation-inference does
		{withTopK, `"top_k":0`, random}, {withTopK, `"top_k":1`, likeliest}, {withTopK, `"top_k":2147483647`, random}, {withTopK, `"top_k":null`, random}, {withTopK, `"top_k":1.5`, refused},
		{local, `"top_k":-1`, random}, {[]string{"/v1/messages"}, `"top_k":-1`, refused}, {hub, `"top_k":0`, refused}, {hub, `"top_k":1`, likeliest},
		{local, `"min_p":0`, random}, {local, `"min_p":1`, likeliest}, {local, `"min_p":1.5`, refused}, {local, `"min_p":-1`, refused},
		{local, `"typical_p":1`, random}, {local, `"typical_p":1.5`, refused}, {local, `"typical_p":-1`, refused}, {hub, `"typical_p":0`, refused},
		{local, `"seed":-1`, random}, {openAI, `"presence_penalty":2.1`, refused}, {openAI, `"frequency_penalty":-2.1`, refused}, {openAI, `"repetition_penalty":0`, refused},
		{openAI, `"repeat_penalty":0`, refused}, {[]string{"/api/chat"}, `"repeat_penalty":0`, refused}, {hub, `"repetition_penalty":0`, refused}, {hub, `"seed":0`, refused},
		{openAI, `"n":0`, refused}, {openAI, `"n":129`, refused}, {openAI, `"stop":""`, random}, {openAI, `"stop":[]`, random}, {openAI, `"logit_bias":{"3":101}`, refused}, {openAI, `"logit_bias":{}`, random},
		{openAI, `"mirostat":0`, random}, {openAI, `"mirostat":1`, refused}, {local, `"temperature":-1`, refused}, {local, `"temperature":1e999`, refused},
	} {
		for _, path := range c.routes {
			r := routes[path]
			answer := func(fields string) (int, string) {
				status, reply, _ := ask(t, "POST", h.URL+path, fmt.Sprintf(r.body, fields))
				return status, fmt.Sprintf("%q", written.FindStringSubmatch(reply))
			}
			fields := c.field
			if !strings.Contains(fields, `"temperature"`) {
				fields = r.temperature + "," + fields
			}
			_, first := answer(r.zero)
			got := likeliest
			for range 4 { // twelve tokens at a temperature of 2 are the same with a chance below one in a million
				status, text := answer(fields)
				if text == "[]" && status == 200 {
					t.Fatalf("%s: no text", path)
				}
				if status != 200 {
					got = refused
				} else if text != first {
					got = random
				}
			}
			if got != c.want {
				t.Errorf("%s with %s is %s, want %s", path, c.field, got, c.want)
			}
		}
	}
	for _, path := range all { // a seed of 0 is a seed
		r := routes[path]
		if path == "/v1/responses" || path == "/v1/messages" {
			continue
		}
		texts := map[string]bool{}
		for range 3 {
			_, reply, _ := ask(t, "POST", h.URL+path, fmt.Sprintf(r.body, r.temperature+`,"seed":0`))
			texts[fmt.Sprintf("%q", written.FindStringSubmatch(reply))] = true
		}
		if len(texts) != 1 {
			t.Errorf("%s with a seed of 0 has %d texts", path, len(texts))
		}
	}
}
