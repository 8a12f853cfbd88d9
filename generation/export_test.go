package generation

// Guess has a scheduler ask its draft model whether that saves time or not.
func (s *Scheduler) Guess() { s.loop.guess.always = true }
