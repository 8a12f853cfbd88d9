// This file has claims: a claim says which process works on a shard.

package bulk

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/avoformer/avoformer/internal/filelock"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// claimText is the content of a claim's file.
type claimText struct {
	Token   string `json:"token"`   // of the process
	Machine string `json:"machine"` // "" if the system does not identify it
	Host    string `json:"host"`    // informative
	Process int    `json:"process"`
	Beat    int    `json:"beat"` // number of times that the file was written
}

// claim is a claim that this process holds.
type claim struct {
	path   string // without the suffix of the generation
	turn   int    // the generation
	file   *os.File
	text   claimText
	ended  chan struct{} // closed to stop the beats
	beaten sync.WaitGroup
}

// claims creates claims, and watches those of other processes.
type claims struct {
	text  claimText
	stale time.Duration
	seen  map[string]sight // by the claims' files
}

// sight is the content of a claim with the time when this process first read it.
type sight struct {
	text claimText
	at   time.Time
}

func newClaims(stale time.Duration) *claims {
	var token [tokenBytes]byte
	_, _ = rand.Read(token[:]) // rand.Read never fails
	host, _ := os.Hostname()
	return &claims{text: claimText{Token: hex.EncodeToString(token[:]), Machine: machine(), Host: host, Process: os.Getpid()}, stale: stale, seen: map[string]sight{}}
}

// tokenBytes is the length of a token, which is written as hexadecimal digits.
const tokenBytes = 8

func isToken(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == tokenBytes
}

// machine returns a name that is unique to this machine since its start, or "" if the system has
// none.
func machine() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// take claims the shard of path. If it returns neither a claim nor an error, another process has
// the shard.
func (c *claims) take(path string) (*claim, error) {
	turn := 0
	for { // find the last generation
		_, err := os.Stat(generation(path, turn+1))
		if errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, err
		}
		turn++
	}
	free, err := c.free(generation(path, turn))
	if err != nil || !free {
		return nil, err
	}
	if _, err := os.Stat(generation(path, turn)); err == nil {
		turn++
	}
	f, err := os.OpenFile(generation(path, turn), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	mine := &claim{path: path, turn: turn, file: f, text: c.text, ended: make(chan struct{})}
	if c.text.Machine != "" {
		_, _ = filelock.TryLock(f) // without locks, other processes see from beats whether the claim is stale
	}
	if err := mine.beat(); err != nil {
		mine.release()
		return nil, err
	}
	mine.beaten.Go(func() { mine.beats(c.stale / 4) })
	return mine, nil
}

func generation(path string, turn int) string { return fmt.Sprintf("%s.claim.%d", path, turn) }

// free reports whether there is no claim, or a stale one.
func (c *claims) free(file string) (bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		delete(c.seen, file)
		return true, nil
	} else if err != nil {
		return false, err
	}
	var now claimText
	_ = pyjson.Unmarshal(data, &now) // a claim that is incomplete, because of a crash or a write in progress, becomes stale by its age
	before, ok := c.seen[file]
	if !ok || before.text != now {
		c.seen[file] = sight{now, time.Now()}
	} else if time.Since(before.at) >= c.stale {
		return true, nil
	}
	return now.Machine != "" && now.Machine == c.text.Machine && now.Token != c.text.Token && unlocked(file), nil
}

// unlocked reports whether the process that locked a file has ended.
func unlocked(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	held, err := filelock.TryLock(f)
	return held && err == nil
}

// beats rewrites the claim at an interval, so that other processes see that its process is running.
func (c *claim) beats(every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-ticks.C:
			_ = c.beat() // a claim that cannot be written becomes stale; mine detects that it was taken over
		}
	}
}

func (c *claim) beat() error {
	c.text.Beat++
	data, err := json.Marshal(c.text)
	if err != nil {
		return err
	}
	_, err = c.file.WriteAt(data, 0)
	return err
}

// mine reports whether no other process has taken over the claim.
func (c *claim) mine() (bool, error) {
	for _, turn := range []int{c.turn, c.turn + 1} {
		_, err := os.Stat(generation(c.path, turn))
		switch there := err == nil; {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, err
		case there != (turn == c.turn):
			return false, nil
		}
	}
	return true, nil
}

// release ends the claim. It removes the claim and the stale ones before it, unless another process
// has taken it over.
func (c *claim) release() {
	close(c.ended)
	c.beaten.Wait()
	mine, err := c.mine()
	c.file.Close()
	if err != nil || !mine {
		return
	}
	for turn := 0; turn <= c.turn; turn++ {
		_ = os.Remove(generation(c.path, turn)) // a file that cannot be removed becomes stale
	}
}
