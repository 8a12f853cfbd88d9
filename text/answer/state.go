// The state of a parser, the call that it reads, and the events for its caller.

package answer

// Parser separates an answer into text, reasoning and calls. It is for one answer, and for one
// goroutine.
type Parser struct {
	format Format
	family family
	tools  map[string]schema // nil: no calls
	whole  bool
	newID  func() string

	state  state
	in     string // text that is not used yet
	ended  bool
	events []Event
	said   []byte // all text of the last event, if it has been joined

	fresh  bool // the answer has only white space and reasoning so far
	mused  bool // the reasoning is over, or can no longer begin
	called bool // the text so far ends with a call
	tagged bool // the text is between tags, the second of which has not come
	calls  int  // calls that are whole

	call building
}

// state says where a Parser is in the answer. Parser.step calls the function of each state, which
// uses text of in, and returns false to wait for more.
type state int

const (
	inText state = iota
	beforeReasoning
	inReasoning
	afterMarker // of the end of reasoning, or of text between tags
	beforeCall  // between its marker and its arguments
	inObject    // in the JSON of a call, or in that of its arguments
	afterObject
	afterItem // after a call of a list
	afterCall
	beforeParameter
	inValue // in the value of a parameter
	beforeArgument
	afterArguments
	beforeNextCall // between a call and the arguments of the next, which has no marker of its own
)

// start says what follows the head of a call, which is the text before its arguments.
type start struct {
	state state
	name  string // of the tool; "" if the object has it
	// The arguments consist of these unless they are an object: parameters between tags, or
	// literals.
	tags   *tags
	syntax *syntax
}

// building is a call that is being read.
type building struct {
	Call
	source  []byte   // the text since the last event
	bare    bool     // it has no marker: its name must be that of a tool
	listed  bool     // it is one of a list
	close   []string // markers that must follow it
	begun   bool     // its name is known
	told    bool     // its event CallBegin is sent
	args    []byte   // the JSON of the arguments so far
	sent    int      // bytes of args in events
	scan    scanner
	field   field
	param   parameter
	jsonArg bool // the object that is read is the arguments

	literals literals
}

// parameter is the parameter that is read, of a call whose values are text between tags.
type parameter struct {
	types []string // from the tool's schema
	value []byte   // so far, unless text is set
	text  bool     // it is a string, which goes to args at once
	begun bool     // the new line after the tag is passed
	tags  *tags
	count int             // of parameters, this one included
	names map[string]bool // of parameters
}

// tags are the tags around parameters.
type tags struct {
	open     string   // before the name
	stop     string   // the first byte of named
	named    string   // after the name
	between  string   // after named and white space; "" if there is none
	end      string   // after the value
	ends     []string // end, and what a value ends before where end is missing
	lines    bool     // the value is on lines of its own
	function string   // after all parameters
	missing  string   // what the parameters end before where function is missing; ""
}

// syntax is the syntax of calls whose arguments are names with literals.
type syntax struct {
	before    string            // before the name of the call
	open, end string            // around the arguments
	is        string            // between a name and its value
	quotes    []string          // around strings
	python    bool              // values are literals of Python
	bareKeys  bool              // keys of maps may have no quotes
	listed    bool              // calls may be in a list
	constants map[string]string // and the JSON of each
}

// field is a field of the object that a call is.
type field struct {
	name     string
	raw      []byte // the name or the value that is read
	count    int    // of fields, this one included
	reading  bool   // raw is read
	copying  bool   // the value is the arguments
	complete bool   // the arguments are read
}

// add adds an event.
func (p *Parser) add(e Event) {
	p.settle()
	p.events = append(p.events, e)
}

// settle gives the last event the text that say has joined.
func (p *Parser) settle() {
	if len(p.said) > 0 {
		p.events[len(p.events)-1].Text = string(p.said)
		p.said = p.said[:0]
	}
}

// say adds an event with text of the answer or of the reasoning, or joins the text to that of the
// last one.
func (p *Parser) say(k Kind, s string) {
	if s == "" {
		return
	}
	if k == Text {
		p.called = false
	}
	n := len(p.events)
	if n == 0 || p.events[n-1].Kind != k {
		p.add(Event{Kind: k, Text: s})
		return
	}
	if len(p.said) == 0 {
		p.said = append(p.said, p.events[n-1].Text...)
	}
	p.said = append(p.said, s...)
}

// take uses n bytes of in for the call.
func (p *Parser) take(n int) {
	p.call.source = append(p.call.source, p.in[:n]...)
	p.in = p.in[n:]
}

// beginCall begins to read a call, whose marker has so many bytes.
func (p *Parser) beginCall(marker int) {
	p.call = building{source: p.call.source[:0], args: p.call.args[:0], scan: scanner{stack: p.call.scan.stack[:0]}, close: p.family.close}
	p.take(marker)
	p.state = beforeCall
}

// nextCall begins to read a further call, without a marker of its own.
func (p *Parser) nextCall() {
	c := &p.call
	p.call = building{source: c.source, bare: c.bare, listed: c.listed, args: c.args[:0], scan: scanner{stack: c.scan.stack[:0]}, close: c.close}
	p.state = inObject
}

// named sets the name of the call. It returns false if there cannot be such a call.
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

// headed begins to read what follows the head of a call, which r has read.
func (p *Parser) headed(r *reader, next *start) bool {
	switch {
	case r.short && !p.ended:
		return false
	case next == nil:
		return p.fail()
	}
	p.take(r.at)
	p.state = next.state
	switch {
	case next.state == inObject && next.name == "": // the object has the name
		return true
	case !p.named(next.name):
		return p.fail()
	case next.tags != nil:
		p.call.param = parameter{tags: next.tags, names: map[string]bool{}}
		p.call.args = append(p.call.args, '{')
	case next.syntax != nil:
		p.call.literals = literals{syntax: next.syntax, next: keyOrEnd, stack: []byte{aMap}, opens: []int{0}, names: map[string]bool{}}
		p.call.args = append(p.call.args, '{')
	default:
		p.call.jsonArg = true
	}
	return true
}

// tell adds the event of a call that begins.
func (p *Parser) tell() {
	p.call.told = true
	p.add(Event{Kind: CallBegin, Index: p.calls, Call: Call{ID: p.call.ID, Name: p.call.Name}})
}

// sendArguments adds an event with the part of the arguments that no event has yet.
func (p *Parser) sendArguments() {
	c := &p.call
	n := c.literals.certain(c.args)
	if c.told && c.sent < n {
		p.add(Event{Kind: CallArguments, Index: p.calls, Text: string(c.args[c.sent:n]), Call: Call{ID: c.ID, Name: c.Name}})
		c.sent = n
	}
}

// endCall adds the events of a whole call.
func (p *Parser) endCall() {
	c := &p.call
	if !c.told {
		p.tell()
	}
	p.sendArguments()
	c.Arguments = string(c.args)
	p.add(Event{Kind: CallEnd, Index: p.calls, Call: c.Call})
	p.calls++
	c.told, c.begun, c.source = false, false, c.source[:0]
	p.called = true
}

// fail turns the text read so far into text of the answer, because it is not a call.
func (p *Parser) fail() bool {
	c := &p.call
	source := string(c.source)
	if c.told {
		p.sendArguments()
		p.add(Event{Kind: CallBroken, Index: p.calls, Text: source, Call: Call{ID: c.ID, Name: c.Name}})
		p.called = false
	} else {
		p.say(Text, source)
	}
	c.told, c.begun, c.source = false, false, c.source[:0]
	p.state = inText
	return true
}
