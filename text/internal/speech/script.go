package speech

// A Script is how a model writes down what it hears, hidden state by hidden state, in characters or
// in pieces of words.
type Script interface {
	// Features is what the model takes of samples, [features, frames], and the number of frames.
	Features(samples []float32) ([]float32, int, error)
	// Windows cuts samples into windows.
	Windows(samples []float32) []Window
	// Begin returns the state before the first hidden state.
	Begin() Heard
	// Write returns the text of the speech heard.
	Write(all []Segment) string
	// Complete is the part of it whose text is the same whatever comes next: whole words.
	Complete(all []Segment) []Segment
	// Words joins the speech heard to words.
	Words(all []Segment) []Segment
}

// Heard is the speech heard so far.
type Heard interface {
	// Add adds the most likely token of the next hidden state.
	Add(token int)
	// End ends the sound, which completes what waits for further tokens.
	End()
	// All is the characters, or pieces of words, that are heard.
	All() []Segment
}
