package speech

// A Script is how a model writes down what it hears, hidden state by hidden state, in characters or in pieces of words.
type Script interface {
	// Features is what the model takes of samples, [features, frames], and the number of frames.
	Features(samples []float32) ([]float32, int, error)
	// Windows cuts samples into windows.
	Windows(samples []float32) []Window
	// Begin is what is heard before the first hidden state.
	Begin() Heard
	// Write is the text of what is heard.
	Write(all []Segment) string
	// Complete is the part of it whose text is the same whatever comes next: whole words.
	Complete(all []Segment) []Segment
	// Words joins what is heard to words.
	Words(all []Segment) []Segment
}

// Heard is what is heard so far.
type Heard interface {
	// Add adds the most likely token of the next hidden state.
	Add(token int)
	// End ends the sound, which completes what waits for further tokens.
	End()
	// All is the characters, or pieces of words, that are heard.
	All() []Segment
}
