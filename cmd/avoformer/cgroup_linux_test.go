package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// cgroup is a control group of version 1 or 2 with a limit of memory.
type cgroup struct{ dir string }

// newCgroup creates a cgroup. If it cannot, it skips the test and prints the reason.
func newCgroup(t *testing.T, limit int64) cgroup {
	t.Helper()
	var failed error
	for _, v := range []struct{ root, file, swap string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max", "memory.swap.max"},
	} {
		dir, err := os.MkdirTemp(v.root, "avoformer-test-")
		if err != nil {
			failed = err
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, v.file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
			os.Remove(dir)
			failed = err
			continue
		}
		swap := limit // in version 1, the limit of memory and swap together
		if v.swap == "memory.swap.max" {
			swap = 0
		}
		_ = os.WriteFile(filepath.Join(dir, v.swap), []byte(strconv.FormatInt(swap, 10)), 0) // kernels without swap have no such file
		c := cgroup{dir}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("the cgroup stays: %v", err)
			}
		})
		return c
	}
	t.Skipf("no cgroup with a limit of memory can be made: %v", failed)
	return cgroup{}
}

// process returns the command as a process that runs in the cgroup from its start.
func (c cgroup) process(args ...string) *exec.Cmd {
	return asProcess(exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(c.dir, "cgroup.procs"), os.Args[0]}, args...)...))
}

// resident returns the bytes of anonymous memory of a process.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no RssAnon in %s", status)
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// writeChatty writes a generator with 56 MB of weights. Its keys and values fill 98 kB per token.
func writeChatty(t *testing.T) (dir string) {
	t.Helper()
	const layers, hidden, inner, intermediate, vocab = 24, 256, 512, 64, 563
	dir = t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.CopyFS(dir, os.DirFS(testdata+"generate")))
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	check(err)
	var fields map[string]any
	check(json.Unmarshal(data, &fields))
	delete(fields, "layer_types")
	for name, n := range map[string]int{"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": intermediate, "num_attention_heads": 8,
		"num_key_value_heads": 8, "head_dim": inner / 8, "max_position_embeddings": 4096} {
		fields[name] = n
	}
	data, err = json.Marshal(fields)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "config.json"), data, 0o666))
	shapes := map[string][]int{"model.embed_tokens.weight": {vocab, hidden}, "lm_head.weight": {vocab, hidden}, "model.norm.weight": {hidden}}
	for i := range layers {
		for name, shape := range map[string][]int{
			"input_layernorm.weight": {hidden}, "post_attention_layernorm.weight": {hidden},
			"mlp.gate_proj.weight": {intermediate, hidden}, "mlp.up_proj.weight": {intermediate, hidden}, "mlp.down_proj.weight": {hidden, intermediate},
			"self_attn.q_proj.weight": {inner, hidden}, "self_attn.k_proj.weight": {inner, hidden}, "self_attn.v_proj.weight": {inner, hidden},
			"self_attn.q_proj.bias": {inner}, "self_attn.k_proj.bias": {inner}, "self_attn.v_proj.bias": {inner}, "self_attn.o_proj.weight": {hidden, inner},
		} {
			shapes[fmt.Sprintf("model.layers.%d.%s", i, name)] = shape
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	tensors := map[string]safetensors.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		n := 1
		for _, d := range shapes[name] {
			n *= d
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = (r.Float32() - 0.5) / 8
		}
		tensors[name] = safetensors.Tensor{Shape: shapes[name], Data: x}
	}
	var b bytes.Buffer
	check(safetensors.Write(&b, tensors, nil))
	check(os.WriteFile(filepath.Join(dir, "model.safetensors"), b.Bytes(), 0o666))
	return dir
}

// TestSoundInCgroup: an hour of sound in a file of 3.6 MB, whose samples would fill nearly all
// memory that the cgroup allows, is refused. The error states the longest sound that would be
// accepted. Sound that is slightly shorter than that is transcribed.
func TestSoundInCgroup(t *testing.T) {
	if testing.Short() || race.Enabled || testenv.Slow() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	const rate = 1000
	write := func(seconds int) (name string) {
		header := binary.LittleEndian.AppendUint32([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16)
		for _, x := range []uint32{1<<16 | 1, rate, rate, 8<<16 | 1} {
			header = binary.LittleEndian.AppendUint32(header, x)
		}
		header = binary.LittleEndian.AppendUint32(append(header, "data"...), uint32(rate*seconds))
		name = filepath.Join(t.TempDir(), "sound.wav")
		if err := os.WriteFile(name, append(header, bytes.Repeat([]byte{100, 150}, rate*seconds/2)...), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for seconds, want := range map[int]string{3600: "sound of more than 17m28s takes more than 67108864 bytes", 1040: ""} {
		group := newCgroup(t, 256<<20)
		c := group.process("transcribe", testdata+"transcribe-times", write(seconds))
		said, _ := c.CombinedOutput()
		code := map[bool]int{true: exitFailed}[want != ""]
		if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(said), want) {
			t.Errorf("%d seconds: exit code %d, want %d: %.200s", seconds, got, code, said)
		}
	}
	group := newCgroup(t, 256<<20)
	c := group.process("serve", "-addr", "127.0.0.1:0", testdata+"transcribe-times", writeChatty(t))
	s := startServerAs(t, c)
	defer func() {
		s.Process.Kill()
		<-s.ended
	}()
	m := regexp.MustCompile(`sound has at most (\S+)`).FindStringSubmatch(s.log())
	if m == nil {
		t.Fatalf("no limit of sound in %s", s.log())
	}
	longest, err := time.ParseDuration(m[1])
	if err != nil || longest < time.Minute || longest > 10*time.Minute {
		t.Fatalf("sound has at most %v, %v", longest, err)
	}
	for seconds, want := range map[int]int{3600: 400, int(longest/time.Second) + 2: 400, int(longest/time.Second) - 2: 200} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		file, err := form.CreateFormFile("file", "sound.wav")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(write(seconds))
		if err != nil {
			t.Fatal(err)
		}
		file.Write(data)
		form.Close()
		res, err := http.Post("http://"+s.addr+"/v1/audio/transcriptions", form.FormDataContentType(), &body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d seconds: %d, want %d", seconds, res.StatusCode, want)
		}
	}
}

// TestServeInCgroup: prompts without a common beginning, one after the other, fill at most the
// memory that the cgroup allows, although all their keys and values together would fill one and a
// half times that. A model that does not fit is refused with numbers.
func TestServeInCgroup(t *testing.T) {
	if testing.Short() || race.Enabled || testenv.Slow() {
		t.Skip("takes a minute")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := writeChatty(t)
	for _, mb := range []int64{256, 600, 2048} {
		t.Run(fmt.Sprint(mb, " MB"), func(t *testing.T) {
			limit := mb << 20
			group := newCgroup(t, limit)
			c := group.process("serve", "-addr", "127.0.0.1:0", dir)
			s := startServerAs(t, c)
			defer func() { // before the cgroup is removed
				s.Process.Kill()
				<-s.ended
			}()
			if !strings.Contains(s.log(), fmt.Sprintf("of %d MB that the cgroup allows, weights take 56, ", limit/1e6)) {
				t.Errorf("the limit is not in %s", s.log())
			}
			r := rand.New(rand.NewPCG(3, uint64(mb)))
			const tokenBytes = 24 * 2 * 8 * 64 * 4
			var before int64
			cached := int64(0)
			for n, most := int64(0), min(limit*3/2, 3<<29); cached < most; n++ {
				var prompt strings.Builder
				for range 190 {
					fmt.Fprintf(&prompt, "%c%c ", 'a'+r.IntN(26), 'a'+r.IntN(26))
				}
				body, _ := json.Marshal(map[string]any{"prompt": prompt.String(), "max_tokens": 2})
				status, answer := s.ask(t, "/v1/completions", string(body))
				var got struct {
					Usage struct {
						Prompt int `json:"prompt_tokens"`
					}
				}
				if err := json.Unmarshal([]byte(answer), &got); err != nil || status != 200 || got.Usage.Prompt < 380 {
					t.Fatalf("prompt %d: %d, %s, %v: %s", n, status, answer, err, s.log())
				}
				cached += int64(got.Usage.Prompt) * tokenBytes
				if before == 0 && cached > most/6*5 {
					before = resident(t, s.Process.Pid)
				}
			}
			end := resident(t, s.Process.Pid)
			t.Logf("%d MB of keys and values in all; %d MB after five sixths of the prompts, %d MB at the end", cached/1e6, before/1e6, end/1e6)
			if end > before+limit/20 && end > before+before/20 {
				t.Errorf("%d MB after five sixths of the prompts, %d MB at the end", before/1e6, end/1e6)
			}
			_, metrics := s.ask(t, "/metrics", "")
			for name, most := range map[string]int64{"avoformer_memory_limit_bytes": limit, "avoformer_cache_limit_bytes": limit, "avoformer_cache_bytes": limit} {
				m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(metrics)
				if m == nil {
					t.Fatalf("no %s", name)
				}
				if x, err := strconv.ParseFloat(m[1], 64); err != nil || x <= 0 || int64(x) > most {
					t.Errorf("%s is %s", name, m[1])
				}
			}
		})
	}
	t.Run("too much for 100 MB", func(t *testing.T) {
		group := newCgroup(t, 100<<20)
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"serve", "-addr", "127.0.0.1:0", dir}, `the cgroup allows 104 MB: 56 MB are for weights, at least \d+ MB for computing`},
			{[]string{"generate", "-memory-limit", "40", dir, "hello"}, `takes \d+ bytes`},
		} {
			cmd := group.process(c.args...)
			said, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != exitFailed || !regexp.MustCompile(c.want).Match(said) {
				t.Errorf("%v: exit code %d, %s", c.args, code, said)
			}
		}
	})
	t.Run("a prompt that is too long", func(t *testing.T) {
		group := newCgroup(t, 256e6)
		c := group.process("serve", "-addr", "127.0.0.1:0", "-cache-memory", "30", dir)
		s := startServerAs(t, c)
		defer func() {
			s.Process.Kill()
			<-s.ended
		}()
		body := fmt.Sprintf(`{"prompt": %q, "max_tokens": 2}`, strings.Repeat("x y ", 110))
		if status, answer := s.ask(t, "/v1/completions", body); status != 400 || !strings.Contains(answer, "the limit is 31457280") {
			t.Errorf("%d, %s", status, answer)
		}
		if status, answer := s.ask(t, "/v1/completions", `{"prompt": "hello", "max_tokens": 2}`); status != 200 {
			t.Errorf("%d, %s", status, answer)
		}
	})
}
