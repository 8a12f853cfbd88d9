// Calls that are begun for the model.

package answer

// Opening returns the text that begins a call after a prompt, where the JSON of an object follows
// with "name" and, by the name arguments, the arguments, and the answer ends. A Parser that gets
// both finds the call. ok is false where calls are written otherwise.
func (f Format) Opening() (opening, arguments string, ok bool) {
	switch f.Calls {
	case Hermes, Written:
		return "<tool_call>\n", "arguments", true
	case Piped:
		return "<|tool_call|>", "arguments", true
	case Llama:
		return "", "parameters", true
	case Nemotron:
		return "<TOOLCALL>", "arguments", true
	case Hunyuan:
		return "<tool_calls>", "arguments", true
	case None, QwenCoder, GLM, Mistral, DeepSeek, LFM, OLMo, Gemma:
	}
	return "", "", false
}
