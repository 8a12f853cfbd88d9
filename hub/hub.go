// Package hub downloads models from the Hugging Face hub, or from a server with its API, to the
// cache of the Python library huggingface_hub: the two share their downloads.
//
//	dir, err := hub.Pull(ctx, "sentence-transformers/all-MiniLM-L6-v2", hub.Options{})
//	e, err := text.OpenEmbedder(dir, text.Options{})
//
// Only what a model needs is downloaded (see [Needed]). An interrupted download continues where it
// ended. Each file is compared with the size and the hash that the hub states before it gets its
// name in the cache: a file in the cache is always complete.
//
// The network is not waited for where the cache has the answer: a commit that is whole there asks
// nothing, and a branch or a tag asks for a short time which commit it means, and otherwise means
// what it meant last.
//
// The environment is that of huggingface_hub: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN,
// HF_TOKEN_PATH, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_HUB_ETAG_TIMEOUT,
// HF_HUB_DOWNLOAD_TIMEOUT.
//
// No other package of this module uses the network.
//
// This package is settling: see doc/stability.md.
package hub

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/avoformer/avoformer/fault"
)

// Pull downloads the files of a model, [hf://]org/name[@revision], to the cache, and returns the
// folder that holds them. For [hf://]org/name/file[@revision] it downloads only that file, such as
// one of several GGUF files, and returns its path; for a part of a split GGUF file it downloads all
// parts.
//
// A commit that the cache has whole asks the hub nothing, and so does a file of a commit. For a
// branch or a tag Pull asks for no longer than o.Resolve where the cache has one of its commits,
// and returns that if no answer comes.
func Pull(ctx context.Context, name string, o Options) (string, error) {
	n, err := ParseName(name)
	if err != nil {
		return "", err
	}
	p := puller{Options: o, name: n}
	if err := p.settle(); err != nil {
		return "", err
	}
	if p.Offline {
		return p.cached()
	}
	p.Client = discreet(p.Client)
	path, err := p.find(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n, err)
	}
	return path, nil
}

// find returns the path of the model, from the cache where that is enough.
func (p *puller) find(ctx context.Context) (string, error) {
	found, have := p.look()
	if have == whole && isCommit(p.pinned()) {
		return found, nil // which never changes
	}
	commit, files, err := p.ask(ctx, have)
	switch {
	case err == nil:
		dir, err := p.pull(ctx, commit, files)
		return filepath.Join(dir, filepath.FromSlash(p.name.File)), err
	case have == absent || ctx.Err() != nil || !errors.Is(err, fault.ErrServer) && !errors.Is(err, fault.ErrAccess):
		return "", err
	}
	if p.Warn != nil {
		p.Warn(fmt.Sprintf("%s: taken from the cache as it was pulled last, since %v", p.name, err))
	}
	return found, nil
}
