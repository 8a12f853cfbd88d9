// This file has the command serve, which serves models over HTTP.

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/serve"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/sound"
)

// serving has the flags of serve.
type serving struct {
	options             serve.Options
	models              []serve.Model
	addr, cert, key     string
	keyFile, origins    string
	fingerprint         bool
	weights, prompts    perModel
	long, mtp           perModel
	images, projector   perModel
	threads, length     perModel
	cache, cacheMemory  perModel
	cacheKept           perModel
	replicas            replicas
	copyWeights         bool
	stride              int
	memory              int64
	pause, grace        time.Duration
	logRequests, asJSON bool
	adapters            *adapters
	named               []string // the values of -named-adapter
	processors          int      // the number of processors for the models
}

func serveModels(a *app, args []string) error {
	s := serving{processors: replica.Threads()}
	f := a.flags("serve")
	s.register(f)
	dirs, err := f.parse(args, 0, -1)
	if err != nil {
		return err
	}
	warnings, err := f.environment(serveVariables)
	if err != nil {
		return err
	}
	if s.asJSON {
		a.log = s.logger(a)
	}
	for _, w := range warnings {
		a.warn(w)
	}
	log := s.logger(a)
	if err := s.plan(a, dirs); err != nil {
		return err
	}
	s.options.Log = log
	if s.logRequests {
		s.options.AccessLog = log
	}
	listening := serve.ServeOptions{Pause: s.pause, Grace: s.grace, Log: log}
	if listening.TLS, err = s.tls(a.ctx, log); err != nil {
		return err
	}
	server, err := serve.New(s.models, s.options)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err) // without "serve: ", which the command prints already
	}
	// Go may use one thread more than the models, so that the server can answer connections and
	// refuse requests while the other threads are busy.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.processors + 1))
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	scheme := "http"
	if listening.TLS != nil {
		scheme = "https"
	}
	ctx, fail := context.WithCancelCause(a.ctx)
	defer fail(nil)
	go func() {
		began := time.Now()
		if err := server.Wait(ctx); err != nil {
			fail(err)
			return
		}
		a.tell("%s://%s serves %s, ready after %.2f s%s", scheme, l.Addr(), strings.Join(server.Models(), ", "), time.Since(began).Seconds(), memoryLine(server.Memory()))
		debug.FreeOSMemory() // frees the memory that only opening needed
	}()
	drained, err := server.Serve(ctx, l, listening)
	if cause := context.Cause(ctx); cause != nil && a.ctx.Err() == nil {
		return cause // a model could not be opened
	}
	if err != nil {
		return err
	}
	a.tell("stopped, %d running requests were answered", drained.Requests)
	return nil
}

// memoryLine describes how the models share the memory of the process.
func memoryLine(m serve.Memory) string {
	if m.Limit == 0 {
		return ""
	}
	by := "the machine"
	if m.Limited {
		by = "the cgroup"
	}
	line := fmt.Sprintf("; of %d MB that %s allows, weights take %d", m.Limit/1e6, by, m.Weights/1e6)
	if m.Working > 0 {
		line += fmt.Sprintf(", computing about %d", m.Working/1e6)
	}
	if m.Cache > 0 {
		line += fmt.Sprintf(", keys and values at most %d", m.Cache/1e6)
	}
	if m.Sound > 0 {
		line += fmt.Sprintf("; sound has at most %v", min(4*time.Hour, time.Duration(m.Sound/(4*sound.Rate))*time.Second))
	}
	return line
}

func (s *serving) register(f *flags) {
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`host:port` to listen at; :8080 is that port on all addresses")
	f.Func("model", "`NAME[,ALIAS...]=DIR` gives the model in DIR a name other than its folder's; DIR need not be an argument, too; may be given several times", func(v string) error {
		m, err := namedModel(v)
		s.models = append(s.models, m)
		return err
	})
	f.Var(&s.weights, "weights", weightsUsage+eachUsage)
	f.Var(&s.prompts, "prompts", promptsUsage+eachUsage)
	f.Var(&s.threads, "threads", "most `threads` of a model; default: all"+eachUsage)
	f.Var(&s.replicas, "replicas", replicasUsage)
	f.BoolVar(&s.copyWeights, "copy-weights", false, "hold a copy of a generator's weights on each NUMA node that has a replica, so that steps read near memory")
	f.Var(&s.images, "images", "`yes` opens the encoder of images of generators that have one, which takes memory; default: no"+eachUsage)
	f.Var(&s.projector, "mmproj", projectorUsage+"; it implies -images yes"+eachUsage)
	f.Var(&s.mtp, "mtp", "`yes` opens the layer of generators that predicts further tokens, which takes memory; it proposes tokens where that saves time, and answers are the same; default: no"+eachUsage)
	f.Var(&s.cache, "cache", cacheUsage+eachUsage)
	f.Var(&s.cacheMemory, "cache-memory", "most `MiB` of keys and values of a generator: of the texts in progress, and of finished ones that are kept for prompts that begin alike; "+
		"default: an equal part of what weights and computing leave of the memory that the machine and its cgroups allow, of which finished texts fill at most 1 GiB"+eachUsage)
	f.Var(&s.cacheKept, "cache-kept", "`MiB` of -cache-memory up to which finished texts are kept; they give way to texts in progress; default: all of -cache-memory, "+
		"or 1 GiB at most without that flag"+eachUsage)
	f.asWritten()
	f.Var(&s.length, "max-length", "most `tokens` of a text"+eachUsage)
	f.Var(&s.long, "long", "what happens to texts that are too long: `cut`, refuse, or, for vectors, split, which returns the mean of the windows"+eachUsage)
	f.IntVar(&s.stride, "stride", 0, "tokens that each window of -long split has in common with the one before it")
	s.adapters = f.adapters()
	f.Func("named-adapter", "`[MODEL/]NAME=DIR[=SCALE]` of a LoRA adapter that stays beside the weights of a generator, for requests with NAME as "+
		"their model; may be given several times, and needs MODEL where several models are served", func(v string) error {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.HasSuffix(name, "/") {
			return fmt.Errorf("%q, want NAME=DIR", v)
		}
		s.named = append(s.named, v)
		return nil
	})
	f.BoolVar(&s.options.Lazy, "lazy", false, "open each model at its first request")
	f.Int64Var(&s.memory, "memory", 0, "most MiB of weights at a time: models that are not in use are closed to make room; default: no limit")
	f.DurationVar(&s.options.KeepAlive, "keep-alive", 0, "do not close a model for another one if it was used within this time")
	f.IntVar(&s.options.MaxRequests, "max-requests", 512, "most requests at a time; further ones get 429")
	f.IntVar(&s.options.MaxTexts, "max-texts", 16384, "most texts at a time, of all requests; further ones get 429")
	f.IntVar(&s.options.MaxBatch, "max-batch", 2048, "most texts of a request")
	f.IntVar(&s.options.MaxTokens, "max-tokens", 0, "most tokens that a request may ask for as the length of a text; default: the model's context")
	f.BoolVar(&s.fingerprint, "fingerprint", true, "put the model's fingerprint into answers; its files are read a second time for it, in the background")
	f.Int64Var(&s.options.MaxBody, "max-body", 0, "most bytes of a request; default: 32 MiB, or an eighth of the memory that the process may use")
	f.Int64Var(&s.options.MaxResponses, "max-responses", 0, "most bytes of memory for kept answers of /v1/responses; default: 64 MiB, or a sixteenth of the memory that the process may use")
	f.Int64Var(&s.options.MaxBodies, "max-bodies", 0, "most bytes of all requests at a time; further ones get 429; default: 256 MiB, or an eighth of the memory that the process may use")
	f.DurationVar(&s.options.Timeout, "timeout", 0, "how long a request may take; X-Request-Timeout may ask for less; default: no limit")
	f.DurationVar(&s.options.ReadTimeout, "read-timeout", 30*time.Second, "how long to wait for the body of a request")
	f.DurationVar(&s.options.WriteTimeout, "write-timeout", 30*time.Second, "how long to wait for a client to read its answer")
	f.DurationVar(&s.pause, "pause", 0, "how long to take requests after SIGTERM, while /health answers 503; the listener closes after it")
	f.DurationVar(&s.grace, "grace", 30*time.Second, "how long running requests may continue after SIGTERM and -pause")
	f.StringVar(&s.keyFile, "api-keys", "", "`file` of API keys, one per line; default: those in AVOFORMER_API_KEYS, separated by commas")
	f.StringVar(&s.origins, "origins", "", "`origins` of web pages that may send requests, separated by commas; * for all")
	f.StringVar(&s.cert, "tls-cert", "", "PEM `file` of the certificate, read again on SIGHUP")
	f.StringVar(&s.key, "tls-key", "", "PEM `file` of its key")
	f.BoolVar(&s.options.TokenIDs, "token-ids", false, "accept token ids in /v1/embeddings and /v1/completions; they must be those of the model's tokenizer")
	f.BoolVar(&s.options.LiteralContent, "literal-content", false, "take control tokens, such as <|im_end|>, in messages of users and tools as plain text")
	f.BoolVar(&s.options.WarnUnknown, "warn-unknown", false, "report unknown fields of requests as warnings, in the log and in a header of the answer, instead of as errors")
	f.BoolVar(&s.logRequests, "log", false, "log requests to standard error")
	f.BoolVar(&s.asJSON, "log-json", false, "write everything to standard error as JSON, a line for each")
}

// namedModel reads NAME[,ALIAS...]=DIR.
func namedModel(v string) (serve.Model, error) {
	names, dir, ok := strings.Cut(v, "=")
	if !ok || names == "" || dir == "" {
		return serve.Model{}, fmt.Errorf("%q, want NAME=DIR", v)
	}
	all := strings.Split(names, ",")
	return serve.Model{Dir: dir, Name: all[0], Aliases: all[1:]}, nil
}

// plan sets models and options, or returns an error if flags contradict each other.
func (s *serving) plan(a *app, dirs []string) error {
	for _, dir := range dirs {
		m := serve.Model{Dir: dir}
		if _, err := os.Stat(dir); err != nil && strings.Contains(dir, "=") && !strings.HasPrefix(dir, hub.Scheme) { // NAME=DIR, a form that other servers accept
			if m, err = namedModel(dir); err != nil {
				return usagef("%v", err)
			}
		}
		s.models = append(s.models, m)
	}
	switch {
	case len(s.models) == 0:
		return usagef("no model to serve; avoformer serve [flags] DIR...")
	case (s.cert == "") != (s.key == ""):
		return usagef("-tls-cert and -tls-key need each other")
	}
	list, err := s.adapters.list()
	if err != nil {
		return err
	}
	shared := text.Options{TokenizerAsWritten: a.asWritten, Model: models.Options{Adapters: list, Ready: a.ready}}
	for i := range s.models {
		m := &s.models[i]
		if strings.HasPrefix(m.Dir, hub.Scheme) {
			if m.Dir, err = a.pulled(m.Dir); err != nil {
				return err
			}
		}
		if err := s.planModel(a, m, shared); err != nil {
			return err
		}
	}
	if err := s.nameAdapters(a); err != nil {
		return err
	}
	for name, p := range map[string]*perModel{"weights": &s.weights, "prompts": &s.prompts, "threads": &s.threads, "cache": &s.cache, "cache-memory": &s.cacheMemory, "cache-kept": &s.cacheKept, "max-length": &s.length, "long": &s.long, "images": &s.images, "mmproj": &s.projector, "mtp": &s.mtp} {
		if unused := p.unused(); unused != "" {
			return usagef("-%s %s: no model has that name", name, unused)
		}
	}
	s.options.Memory, s.options.NoFingerprints = s.memory<<20, !s.fingerprint
	if s.origins != "" {
		s.options.Origins = strings.Split(s.origins, ",")
	}
	return s.readKeys()
}

// nameAdapters adds the named adapters to the models. They stay separate from the models' weights.
func (s *serving) nameAdapters(a *app) error {
	for _, v := range s.named {
		full, value, _ := strings.Cut(v, "=")
		at := strings.LastIndexByte(full, '/')
		i := slices.IndexFunc(s.models, func(m serve.Model) bool {
			return at < 0 && len(s.models) == 1 || at >= 0 && slices.Contains(namesOf(&m), full[:at])
		})
		if i < 0 {
			return usagef("-named-adapter %s: want MODEL/NAME=DIR with the name of a model", v)
		}
		one, err := a.adapter("named-adapter", value)
		if err != nil {
			return err
		}
		if one.Name = full[at+1:]; one.Name == "" {
			return usagef("-named-adapter %s: want a name of the adapter", v)
		}
		o := &s.models[i].Options.Model
		o.Adapters = append(slices.Clone(o.Adapters), one)
	}
	return nil
}

// planModel completes a model's options. o has the options that all models share.
func (s *serving) planModel(a *app, m *serve.Model, o text.Options) (err error) {
	if err := setWeights(&o.Model, s.weights.of(m, stored)); err != nil {
		return err
	}
	if o.Model.PromptFormat, err = parsePrompts(s.prompts.of(m, "")); err != nil {
		return err
	}
	kind := openedAs(m)
	generates := slices.Contains(kind.Info().Options, "CacheMemory")
	if o.Model.CacheFormat, err = parseCache(s.cache.where(generates, m, "f32")); err != nil {
		return err
	}
	for _, x := range []struct {
		name, value string
		to          *int64
	}{{"cache-memory", s.cacheMemory.where(generates, m, "0"), &o.CacheMemory}, {"cache-kept", s.cacheKept.where(generates, m, "0"), &o.CacheKept}} {
		n, err := strconv.ParseUint(x.value, 10, 40)
		if err != nil {
			return usagef("-%s %q, want a whole number of MiB", x.name, x.value)
		}
		*x.to = int64(n) << 20
	}
	for _, x := range []struct {
		name, value string
		to          *int
	}{{"threads", s.threads.of(m, "0"), &o.Threads}, {"max-length", s.length.of(m, "0"), &o.MaxLength}} {
		if *x.to, err = strconv.Atoi(x.value); err != nil {
			return usagef("-%s %q, want a number", x.name, x.value)
		}
	}
	if o.Threads == 0 {
		o.Threads = s.processors
	}
	switch long := s.long.of(m, "cut"); long {
	case "cut":
	case "refuse":
		o.Long = text.LongRefuse
	case "split":
		o.Long, o.Stride = text.LongSplit, s.stride
	default:
		return usagef("-long %q, want cut, refuse or split", long)
	}
	images := "no"
	if o.Model.Projector = s.projector.where(generates, m, ""); o.Model.Projector != "" {
		images = "yes"
	}
	for _, x := range []struct {
		name, value string
		to          *bool
	}{{"images", s.images.of(m, images), &o.Model.Images}, {"mtp", s.mtp.where(generates, m, "no"), &o.Model.MTP}} {
		if *x.to = x.value == "yes"; !*x.to && x.value != "no" {
			return usagef("-%s %q, want yes or no", x.name, x.value)
		}
	}
	s.replicas.to(&o)
	o.CopyWeights = s.copyWeights && slices.Contains(kind.Info().Options, "CopyWeights")
	if slices.Contains(kind.Info().Options, "PromptFormat") {
		o.Model.Planned = a.advising(namesOf(m)[0], o.Model)
	}
	m.Options = o
	return nil
}

// openedAs returns the kind of a model's pipeline, or "" if it is not known. In that case, adding
// the model fails later.
func openedAs(m *serve.Model) text.Kind {
	if m.Kind != "" {
		return m.Kind
	}
	kind, _ := text.KindOf(m.Dir)
	return kind
}

// readKeys reads API keys from the file or, if there is no file, from the environment.
func (s *serving) readKeys() error {
	if s.keyFile != "" {
		data, err := os.ReadFile(s.keyFile)
		if err != nil {
			return err
		}
		s.options.Keys = strings.Split(string(data), "\n")
		return nil
	}
	if keys, ok := os.LookupEnv("AVOFORMER_API_KEYS"); ok {
		s.options.Keys = strings.Split(keys, ",")
	}
	return nil
}

func (s *serving) logger(a *app) *slog.Logger {
	if s.asJSON {
		return slog.New(slog.NewJSONHandler(a.err, nil))
	}
	return slog.New(slog.NewTextHandler(a.err, nil))
}

// tls returns nil if there is no certificate. Otherwise it reads the files again on SIGHUP until
// ctx ends.
func (s *serving) tls(ctx context.Context, log *slog.Logger) (*tls.Config, error) {
	if s.cert == "" {
		return nil, nil
	}
	c, err := serve.LoadCertificate(s.cert, s.key)
	if err != nil {
		return nil, err
	}
	onHangup(ctx, func() {
		if err := c.Reload(); err != nil {
			log.Error("the certificate was not replaced", "error", err)
		} else {
			log.Info("certificate read again", "file", s.cert)
		}
	})
	return c.Config(), nil
}
