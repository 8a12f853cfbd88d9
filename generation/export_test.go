package generation

// Guess has a scheduler ask its draft model, or the model's own layer, whether that saves time or
// not.
func (s *Scheduler) Guess() { s.loop.guess.always, s.loop.mtp.always = true, true }
