// Replicas of a decoder.

package text

import (
	"sync"

	"github.com/avoformer/avoformer/generation"
)

// lane is a replica of a decoder.
type lane struct {
	scheduler *generation.Scheduler

	mu     sync.Mutex
	recent [16][]int // prompts that it had, of which it may keep keys and values
	had    int       // prompts so far; the oldest of recent is at their number
}

// common is the most tokens that a prompt begins with as an earlier one does.
func (l *lane) common(prompt []int) (most int) {
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

func (l *lane) remember(prompt []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.had%len(l.recent)] = prompt
	l.had++
}

// prompts is how many prompts the replica had.
func (l *lane) prompts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.had
}
