package hub

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Scheme is the prefix of names of models on the hub where a path is also allowed: hf://org/name.
const Scheme = "hf://"

// A Name names a model, or a file of a model, on the hub.
type Name struct {
	Repository string // "org/name"; some of the hub's oldest models have only "name"
	File       string // a file's path in the repository; empty: all files that the model needs
	Revision   string // a branch, a tag or a commit; empty: main
}

// part matches the text that the hub allows between the slashes of a repository's name.
var part = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`) })

// ParseName reads [hf://]org/name[/file][@revision].
func ParseName(s string) (Name, error) {
	rest, revision, hasRevision := strings.Cut(strings.TrimPrefix(s, Scheme), "@")
	n := Name{Revision: revision}
	parts := strings.SplitN(rest, "/", 3)
	n.Repository = strings.Join(parts[:min(len(parts), 2)], "/")
	if len(parts) == 3 {
		n.File = parts[2]
	}
	for _, p := range parts[:min(len(parts), 2)] {
		if !part().MatchString(p) || strings.Contains(p, "--") || strings.Contains(p, "..") {
			return n, check.Errorf(fault.ErrName, "%q is not a name of a model, want [hf://]org/name[/file][@revision]", s)
		}
	}
	if hasRevision && !isRevision(revision) || len(parts) == 3 && !isFile(n.File) {
		return n, check.Errorf(fault.ErrName, "%q is not a name of a model, want [hf://]org/name[/file][@revision]", s)
	}
	return n, nil
}

// String returns the name as ParseName reads it.
func (n Name) String() string {
	s := n.Repository
	if n.File != "" {
		s += "/" + n.File
	}
	if n.Revision != "" {
		s += "@" + n.Revision
	}
	return s
}

func (n Name) revision() string {
	if n.Revision == "" {
		return "main"
	}
	return n.Revision
}

// isRevision reports whether s can be the name of a branch, a tag or a commit. The name becomes a
// path in the cache, so this also keeps it within the cache's folder.
func isRevision(s string) bool {
	return fs.ValidPath(s) && s != "." && !strings.ContainsAny(s, "\\:\x00?#%") && len(s) < 200
}

// isFile reports whether s can be the path of a file in a repository. It rejects characters that
// have a meaning in paths on some system, such as the backslash.
func isFile(s string) bool {
	return fs.ValidPath(s) && s != "." && !strings.ContainsAny(s, "\\:\x00") && len(s) < 1000
}

// isCommit reports whether s is the hash of a commit, which names a snapshot.
func isCommit(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
