// Calls: what they have in common, and what comes before and after them.

package answer

import "strings"

// family is how calls are written.
type family struct {
	open    []string // markers, one of which begins a call, or a list of them
	bare    bool     // an object or list at the beginning of an answer may be calls, too
	head    func(*Parser, *reader) state
	close   []string // what must follow a call
	tail    string   // what may follow calls
	next    string   // what may follow a call to begin another
	markers []string // further ones
}

const (
	callBegin = "<｜tool▁call▁begin｜>"
	callEnd   = "<｜tool▁call▁end｜>"
	toolSep   = "<｜tool▁sep｜>"
)

var families map[Calls]family

func init() {
	families = map[Calls]family{
		None:      {},
		Written:   {open: []string{"<tool_call>"}, bare: true, head: (*Parser).objectHead, close: []string{"</tool_call>"}, tail: "</tool_call>", markers: []string{"</tool_call>"}},
		Hermes:    {open: []string{"<tool_call>"}, head: (*Parser).objectHead, close: []string{"</tool_call>"}, markers: []string{"</tool_call>"}},
		QwenCoder: {open: []string{"<tool_call>"}, head: (*Parser).functionHead, close: []string{"</tool_call>"}, markers: []string{"</tool_call>"}},
		GLM:       {open: []string{"<tool_call>"}, head: (*Parser).glmHead, markers: []string{"</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}},
		Llama:     {open: []string{"<|python_tag|>"}, bare: true, head: (*Parser).objectHead, next: ";"},
		Mistral:   {open: []string{"[TOOL_CALLS]"}, head: (*Parser).mistralHead, markers: []string{"[CALL_ID]", "[ARGS]"}},
		Piped:     {open: []string{"<|tool_call|>"}, head: (*Parser).objectHead, tail: "<|/tool_call|>", markers: []string{"<|/tool_call|>"}},
		DeepSeek: {open: []string{"<｜tool▁calls▁begin｜>", callBegin}, head: (*Parser).deepSeekHead, close: []string{callEnd}, tail: "<｜tool▁calls▁end｜>",
			markers: []string{callEnd, toolSep, "<｜tool▁calls▁end｜>"}},
	}
}

// building is a call that is being read.
type building struct {
	Call
	source  []byte // the text since the last event
	bare    bool   // there is no marker
	listed  bool   // one of a list
	close   []string
	begun   bool // the name is known,
	told    bool // and given
	args    []byte
	sent    int // how much of args was given
	scan    scanner
	field   field
	param   parameter
	jsonArg bool // args is being copied
}

// take uses bytes of a call.
func (p *Parser) take(n int) {
	p.call.source = append(p.call.source, p.in[:n]...)
	p.in = p.in[n:]
}

// beginCall begins to read a call whose marker has so many bytes.
func (p *Parser) beginCall(marker int) {
	p.call = building{source: p.call.source[:0], args: p.call.args[:0], scan: scanner{stack: p.call.scan.stack[:0]}, close: p.family.close}
	p.take(marker)
	p.state = (*Parser).head
}

// nextCall moves to one more call after something between the two.
func (p *Parser) nextCall() {
	c := &p.call
	p.call = building{source: c.source, bare: c.bare, listed: c.listed, args: c.args[:0], scan: scanner{stack: c.scan.stack[:0]}, close: c.close}
	p.state = (*Parser).object
}

// named is that a call's name is known. It is false if there cannot be such a call.
func (p *Parser) named(name string) bool {
	c := &p.call
	if _, known := p.tools[name]; name == "" || c.begun || c.bare && !known {
		return false
	}
	c.Name, c.begun = name, true
	if c.ID == "" {
		c.ID = p.newID()
	}
	if !p.whole {
		p.tell()
	}
	return true
}

func (p *Parser) tell() {
	p.call.told = true
	p.events = append(p.events, Event{Kind: CallBegin, Index: p.calls, Call: Call{ID: p.call.ID, Name: p.call.Name}})
}

// sendArguments gives what has come of the arguments.
func (p *Parser) sendArguments() {
	c := &p.call
	if c.told && c.sent < len(c.args) {
		p.events = append(p.events, Event{Kind: CallArguments, Index: p.calls, Text: string(c.args[c.sent:]), Call: Call{ID: c.ID, Name: c.Name}})
		c.sent = len(c.args)
	}
}

// endCall gives a whole call.
func (p *Parser) endCall() {
	c := &p.call
	if !c.told {
		p.tell()
	}
	p.sendArguments()
	c.Arguments = string(c.args)
	p.events = append(p.events, Event{Kind: CallEnd, Index: p.calls, Call: c.Call})
	p.calls++
	c.told, c.begun, c.source = false, false, c.source[:0]
	p.called = true
}

// fail makes text of what is not a call.
func (p *Parser) fail() bool {
	c := &p.call
	source := string(c.source)
	if c.told {
		p.sendArguments()
		p.events = append(p.events, Event{Kind: CallBroken, Index: p.calls, Text: source, Call: Call{ID: c.ID, Name: c.Name}})
		p.called = false
	} else {
		p.say(Text, source)
	}
	c.told, c.begun, c.source = false, false, c.source[:0]
	p.state = (*Parser).text
	return true
}

// head reads what comes before the arguments.
func (p *Parser) head() bool {
	r := reader{in: p.in}
	next := p.family.head(p, &r)
	switch {
	case r.short && !p.ended:
		return false
	case next == nil:
		return p.fail()
	}
	p.take(r.at)
	p.state = next
	return true
}

// mistralHead is before a list, or the name and the arguments.
func (p *Parser) mistralHead(r *reader) state {
	r.space()
	if r.peek() == '[' {
		return p.objectHead(r)
	}
	name, id := r.word("[{"), ""
	if r.literal("[CALL_ID]") {
		id = r.word("[{")
	}
	r.literal("[ARGS]")
	r.space()
	if name == "" || r.peek() != '{' {
		return nil
	}
	p.call.ID = id
	return p.arguments(name)
}

// deepSeekHead is before the arguments.
func (p *Parser) deepSeekHead(r *reader) state {
	if !strings.HasSuffix(string(p.call.source), callBegin) {
		r.space()
		if !r.literal(callBegin) {
			return nil
		}
	}
	name := r.word("<")
	if !r.literal(toolSep) {
		return nil
	}
	r.space()
	block := r.peek() != '{'
	if block {
		name = r.word("`")
		r.space()
		if !r.literal("```json") {
			return nil
		}
		r.space()
	}
	if name == "" || r.peek() != '{' {
		return nil
	}
	if block {
		p.call.close = []string{"```", callEnd}
	}
	return p.arguments(name)
}

// arguments returns the state that begins a call of which only the arguments are JSON.
func (p *Parser) arguments(name string) state {
	return func(p *Parser) bool {
		if !p.named(name) {
			return p.fail()
		}
		p.call.jsonArg = true
		p.state = (*Parser).object
		return true
	}
}

// afterCall reads what may follow a call, or a list of them.
func (p *Parser) afterCall() bool {
	r := reader{in: p.in}
	if p.call.listed {
		for _, marker := range p.family.close {
			r.optional(marker)
		}
	}
	r.optional(p.family.tail)
	end := r.at
	another := r.optional(p.family.next)
	if r.short && !p.ended {
		return false
	}
	p.in = p.in[end:]
	p.state = (*Parser).text
	if another {
		p.take(r.at - end)
		p.call.listed = false
		p.nextCall()
	}
	return true
}
