// Package lanes has the replicas of a decoder, and chooses one for each prompt.
package lanes

import (
	"sync"

	"github.com/avoformer/avoformer/generation"
)

// A Lane is a replica of a decoder.
type Lane struct {
	Scheduler *generation.Scheduler

	mu     sync.Mutex
	recent [16][]int // prompts that it had, of which it may keep keys and values
	had    int       // prompts so far; the oldest of recent is at their number
}

// common returns the most tokens that a prompt begins with as an earlier one does.
func (l *Lane) common(prompt []int) (most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.recent {
		n := 0
		for n < min(len(p), len(prompt)) && p[n] == prompt[n] {
			n++
		}
		most = max(most, n)
	}
	return most
}

func (l *Lane) remember(prompt []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.had%len(l.recent)] = prompt
	l.had++
}

// prompts counts the prompts that the replica had.
func (l *Lane) prompts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.had
}

// Lanes are all replicas of a decoder.
type Lanes []*Lane

// For returns the lane for a prompt: the one with the fewest texts, and of several such lanes the
// one that had the fewest prompts. A lane that had a prompt with the same beginning is preferred if
// it may keep keys and values for more than half of this prompt, and has at most twice as many
// texts plus one.
func (all Lanes) For(prompt []int) *Lane {
	if len(all) == 1 {
		return all[0]
	}
	var best, alike *Lane
	least, had, most := 0, 0, 0
	texts := make([]int, len(all))
	for i, l := range all {
		s := l.Scheduler.Stats()
		texts[i] = s.Waiting + s.Running
		if n := l.prompts(); best == nil || texts[i] < least || texts[i] == least && n < had {
			best, least, had = l, texts[i], n
		}
	}
	for i, l := range all {
		if n := l.common(prompt); n > most && texts[i] <= 2*least+1 {
			alike, most = l, n
		}
	}
	if 2*most > len(prompt) {
		best = alike
	}
	best.remember(prompt)
	return best
}

// Stats returns the counts of all schedulers together.
func (all Lanes) Stats() (s generation.Stats) {
	for _, l := range all {
		s = added(s, l.Scheduler.Stats())
	}
	return s
}

// added returns the counts of two schedulers together.
func added(a, b generation.Stats) generation.Stats {
	return generation.Stats{
		Waiting: a.Waiting + b.Waiting, Running: a.Running + b.Running, Prefixes: a.Prefixes + b.Prefixes, PageBytes: a.PageBytes + b.PageBytes, PageLimit: a.PageLimit + b.PageLimit,
		Steps: a.Steps + b.Steps, PromptTokens: a.PromptTokens + b.PromptTokens, SharedTokens: a.SharedTokens + b.SharedTokens, Tokens: a.Tokens + b.Tokens,
		DraftTokens: a.DraftTokens + b.DraftTokens, AcceptedTokens: a.AcceptedTokens + b.AcceptedTokens, DraftSteps: a.DraftSteps + b.DraftSteps,
		ForcedTokens: a.ForcedTokens + b.ForcedTokens, Preempted: a.Preempted + b.Preempted,
	}
}
