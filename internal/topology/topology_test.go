package topology

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree returns a file system with some files.
func tree(files map[string]string) fs.FS {
	t := fstest.MapFS{}
	for name, text := range files {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

// machine returns the files of a machine with nodes, each with some cores of two hardware threads.
// Linux numbers the first threads of all cores before the second threads.
func machine(nodes, cores int) map[string]string {
	files := map[string]string{"sys/devices/system/node/online": fmt.Sprintf("0-%d\n", nodes-1)}
	n := nodes * cores
	for core := range n {
		for _, cpu := range []int{core, core + n} {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu)] = fmt.Sprintf("%d,%d\n", core, core+n)
		}
	}
	for node := range nodes {
		first, last := node*cores, (node+1)*cores-1
		files[fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node)] = fmt.Sprintf("%d-%d,%d-%d\n", first, last, first+n, last+n)
	}
	return files
}

const (
	mount2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	mount1 = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
)

func with(files map[string]string, more ...string) map[string]string {
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

func TestRead(t *testing.T) {
	const proc, mounts = "proc/self/cgroup", "proc/self/mountinfo"
	for name, c := range map[string]struct {
		files   map[string]string
		allowed string
		want    string
		threads int
	}{
		"nothing":    {nil, "", "4 CPUs on 4 cores", 4},
		"mask":       {nil, "2,5-7", "4 CPUs on 4 cores", 4},
		"two nodes":  {machine(2, 4), "0-15", "16 CPUs on 8 cores of 2 nodes", 8},
		"half cores": {machine(2, 4), "0-3,8", "5 CPUs on 4 cores", 4}, // one node, and one second thread
		"offline":    {with(machine(2, 4), "sys/devices/system/cpu/online", "0-7"), "0-15", "8 CPUs on 8 cores of 2 nodes", 8},
		"older name": {map[string]string{
			"sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-1", "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "0-1",
		}, "0-1", "2 CPUs on 1 core", 1},
		"cores of other CPUs": {map[string]string{
			"sys/devices/system/cpu/cpu0/topology/core_cpus_list": "1", "sys/devices/system/cpu/cpu1/topology/core_cpus_list": "1",
		}, "0-1", "2 CPUs on 2 cores", 2},
		"version 2": {with(machine(1, 8), proc, "0::/kubepods/pod\n", mounts, mount2, "sys/fs/cgroup/kubepods/pod/cpu.max", "350000 100000\n"),
			"0-15", "16 CPUs on 8 cores, quota 3.5", 4},
		"version 2, rounded down": {with(machine(1, 8), proc, "0::/\n", mounts, mount2, "sys/fs/cgroup/cpu.max", "249000 100000\n"),
			"0-15", "16 CPUs on 8 cores, quota 2.49", 2},
		"version 2, below one": {with(machine(1, 8), proc, "0::/\n", mounts, mount2, "sys/fs/cgroup/cpu.max", "20000 100000\n"),
			"0-15", "16 CPUs on 8 cores, quota 0.2", 1},
		"version 2, above": {with(machine(1, 8), proc, "0::/a/b\n", mounts, mount2,
			"sys/fs/cgroup/a/b/cpu.max", "max 100000", "sys/fs/cgroup/a/cpu.max", "200000 100000", "sys/fs/cgroup/cpu.max", "900000 100000"),
			"0-15", "16 CPUs on 8 cores, quota 2", 2},
		"version 2, more than cores": {with(machine(1, 8), proc, "0::/\n", mounts, mount2, "sys/fs/cgroup/cpu.max", "1200000 100000"),
			"0-15", "16 CPUs on 8 cores, quota 12", 8},
		"version 2, no period": {with(machine(1, 8), proc, "0::/\n", mounts, mount2, "sys/fs/cgroup/cpu.max", "100000 0"), "0-15", "16 CPUs on 8 cores", 8},
		"version 2, cpuset": {with(machine(2, 4), proc, "0::/a/b\n", mounts, mount2, "sys/fs/cgroup/a/cpuset.cpus.effective", "4-7", "sys/fs/cgroup/cpuset.cpus.effective", "0-15"),
			"0-15", "4 CPUs on 4 cores", 4},
		"version 2 below a container's root": {with(machine(1, 8), proc, "0::/docker/x/job\n", mounts, "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/job/cpu.max", "100000 100000"), "0-15", "16 CPUs on 8 cores, quota 1", 1},
		"version 2 outside of a container's root": {with(machine(1, 8), proc, "0::/../x\n", mounts, mount2, "sys/fs/cgroup/cpu.max", "200000 100000",
			"sys/fs/x/cpu.max", "100000 100000"), "0-15", "16 CPUs on 8 cores, quota 2", 2},
		"version 2 beside a container's root": {with(machine(1, 8), proc, "0::/docker/xy/job\n", mounts, "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/cpu.max", "200000 100000", "sys/fs/cgroup/y/cpu.max", "100000 100000", "sys/fs/cgroup/docker/xy/cpu.max", "100000 100000"),
			"0-15", "16 CPUs on 8 cores, quota 2", 2},
		"a mount with a blank": {with(machine(1, 8), proc, "0::/\n", mounts, "30 23 0:26 / /a\\040b rw - cgroup2 cgroup rw\n", "a b/cpu.max", "200000 100000"),
			"0-15", "16 CPUs on 8 cores, quota 2", 2},
		"version 1": {with(machine(1, 8), proc, "4:cpuset:/set\n3:cpu,cpuacct:/jobs/a\n0::/\n", mounts, mount1,
			"sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_period_us", "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "125000\n", "sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "50000\n",
			"sys/fs/cgroup/cpuset/set/cpuset.effective_cpus", "0-5\n"), "0-15", "6 CPUs on 6 cores, quota 2.5", 3},
		"version 1, older name": {with(machine(1, 8), proc, "4:cpuset:/set\n", mounts, mount1, "sys/fs/cgroup/cpuset/set/cpuset.cpus", "0-5\n"),
			"0-15", "6 CPUs on 6 cores", 6},
		"a mask outside of the cpuset": {with(machine(1, 8), proc, "0::/\n", mounts, mount2, "sys/fs/cgroup/cpuset.cpus.effective", "12-15"),
			"0-3", "4 CPUs on 4 cores", 4}, // the files describe another process
	} {
		t.Run(name, func(t *testing.T) {
			allowed, _ := parseSet(c.allowed)
			m := Read(tree(c.files), allowed, 4)
			if m.Memory != 0 || m.Limited {
				t.Errorf("%d bytes of memory", m.Memory)
			}
			if got := m.String(); got != c.want || m.Threads() != c.threads {
				t.Errorf("%s, %d threads, want %s, %d", got, m.Threads(), c.want, c.threads)
			}
		})
	}
}

// TestMemory: the lowest limit of the cgroups counts, or else the machine's memory.
func TestMemory(t *testing.T) {
	const proc, mounts = "proc/self/cgroup", "proc/self/mountinfo"
	const total = "MemTotal:        1000 kB\nMemFree:          500 kB\n"
	const version1 = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	for name, c := range map[string]struct {
		files   map[string]string
		want    int64
		limited bool
	}{
		"nothing":           {nil, 0, false},
		"the machine":       {map[string]string{"proc/meminfo": total}, 1000 << 10, false},
		"no number":         {map[string]string{"proc/meminfo": "MemTotal: many kB\n"}, 0, false},
		"version 2":         {map[string]string{"proc/meminfo": total, proc: "0::/a/b\n", mounts: mount2, "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "409600\n"}, 409600, true},
		"version 2, larger": {map[string]string{"proc/meminfo": total, proc: "0::/a\n", mounts: mount2, "sys/fs/cgroup/a/memory.max": "4096000\n"}, 1000 << 10, false},
		"version 1": {map[string]string{"proc/meminfo": total, proc: "4:memory:/a/b\n", mounts: version1, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "300000\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "200000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 200000, true},
		"only a cgroup": {map[string]string{proc: "0::/\n", mounts: mount2, "sys/fs/cgroup/memory.max": "5000\n"}, 5000, true},
	} {
		if m := Read(tree(c.files), nil, 1); m.Memory != c.want || m.Limited != c.limited {
			t.Errorf("%s: %d, %t, want %d, %t", name, m.Memory, m.Limited, c.want, c.limited)
		}
	}
}

// TestParseSet reads lists in any order, and refuses text that is not a list and numbers of CPUs
// beyond Linux's limit.
func TestParseSet(t *testing.T) {
	for list, want := range map[string]string{"0-3,8\n": "0-3,8", "5,3,3-4": "3-5", "8191": "8191"} {
		if s, ok := parseSet(list); s.String() != want || !ok {
			t.Errorf("%q: %v, %t", list, s, ok)
		}
	}
	for _, list := range []string{"", "-1", "3-0", "0-", "1,", "8192", "0-8192", "0-8191,0-8191"} {
		if s, ok := parseSet(list); len(s) > 0 || ok {
			t.Errorf("%q: %v, %t", list, s, ok)
		}
	}
}

// TestSeparate: hardware threads count if they compute as much as cores.
func TestSeparate(t *testing.T) {
	m := Read(tree(machine(1, 4)), upTo(8), 8)
	if a, b, ok := m.Siblings(); a != 0 || b != 4 || !ok {
		t.Errorf("siblings %d and %d, %t", a, b, ok)
	}
	m.Separate = true
	if got := m.Threads(); got != 8 {
		t.Errorf("%d threads, want 8", got)
	}
	m = Read(nil, upTo(3), 3)
	if _, _, ok := m.Siblings(); ok {
		t.Error("Siblings returns siblings of a machine that has none")
	}
}

// TestHostileFiles reads trees that make no sense: Read does not fail, allocates little memory, and
// returns a plausible machine.
func TestHostileFiles(t *testing.T) {
	for _, text := range []string{
		"", "\n", "0", "5-7", "-", ",", "0-", "-1", "3-0", "0-4294967295", "0-8191,0-8191", "99999999999999999999", "a", "0,,1", "0 1", "0x1", "1-2-3", "\x00\xff", strings.Repeat("0,", 1<<19),
		"max", "max max", "0 0", "1 0", "-1 100000", "1e9 1", "9223372036854775807 1", "1 9223372036854775807", "100000", "NaN 1", "0::", "0::/\n", "::/", "1:cpu:/\n",
		"0::/" + strings.Repeat("a/", 100_000), "30 23 0:26 / /sys/fs/cgroup rw - cgroup2", "30 23 0:26 / /a rw - cgroup", " - ", "- - - - - - cgroup2 a b", strings.Repeat("x", 2<<20),
	} {
		files := machine(2, 2)
		for name := range files {
			files[name] = text
		}
		for _, name := range []string{"sys/devices/system/cpu/online", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpuset.cpus.effective", "proc/self/cgroup"} {
			files[name] = text
		}
		for _, mounts := range []string{text, mount2 + mount1} {
			files["proc/self/mountinfo"] = mounts
			m := Read(tree(files), upTo(8), 8)
			if n := m.Threads(); n < 1 || n > 8 || len(m.CPUs) < 1 || len(m.CPUs) > 8 {
				t.Errorf("%.20q: %d threads on %v", text, n, m.CPUs)
			}
			checkParts(t, &m)
		}
	}
	// Files that are folders cannot be read.
	m := Read(tree(map[string]string{"proc/self/cgroup/x": "", "sys/devices/system/cpu/online/x": "", "sys/devices/system/node/online/x": ""}), nil, 3)
	if len(m.CPUs) != 3 {
		t.Errorf("%v", m.CPUs)
	}
}

// checkParts checks that each CPU is in one core and in one node.
func checkParts(t *testing.T, m *Machine) {
	t.Helper()
	for _, parts := range [][]Set{m.Cores, m.Nodes} {
		all := slices.Concat(parts...)
		slices.Sort(all)
		if !slices.Equal(all, m.CPUs) {
			t.Errorf("%v have the CPUs %v, want %v", parts, all, m.CPUs)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("0-3,8", "0::/a/b", mount2, "150000 100000")
	f.Add("0", "3:cpu,cpuacct:/a", mount1, "-1")
	f.Fuzz(func(t *testing.T, set, group, mounts, quota string) {
		files := machine(2, 2)
		files["sys/devices/system/cpu/online"], files["proc/self/cgroup"], files["proc/self/mountinfo"] = set, group, mounts
		files["sys/devices/system/node/node0/cpulist"], files["sys/devices/system/cpu/cpu1/topology/core_cpus_list"] = set, set
		files["sys/fs/cgroup/cpu.max"], files["sys/fs/cgroup/cpuset.cpus.effective"] = quota, set
		m := Read(tree(files), upTo(8), 8)
		checkParts(t, &m)
		if n := m.Threads(); n < 1 || n > 8 {
			t.Errorf("%d threads", n)
		}
		if s, ok := parseSet(set); ok {
			if again, _ := parseSet(s.String()); !slices.Equal(again, s) {
				t.Errorf("%q is %v, written %q and read again %v", set, s, s, again)
			}
		}
	})
}

// TestHere reads this machine.
func TestHere(t *testing.T) {
	m := Here()
	checkParts(t, &m)
	t.Log(m.String(), m.Cores, m.Nodes)
}
