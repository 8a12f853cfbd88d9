package topology

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// groups holds the combined limits of the cgroups of the process.
type groups struct {
	quota  float64 // CPUs; 0: no limit
	cpus   Set     // nil: all
	memory int64   // bytes; 0: no limit
}

// cgroups reads the process's cgroups of versions 1 and 2 and the cgroups above them, as far as
// they are mounted. The lowest quota and the lowest limit of memory count.
func (r reader) cgroups() (g groups) {
	mounts := r.mounts()
	for line := range strings.Lines(r.text("proc/self/cgroup")) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			m, ok := mounts[controller]
			if !ok {
				continue
			}
			for _, dir := range m.dirs(fields[2]) {
				switch controller {
				case "":
					g.limit(r.quota2(dir))
					g.limitMemory(r.bytes(path.Join(dir, "memory.max")))
				case "cpu":
					g.limit(r.quota1(dir))
				case "memory":
					g.limitMemory(r.bytes(path.Join(dir, "memory.limit_in_bytes")))
				}
				if g.cpus == nil && (controller == "" || controller == "cpuset") {
					g.cpus = r.cpuset(dir)
				}
			}
		}
	}
	return g
}

// limit applies a quota, unless it is 0.
func (g *groups) limit(quota float64) {
	if quota > 0 && (g.quota == 0 || quota < g.quota) {
		g.quota = quota
	}
}

// limitMemory applies a limit of memory, unless it is 0.
func (g *groups) limitMemory(bytes int64) {
	if bytes > 0 && (g.memory == 0 || bytes < g.memory) {
		g.memory = bytes
	}
}

// bytes returns the number in a file, or 0 if there is no file or it says "max".
func (r reader) bytes(name string) int64 {
	n, err := strconv.ParseInt(r.text(name), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// memory returns the bytes of the machine's memory, 0 if they are not known.
func (r reader) memory() int64 {
	for line := range strings.Lines(r.text("proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, err := strconv.ParseInt(fields[1], 10, 53)
			if err != nil {
				return 0
			}
			return max(n, 0) << 10
		}
	}
	return 0
}

// quota2 returns the quota of a cgroup of version 2. Its file has "150000 100000", or "max 100000"
// if there is no quota.
func (r reader) quota2(dir string) float64 {
	quota, period, _ := strings.Cut(r.text(path.Join(dir, "cpu.max")), " ")
	return quotient(quota, period)
}

// quota1 returns the quota of a cgroup of version 1, where a quota of -1 means that there is none.
func (r reader) quota1(dir string) float64 {
	return quotient(r.text(path.Join(dir, "cpu.cfs_quota_us")), r.text(path.Join(dir, "cpu.cfs_period_us")))
}

// quotient returns a quota divided by its period, or 0 if one of them is not a positive number.
func quotient(quota, period string) float64 {
	q, err := strconv.ParseUint(quota, 10, 63)
	p, err2 := strconv.ParseUint(period, 10, 63)
	if err != nil || err2 != nil || p == 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// cpuset returns the CPUs of a cgroup of either version.
func (r reader) cpuset(dir string) Set {
	for _, file := range []string{"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"} {
		if s := r.set(path.Join(dir, file)); s != nil {
			return s
		}
	}
	return nil
}

// mount is a mounted hierarchy of cgroups: the cgroup root is visible at point, a path without its
// leading slash.
type mount struct{ root, point string }

// mounts returns the hierarchies by the names of their controllers. The hierarchy of version 2 has
// the name "".
func (r reader) mounts() map[string]mount {
	all := map[string]mount{}
	for line := range strings.Lines(r.text("proc/self/mountinfo")) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after) // 36 35 98:0 root point options..., type source options
		if len(fields) < 5 || len(rest) < 3 {
			continue
		}
		m := mount{unescaped(fields[3]), strings.TrimPrefix(unescaped(fields[4]), "/")}
		switch rest[0] {
		case "cgroup2":
			all[""] = m
		case "cgroup":
			for option := range strings.SplitSeq(rest[2], ",") {
				if option == "cpu" || option == "cpuset" || option == "memory" {
					all[option] = m
				}
			}
		}
	}
	return all
}

// unescaped returns a field of mountinfo without escapes: blanks are in octal there.
func unescaped(s string) string { return strings.ReplaceAll(s, `\040`, " ") }

// deepest is the largest number of nested cgroups that are read.
const deepest = 64

// dirs returns the folders of a cgroup and of the cgroups above it, from the innermost on, as far
// as they are visible. A cgroup outside the root of its mount, as some containers have it, is
// treated as that root.
func (m mount) dirs(group string) (dirs []string) {
	inside := ""
	switch root := strings.TrimSuffix(m.root, "/"); {
	case strings.Contains(group, ".."):
	case root == "" || group == root || strings.HasPrefix(group, root+"/"):
		inside = strings.Trim(strings.TrimPrefix(group, root), "/")
	}
	dirs = []string{m.point}
	at := m.point
	for part := range strings.SplitSeq(inside, "/") {
		if part != "" && len(dirs) < deepest {
			at = path.Join(at, part)
			dirs = append(dirs, at)
		}
	}
	slices.Reverse(dirs)
	return dirs
}
