package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/avoformer/avoformer/internal/peerenv"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text/tokenizer"
)

const testdata = "../../text/testdata/"

// TestMain runs the command instead of tests if a test has started this process as the command.
func TestMain(m *testing.M) {
	if os.Getenv("AVOFORMER_TEST_COMMAND") != "" {
		testenv.EndWithParent()
		main()
	}
	os.Exit(m.Run())
}

// process returns the command as a process, which ends when the tests do.
func process(args ...string) *exec.Cmd { return asProcess(exec.Command(os.Args[0], args...)) }

// asProcess has a program that starts this binary start the command, as process does.
func asProcess(c *exec.Cmd) *exec.Cmd {
	c.Env = append(c.Environ(), "AVOFORMER_TEST_COMMAND=1")
	return testenv.EndsWithUs(c)
}

// call runs the command in this process.
func call(t testing.TB, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestCommands(t *testing.T) {
	texts := "hello world\nthe cat reads\n\nParis.\n"
	out := t.TempDir()
	for _, c := range []struct {
		name, in string
		args     []string
		want     []string // somewhere in the output, in this order
	}{
		{"embed", texts, []string{"embed", testdata + "embed"}, []string{`{"index":0,"text":"hello world","embedding":[`, `{"index":2,"text":"",`, `{"index":3,"text":"Paris."`}},
		{"embed csv", texts, []string{"embed", testdata + "embed", "-format", "csv", "-dim=2"}, []string{",", "\n", ",", "\n", ",", "\n", ",", "\n"}},
		{"embed jsonl", "{\"body\": \"a\"}\n\"b\"\n", []string{"embed", "-input=jsonl", "-field", "body", testdata + "embed", "-prompt", "query"}, []string{`"text":"a"`, `"text":"b"`}},
		{"no such prompt", texts, []string{"embed", testdata + "fill-mask", "-pooling", "lasttoken", "-prompt", "query", "-weights", "Q8_0"}, []string{`{"index":0,"text":"hello world","embedding":[`}},
		{"nearest", texts, []string{"embed", testdata + "embed", "-nearest", "Paris.", "-k", "2"}, []string{"\t4\tParis."}},
		{"check", texts, []string{"embed", testdata + "embed", "-check", "-weights", "bf16"}, []string{"bf16 compared with f32 on 4 texts: mean cosine 1.0000", "least 1.0000"}},
		{"check int8", texts, []string{"embed", testdata + "embed", "-check", "-weights=int8"}, []string{"int8 compared with f32 on 4 texts: mean cosine 0.99", "least 0.9",
			"layers, one at a time, on 4 texts, the largest change first:\n  encoder.layer.", ".*  ", "mean cosine 0.99", "matrices, one at a time, on 4 texts", "  encoder.layer.*.", "mean cosine 0.99"}},
		{"check one layer", texts, []string{"embed", testdata + "embed", "-check", "-weights=f32,encoder.layer.1.*=int8"}, []string{"int8 compared with f32 on 4 texts: mean cosine 0.99", "matrices, one at a time", "  encoder.layer.*."}},
		{"check rerank", texts, []string{"rerank", testdata + "rerank", "what?", "-check", "-weights", "int8"}, []string{"int8 compared with f32 on 4 texts: scores differ by 0.0", "at most by 0.", "(line "}},
		{"check classify", texts, []string{"classify", testdata + "classify", "-check", "-weights=bf16"}, []string{"bf16 compared with f32 on 4 texts: scores differ by 0.00", "the best label is the same for 4"}},
		{"blocks", texts, []string{"classify", testdata + "classify", "-check", "-weights=q8_0"}, []string{"q8_0 compared with f32 on 4 texts: scores differ by 0.0"}},
		{"bulk", "", []string{"bulk", testdata + "embed", "embed", "testdata/texts", "-o", out + "/vectors", "-format", "jsonl", "-pass", "id:int64", "-refuse"}, []string{"files   1: 1 made, 0 found, 0 failed\nrows    3: 2 written, 1 dead letters\ntokens  "}},
		{"bulk again", "", []string{"bulk", testdata + "embed", "embed", "testdata/texts", "-o", out + "/vectors", "-format", "jsonl", "-pass", "id:int64", "-refuse"}, []string{"0 made, 1 found, 0 failed\nrows    3: 2 written"}},
		{"bulk rank", "", []string{"bulk", testdata + "rerank", "rank", "testdata/texts", "-o", out + "/ranks", "-query", "what?"}, []string{"1 made", "2 written"}},
		{"bulk classify", "", []string{"bulk", testdata + "classify", "classify", "testdata/texts", "-o", out + "/labels", "-format=arrow"}, []string{"1 made", "2 written"}},
		{"rerank", texts, []string{"rerank", testdata + "rerank", "what?", "-top", "2"}, []string{"\t", "\n", "\t", "\n"}},
		{"classify", texts, []string{"classify", testdata + "classify", "-top", "1"}, []string{`{"labels":[{"label":`, `"text":"hello world"}`, `"text":"Paris."}`}},
		{"marks", "\ufeffa\xffb\r\n", []string{"classify", testdata + "classify", "-top", "1"}, []string{"\"text\":\"a\ufffdb\"}\n"}},
		{"words", "The cat in Paris\n", []string{"classify", "-words", "first", testdata + "tokens"}, []string{`"entities":[`, `"text":"The cat in Paris"`}},
		{"image", "", []string{"classify", testdata + "image", "../../text/internal/vision/testdata/landscape.png"}, []string{`landscape.png`, `"label":`}},
		{"generate", "", []string{"generate", testdata + "generate", "The quick brown", "-max-tokens", "8"}, []string{"\n"}},
		{"generate cache", "", []string{"generate", testdata + "generate", "The quick brown", "-max-tokens", "8", "-weights", "bf16", "-cache", "int8"}, []string{"\n"}},
		{"generate schema", "", []string{"generate", testdata + "generate", "Is it?", "-schema", "testdata/answer.json"}, []string{`"yes"`, "}\n"}},
		{"chat", "Hello\nBye\n", []string{"generate", testdata + "generate", "-max-tokens=4", "-system", "x"}, []string{"\n", "\n"}},
		{"translate", texts, []string{"translate", testdata + "translate", "-beams", "2", "-max-tokens", "5"}, []string{"\n", "\n", "\n", "\n"}},
		{"transcribe", "", []string{"transcribe", testdata + "transcribe", testdata + "transcribe/sound0.wav", "-language=en"}, []string{"\n"}},
		{"transcribe times", "", []string{"transcribe", "-times", testdata + "transcribe-times", testdata + "transcribe/sound0.wav", "-language=en"}, []string{"0.22\t1.80\t{\n", "1.88\tstories\n"}},
		{"transcribe words of Whisper", "", []string{"transcribe", "-words", testdata + "transcribe-times", testdata + "transcribe/sound0.wav", "-language=en"}, []string{"stories\n"}},
		{"transcribe words", "", []string{"transcribe", "-times", "-json", testdata + "characters", testdata + "transcribe/sound0.wav"}, []string{`sound0.wav","segments":[{"start":0,"end":0.5,"text":"P'ETPGPBP'P'PGPY"},`}},
		{"transcribe characters", "", []string{"transcribe", testdata + "characters", testdata + "transcribe/sound0.wav"}, []string{"P'ETPGPBP'P'PGPY G ' GP G PG 'U'GPUYPUEGWGWPGJGP' 'GU'PJPU\n"}},
		{"info characters", "", []string{"info", testdata + "characters"}, []string{"works with   transcribe\n"}},
		{"info", "", []string{"info", testdata + "embed"}, []string{"bert", "2 layers", "works with", "embed"}},
		{"info fingerprint", "", []string{"info", "-fingerprint", "-weights", "int8", testdata + "embed"}, []string{"fingerprint  ", "-int8-", "\n"}},
		{"info gguf", "", []string{"info", "../../models/testdata/gguf/gemma3/q8_0.gguf"}, []string{"gemma3_text", "7 layers", "Q8_0", "101 tokens, ", "generate"}},
		{"image webp", "", []string{"classify", "-pixels", "1000", testdata + "image", "../../text/internal/vision/testdata/format-alpha.webp"}, []string{`"label":`}},
		{"info image", "", []string{"info", testdata + "image"}, []string{"works with   classify\n"}},
		{"info embed of a decoder", "", []string{"info", testdata + "embed-last"}, []string{"works with   embed, generate\n"}},
		{"info classify", "", []string{"info", testdata + "classify"}, []string{"works with   classify\n"}},
		{"info chat", "", []string{"info", "-json", testdata + "generate"}, []string{`"model_type":"qwen2"`, `"uses":["generate"]`}},
		{"info shape", "", []string{"info", testdata + "image"}, []string{"2 layers, 32 wide\nweights"}},
		{"help", "", []string{"help"}, []string{"embed", "bench"}},
		{"help of one", "", []string{"help", "embed"}, []string{"avoformer embed [flags]", "-nearest"}},
		{"flags", "", []string{"embed", "-h"}, []string{"-nearest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, stderr := call(t, c.in, c.args...)
			if told, ok := strings.CutPrefix(stderr, "avoformer: "); ok && c.args[0] == "generate" { // the line about the end of an answer
				for line := range strings.Lines(told) {
					if !strings.Contains(line, " tokens") || !strings.Contains(line, " after a prompt of ") {
						t.Errorf("%q", line)
					}
				}
				stderr = ""
			}
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, %q", code, stderr)
			}
			rest := out
			for _, w := range c.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Fatalf("no %q in %q of %q", w, rest, out)
				}
				rest = after
			}
		})
	}
}

// TestBench measures this library in two formats, and engines that do not exist.
func TestBench(t *testing.T) {
	t.Setenv("AVOFORMER_TEST_COMMAND", "1")
	code, out, stderr := call(t, "", "bench", testdata+"embed", "-rounds", "2", "-texts=3", "-engines", "avoformer,avoformer-int8,onnxruntime,openvino-bf16,avoformer-x", "-python", "/nowhere/python")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 7 || !strings.Contains(lines[0], "2 rounds") || !strings.HasPrefix(lines[2], "avoformer ") || !strings.HasSuffix(lines[2], " 1.00000") ||
		!strings.HasPrefix(lines[3], "avoformer-int8 ") || !strings.Contains(lines[3], " 0.9") || !strings.Contains(lines[4], "not measured") || !strings.HasPrefix(lines[5], "openvino-bf16 ") || !strings.Contains(lines[5], "not measured") || !strings.Contains(lines[6], "not measured") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
	code, out, stderr = call(t, "", "bench", testdata+"embed", "-rounds", "1", "-texts=3", "-engines", "avoformer-int8,avoformer", "-threads", "1,3", "-json")
	if lines = strings.Split(strings.TrimSpace(out), "\n"); code != exitOK || len(lines) != 4 || !strings.Contains(lines[1], `"threads":3`) || !strings.Contains(lines[2], `"threads":1`) {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
	status, _ := os.ReadFile("/proc/self/status")
	knows := strings.Contains(string(status), "VmHWM:") // the peak of a process's memory
	if code, out, stderr := call(t, "", "bench", testdata+"generate", "-seconds", "0.1", "-cache", "int8", "-threads", "1,2"); code != exitOK || strings.Count(out, "tokens a second") != 2 || !strings.Contains(out, "2 threads: ") || knows && strings.Contains(out, "peak 0 MB") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
	if code, out, stderr := call(t, "", "bench", testdata+"translate", "-seconds", "0.1", "-weights", "bf16"); code != exitOK || !strings.Contains(out, "texts a second") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
}

// TestBenchEnvironment: variables that slow other engines down do not reach them, and the output
// says so.
func TestBenchEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for an interpreter is a shell script")
	}
	python := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\nread line\nprintf '\"not measured: core [%s] threads [%s]\"\\n' \"$OPENBLAS_CORETYPE\" \"$OMP_NUM_THREADS\"\n"
	if err := os.WriteFile(python, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	t.Setenv("OMP_NUM_THREADS", "7")
	t.Setenv(peerenv.KeepVariable, "")
	code, out, stderr := call(t, "", "bench", testdata+"embed", "-rounds", "1", "-texts=1", "-threads", "2", "-engines", "torch", "-python", python)
	if code != exitOK || !strings.Contains(out, "core [] threads [2]") || !strings.Contains(out, "not passed on to other libraries: ") || !strings.Contains(out, "OPENBLAS_CORETYPE=Haswell") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	exists, pointer := filepath.Join(dir, "exists.npy"), filepath.Join(dir, "pointer.gguf")
	for name, content := range map[string]string{exists: "", pointer: "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 90868376\n"} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		in   string
		code int
		want string
	}{
		{nil, "", exitUsage, "embed, rerank"},
		{[]string{"fly"}, "", exitUsage, `"fly"`},
		{[]string{"embed"}, "", exitUsage, "DIR [FILE]"},
		{[]string{"embed", "-fly", "x"}, "", exitUsage, "-fly"},
		{[]string{"embed", testdata + "embed", "a", "b"}, "", exitUsage, "DIR [FILE]"},
		{[]string{"embed", testdata + "embed", "-format", "xml"}, "", exitUsage, "xml"},
		{[]string{"embed", testdata + "embed", "-nearest", ""}, "a\n", exitUsage, "it is empty"},
		{[]string{"rerank", testdata + "rerank", ""}, "a\n", exitUsage, "it is empty"},
		{[]string{"embed", testdata + "embed", "-format", "npy"}, "", exitUsage, "-o FILE"},
		{[]string{"embed", testdata + "embed", "-input", "xml"}, "", exitUsage, "xml"},
		{[]string{"embed", testdata + "embed", "-weights", "f8"}, "", exitUsage, "f8"},
		{[]string{"generate", testdata + "generate", "x", "-cache", "q8_0"}, "", exitUsage, "q8_0"},
		{[]string{"generate", testdata + "generate", "x", "-schema", "no.json"}, "", exitUsage, "no.json"},
		{[]string{"generate", testdata + "generate", "x", "-grammar", "testdata/answer.json"}, "", exitUsage, "grammar: syntax error"},
		{[]string{"bench", testdata + "embed", "-cache", "int8"}, "", exitFailed, "is not a decoder"},
		{[]string{"rerank", testdata + "rerank", "q", "-top", "-1"}, "", exitUsage, "-top"},
		{[]string{"classify", testdata + "tokens", "-words", "all"}, "", exitUsage, "all"},
		{[]string{"embed", dir + "/none"}, "", exitFailed, "none"},
		{[]string{"embed", dir}, "", exitFailed, "config.json"},
		{[]string{"embed", testdata + "embed", dir + "/none"}, "", exitFailed, "none: no such file"},
		{[]string{"embed", testdata + "embed", "-prompt", "fly"}, "x\n", exitFailed, `"fly"`},
		{[]string{"embed", testdata + "embed", "-input", "jsonl"}, "{}\n", exitFailed, "line 1"},
		{[]string{"embed", testdata + "embed", "-refuse", "-max-length", "4"}, "a b c d e\n", exitFailed, "too many tokens"},
		{[]string{"embed", testdata + "embed", "-o", exists}, "", exitFailed, "-f replaces it"},
		{[]string{"embed", testdata + "embed", "-f", "-o", dir}, "", exitFailed, "not a regular file"},
		{[]string{"embed", testdata + "embed", "-o", dir + "/none/out.npy"}, "", exitFailed, "none/out.npy.part: no such file"},
		{[]string{"classify", testdata + "image"}, "", exitFailed, "takes images, not texts"},
		{[]string{"classify", "-pixels", "100", testdata + "image", "../../text/internal/vision/testdata/format-alpha.webp"}, "", exitFailed, "pixels"},
		{[]string{"generate", testdata + "generate", "x", "-schema", "testdata/answer.json", "-max-tokens", "2", "-json"}, "", exitFailed, "cut before it was whole"},
		{[]string{"generate", testdata + "generate", "x", "-top-k", "5"}, "", exitUsage, "-temperature above 0"},
		{[]string{"generate", testdata + "generate", "x", "-max-tokens", "0"}, "", exitUsage, "-max-tokens 0: want at least 1"},
		{[]string{"generate", testdata + "generate", "x", "-repetition-penalty", "0"}, "", exitUsage, "-repetition-penalty 0: want more than 0"},
		{[]string{"generate", testdata + "generate", "x", "-top-p", "much", "-temperature", "1"}, "", exitUsage, "want a number"},
		{[]string{"generate", testdata + "generate", "x", "-top-p", "NaN", "-temperature", "1"}, "", exitUsage, "-top-p NaN"},
		{[]string{"generate", testdata + "generate", "x", "-temperature", "-1"}, "", exitUsage, "-temperature -1: want at least 0"},
		{[]string{"embed", testdata + "embed", "-dim", "999"}, "", exitUsage, "999"},
		{[]string{"embed", testdata + "embed", "-check"}, "", exitUsage, "-weights"},
		{[]string{"embed", testdata + "embed", "-weights", "int8,bf16"}, "", exitUsage, "PATTERN=FORMAT"},
		{[]string{"embed", testdata + "embed", "-weights", "int8,*.value.weight=b16"}, "", exitUsage, "b16"},
		{[]string{"embed", testdata + "embed", "-weights", "int8,no.such.*=bf16"}, "", exitUsage, "no weights have such a name"},
		{[]string{"embed", testdata + "embed", "-check", "-weights", "int8", "-o", exists}, "", exitUsage, "-o"},
		{[]string{"embed", testdata + "embed", "-nearest", "x", "-format", "csv"}, "", exitUsage, "-format"},
		{[]string{"embed", testdata + "embed", "-split", "3", "-refuse"}, "", exitUsage, "-split"},
		{[]string{"embed", testdata + "embed", "-nearest", "x", "-k", "0"}, "", exitUsage, "-k 0"},
		{[]string{"bench", testdata + "embed", "-engines", "avoformer,fly"}, "", exitUsage, `"fly"`},
		{[]string{"bench", testdata + "embed", "-threads", "1,0"}, "", exitUsage, "at least 1"},
		{[]string{"translate", testdata + "translate", "-to", "fr"}, "x\n", exitUsage, `-to fr: the model has no token of it`},
		{[]string{"classify", testdata + "tokens", "-words=first", "-check"}, "", exitUsage, "not of -words"},
		{[]string{"rerank", testdata + "classify", "q"}, "", exitFailed, "one label"},
		{[]string{"generate", testdata + "embed", "q"}, "", exitFailed, "bert"},
		{[]string{"transcribe", testdata + "transcribe", "main.go"}, "", exitFailed, "no sound file"},
		{[]string{"info", pointer}, "", exitFailed, "a pointer of Git LFS"},
		{[]string{"quantize", pointer, "-weights", "q8_0", "-o", dir + "/out.gguf"}, "", exitFailed, "a pointer of Git LFS"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, out, stderr := call(t, c.in, c.args...)
			if code != c.code || out != "" {
				t.Errorf("exit code %d, output %q, want %d", code, out, c.code)
			}
			if !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("message %q, want one line with %q", stderr, c.want)
			}
		})
	}
}

// TestInfoOfNoModel: info of a folder that does not open as a model is an error, but prints what it
// can find out.
func TestInfoOfNoModel(t *testing.T) {
	empty, tokens, other, broken := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	copied := func(dir, name string, change func(string) string) {
		t.Helper()
		data, err := os.ReadFile(testdata + "embed/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(change(string(data))), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(s string) string { return s }
	copied(tokens, "tokenizer.json", same)
	copied(other, "tokenizer.json", same)
	copied(other, "model.safetensors", same)
	copied(other, "config.json", func(s string) string { return strings.Replace(s, `"bert"`, `"tree"`, 1) })
	copied(broken, "config.json", same)
	copied(broken, "model.safetensors", func(s string) string { return s[:len(s)/2] })
	for _, c := range []struct{ dir, out, message string }{
		{empty, "", "config.json"},
		{tokens, "tokenizer    ", "config.json"},
		{other, "not          model: ", "tree"},
		{broken, "", "model.safetensors"},
		{testdata + "embed/config.json", "", "config.json"},
	} {
		for _, more := range [][]string{nil, {"-json"}} {
			code, out, stderr := call(t, "", append([]string{"info", c.dir}, more...)...)
			if code != exitFailed || !strings.Contains(stderr, c.message) || strings.Count(stderr, "\n") != 1 || more == nil && !strings.Contains(out, c.out) || c.out == "" && out != "" {
				t.Errorf("%s: exit code %d, %q, %q, want %q", c.dir, code, out, stderr, c.message)
			}
		}
	}
}

// TestInfoOfNoTokenizer: no command works with a GGUF file whose tokenizer is not known. info
// returns an error for it.
func TestInfoOfNoTokenizer(t *testing.T) {
	path := tftest.RewriteGGUF(t, "../../models/testdata/gguf/llama/f32.gguf", map[string]any{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "pixie"})
	code, out, stderr := call(t, "", "info", path)
	if code != exitFailed || !strings.Contains(out, `tokenizer.ggml.pre = pixie: want one of`) || !strings.Contains(stderr, "no command works with it") {
		t.Errorf("exit code %d, %q, %q", code, out, stderr)
	}
}

// TestOwnOutput: files of vectors are not read as lines, whatever their names.
func TestOwnOutput(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"out.npy", "out.f32"} {
		output, other := filepath.Join(dir, name), filepath.Join(dir, name+".txt")
		if code, _, stderr := call(t, strings.Repeat("Paris\n", 100), "embed", testdata+"embed", "-o", output); code != exitOK {
			t.Fatal(stderr)
		}
		data, err := os.ReadFile(output)
		if err == nil {
			err = os.WriteFile(other, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			in, want string
			args     []string
		}{
			{"", "holds vectors according to its name", []string{"embed", testdata + "embed", output, "-nearest", "x"}},
			{"", "holds vectors according to its name", []string{"classify", testdata + "classify", output}},
			{"", "is not text", []string{"embed", testdata + "embed", output, "-nearest", "x", "-input=lines"}},
			{"", "is not text", []string{"embed", testdata + "embed", other, "-nearest", "x"}},
			{string(data), "is not text", []string{"rerank", testdata + "rerank", "x"}},
		} {
			if code, out, stderr := call(t, c.in, c.args...); code != exitFailed || out != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%q: exit code %d, %.20q, %q", c.args, code, out, stderr)
			}
		}
	}
}

// TestWrongTier: an environment variable that asks for instructions that the machine lacks ends the
// command with one line.
func TestWrongTier(t *testing.T) {
	for _, variable := range []string{"AVOFORMER_ISA=avx3", "AVOFORMER_CPU=sse9"} {
		c := process("help")
		c.Env = append(c.Env, variable)
		out, err := c.CombinedOutput()
		name, _, _ := strings.Cut(variable, "=")
		if c.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), name) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v, %q, want exit code 2 and one line", variable, err, out)
		}
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestDiskFull(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"embed", "-h"}, {"embed", testdata + "embed"}, {"classify", testdata + "classify"}, {"rerank", testdata + "rerank", "q"}, {"info", testdata + "embed"},
		{"embed", testdata + "embed", "-nearest", "x"}, {"embed", testdata + "embed", "-check", "-weights=bf16"}, {"translate", testdata + "translate", "-max-tokens=2"}, {"generate", testdata + "generate", "x", "-max-tokens=2"}} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, strings.NewReader("a\nb\n"), full{}, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "no space left") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// TestInterruptedInput: an interrupt ends a run that waits for its input.
func TestInterruptedInput(t *testing.T) {
	for _, args := range [][]string{{"embed", testdata + "embed"}, {"rerank", testdata + "rerank", "q"}, {"generate", testdata + "generate"}, {"transcribe", testdata + "transcribe", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, w := io.Pipe()
		ended := make(chan int)
		var stderr bytes.Buffer
		go func() { ended <- run(ctx, args, in, io.Discard, &stderr) }()
		if _, err := w.Write([]byte("R")); err != nil { // returns once the command reads
			t.Fatal(err)
		}
		cancel()
		if code := <-ended; code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// TestNPY reads the file that the command has written.
func TestNPY(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.npy")
	if code, _, stderr := call(t, "a\nb\nc\n", "embed", testdata+"embed", "-dim", "5", "-o", output); code != exitOK {
		t.Fatal(stderr)
	}
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if head := string(data[:128]); !strings.HasPrefix(head, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }") || head[127] != '\n' {
		t.Errorf("header %q", head)
	}
	if len(data) != 128+3*5*4 {
		t.Errorf("%d bytes", len(data))
	}
}

// TestHubCache gives commands a model's folder in the hub's cache.
func TestHubCache(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "refs"), 0o777),
		os.WriteFile(filepath.Join(dir, "refs", "main"), []byte("0123abcd\n"), 0o666),
		os.CopyFS(filepath.Join(dir, "snapshots", "0123abcd"), os.DirFS(testdata+"embed")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if code, out, stderr := call(t, "", "info", "-json", dir); code != exitOK || !strings.Contains(out, `"weights":39648`) || strings.Contains(out, "unsupported") {
		t.Errorf("info: exit code %d, %q\n%s", code, stderr, out)
	}
	if code, _, stderr := call(t, "a\n", "embed", dir); code != exitOK {
		t.Errorf("embed: exit code %d, %q", code, stderr)
	}
	if _, err := tokenizer.Open(dir); err != nil {
		t.Error(err)
	}
}

// TestZeroFlags: a sampling flag that is 0 differs from a flag that is not given.
func TestZeroFlags(t *testing.T) {
	texts := func(args ...string) (texts map[string]bool) {
		texts = map[string]bool{}
		for range 4 {
			code, out, stderr := call(t, "", append([]string{"generate", testdata + "generate", "The quick brown", "-quiet", "-max-tokens", "12"}, args...)...)
			if code != exitOK {
				t.Fatalf("%v: exit code %d, %s", args, code, stderr)
			}
			texts[out] = true
		}
		return texts
	}
	greedy := texts("-temperature", "0")
	for _, c := range []struct {
		args   []string
		random bool
	}{
		{[]string{"-top-p", "0"}, false}, {[]string{"-top-p", "1"}, true}, {[]string{"-top-k", "0"}, true}, {[]string{"-top-k", "1"}, false}, {[]string{"-min-p", "0"}, true}, {[]string{"-min-p", "1"}, false},
		{[]string{"-no-repeat-ngram", "0"}, true}, {nil, true},
	} {
		got := texts(append(c.args, "-temperature", "2")...)
		if c.random && len(got) == 1 || !c.random && !maps.Equal(got, greedy) {
			t.Errorf("%v: %d texts, want random ones: %t", c.args, len(got), c.random)
		}
	}
}
