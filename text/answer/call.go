// Before and after the arguments of a call.

package answer

import "strings"

// heads has the functions that read the head of a call. They return nil if it is not the head of a
// call, or if more text must come.
var heads = map[Calls]func(*Parser, *reader) *start{
	Written: (*Parser).objectHead, Hermes: (*Parser).objectHead, Llama: (*Parser).objectHead, Piped: (*Parser).objectHead,
	QwenCoder: (*Parser).functionHead, GLM: (*Parser).glmHead, Mistral: (*Parser).mistralHead, DeepSeek: (*Parser).deepSeekHead,
	Nemotron: (*Parser).objectHead, Hunyuan: (*Parser).objectHead, LFM: (*Parser).pythonHead, OLMo: (*Parser).pythonHead, Gemma: (*Parser).gemmaHead,
}

// head reads the head of a call.
func (p *Parser) head() bool {
	r := reader{in: p.in}
	return p.headed(&r, heads[p.format.Calls](p, &r))
}

// mistralHead reads the beginning of a list, or a name.
func (p *Parser) mistralHead(r *reader) *start {
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
	return &start{state: inObject, name: name}
}

// deepSeekHead reads a name, and the beginning of a block of Markdown if the arguments are in one.
func (p *Parser) deepSeekHead(r *reader) *start {
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
	return &start{state: inObject, name: name}
}

// endOfCall reads what may follow a call, or a list of them.
func (p *Parser) endOfCall() bool {
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
	p.state = inText
	if another {
		p.take(r.at - end)
		p.call.listed = false
		p.nextCall()
	}
	return true
}
