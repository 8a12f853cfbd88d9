// The parser: text and reasoning.

package answer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// Options says what a Parser looks for.
type Options struct {
	// Tools are the tools in the prompt: anything whose JSON is an array of functions as OpenAI's
	// API has them. Without tools, there are no calls.
	Tools any
	// Prompt is the prompt before the answer, or the end of the prompt. A prompt that ends with the
	// marker of reasoning, or with the tag of the text after it, has begun it.
	Prompt string
	// WholeCalls holds calls back until they are complete: their events come together, and there is
	// no CallBroken.
	WholeCalls bool
	// NewID makes the IDs of calls. By default they are random: 9 letters and digits for Mistral,
	// whose templates want that, or "call_" and 24 of them.
	NewID func() string
}

// NewParser begins an answer. Errors are fault.ErrOption and fault.ErrTools.
func NewParser(f Format, o Options) (*Parser, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	tools, err := readTools(o.Tools)
	if err != nil {
		return nil, err
	}
	p := &Parser{format: f, family: families[f.Calls], tools: tools, whole: o.WholeCalls, newID: o.NewID, state: inText, fresh: true, mused: f.Think == ""}
	if p.newID == nil {
		p.newID = randomID(f.Calls)
	}
	switch prompt := strings.TrimRight(o.Prompt, spaces); {
	case f.Think != "" && strings.HasSuffix(prompt, f.Think):
		p.state = beforeReasoning
	case f.Answer != "" && strings.HasSuffix(prompt, f.Answer):
		p.beginTagged()
	}
	return p, nil
}

// randomID makes IDs as clients of a family expect them.
func randomID(c Calls) func() string {
	prefix, n := "call_", 24
	if c == Mistral {
		prefix, n = "", 9
	}
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return func() string {
		b := []byte(prefix)
		for range n {
			b = append(b, alphabet[rand.IntN(len(alphabet))])
		}
		return string(b)
	}
}

// readTools reads the names and schemas of tools.
func readTools(tools any) (map[string]schema, error) {
	data, err := json.Marshal(tools)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrTools, err)
	}
	type function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var list []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Function   *function       `json:"function"`
	}
	if err := pyjson.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrTools, err)
	}
	var found map[string]schema
	for _, t := range list {
		if t.Function != nil {
			t.Name, t.Parameters = t.Function.Name, t.Function.Parameters
		}
		if found == nil {
			found = map[string]schema{}
		}
		found[t.Name] = readSchema(t.Parameters)
	}
	return found, nil
}

// Add takes the next piece of the text and returns the events that are certain after it. The events
// are valid until the next call.
func (p *Parser) Add(piece string) []Event {
	p.events = p.events[:0]
	p.in += piece
	p.run()
	return p.events
}

// End returns the events that were held back. The text has no more pieces.
func (p *Parser) End() []Event {
	p.events = p.events[:0]
	p.ended = true
	p.run()
	return p.events
}

func (p *Parser) run() {
	for p.step() {
	}
	p.sendArguments()
	p.settle()
}

// step takes as much as it can from in. It returns false if it needs more text.
func (p *Parser) step() bool {
	switch p.state {
	case inText:
		return p.text()
	case beforeReasoning:
		return p.beginReasoning()
	case inReasoning:
		return p.reasoning()
	case afterMarker:
		return p.leaveSpace(inText)
	case beforeCall:
		return p.head()
	case inObject:
		return p.object()
	case afterObject:
		return p.endOfObject()
	case afterItem:
		return p.endOfItem()
	case afterCall:
		return p.endOfCall()
	case beforeParameter:
		return p.parameter()
	case beforeArgument:
		return p.argument()
	case afterArguments:
		return p.endOfArguments()
	case beforeNextCall:
		return p.nextHead()
	}
	return p.value()
}

// text looks for what begins reasoning or a call.
func (p *Parser) text() bool {
	if p.fresh {
		done, wait := p.begin()
		if done || wait {
			return done
		}
		p.fresh = false
	}
	var open []string
	if p.tools != nil {
		open = slices.Concat(p.family.open, p.family.loose)
	}
	if p.tagged {
		open = append(slices.Clip(open), p.format.Unanswer)
	}
	at, marker := find(p.in, open)
	if marker != "" {
		lead := spaceBefore(p.in, at)
		p.say(Text, p.in[:lead])
		if p.tagged && marker == p.format.Unanswer {
			p.in = p.in[at+len(marker):]
			p.tagged, p.state = false, afterMarker
			return true
		}
		p.in = p.in[lead:]
		p.beginCall(at - lead + len(marker))
		p.call.bare = slices.Contains(p.family.loose, marker)
		return true
	}
	n := len(p.in)
	if !p.ended {
		n = certain(p.in, open, len(open) > 0)
	} else if p.called && strings.Trim(p.in, spaces) == "" {
		p.in, n = "", 0
	}
	p.say(Text, p.in[:n])
	p.in = p.in[n:]
	return false
}

// begin reports whether an answer begins with reasoning, with the tag of the text after it or with
// a bare call, or whether more of it must come to know.
func (p *Parser) begin() (done, wait bool) {
	bare := p.tools != nil && p.family.bare
	untagged := p.format.Answer != "" && !p.tagged
	if p.mused && !bare && !untagged {
		return false, false
	}
	rest := strings.TrimLeft(p.in, spaces)
	lead := len(p.in) - len(rest)
	if lead > maxSpace {
		return false, false
	}
	if rest == "" {
		return false, !p.ended
	}
	if !p.mused {
		if strings.HasPrefix(rest, p.format.Think) {
			p.in = rest[len(p.format.Think):]
			p.state = beforeReasoning
			return true, false
		}
		if !p.ended && strings.HasPrefix(p.format.Think, rest) {
			return false, true
		}
	}
	if untagged {
		if strings.HasPrefix(rest, p.format.Answer) {
			p.in = rest[len(p.format.Answer):]
			p.beginTagged()
			return true, false
		}
		if !p.ended && strings.HasPrefix(p.format.Answer, rest) {
			return false, true
		}
	}
	if bare && (rest[0] == '{' || rest[0] == '[') {
		p.fresh = false
		p.beginCall(lead)
		p.call.bare, p.call.close = true, nil
		return true, false
	}
	return false, false
}

// beginTagged begins the text after the tag before it, which neither reasoning nor another such tag
// can follow.
func (p *Parser) beginTagged() {
	p.mused, p.tagged, p.state = true, true, afterMarker
}

// beginReasoning leaves out the white space after the marker.
func (p *Parser) beginReasoning() bool {
	p.mused = true
	return p.leaveSpace(inReasoning)
}

func (p *Parser) leaveSpace(next state) bool {
	p.in = strings.TrimLeft(p.in, spaces)
	if p.in == "" {
		return false
	}
	p.state = next
	return true
}

// reasoning looks for its end.
func (p *Parser) reasoning() bool {
	end := []string{p.format.Unthink}
	if at, marker := find(p.in, end); marker != "" {
		p.say(Reasoning, p.in[:spaceBefore(p.in, at)])
		p.in = p.in[at+len(marker):]
		p.state = afterMarker
		return true
	}
	n := len(p.in)
	if !p.ended {
		n = certain(p.in, end, true)
	}
	p.say(Reasoning, p.in[:n])
	p.in = p.in[n:]
	return false
}

// Parse takes a whole text apart.
func Parse(f Format, o Options, text string) (Answer, error) {
	p, err := NewParser(f, o)
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	for _, e := range p.Add(text) {
		a.Add(e)
	}
	for _, e := range p.End() {
		a.Add(e)
	}
	return a, nil
}
