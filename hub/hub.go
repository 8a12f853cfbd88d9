// Package hub downloads models from the Hugging Face hub, or from a server with the same API, to
// the cache of the Python library huggingface_hub: this package and the library share their
// downloads.
//
//	dir, err := hub.Pull(ctx, "sentence-transformers/all-MiniLM-L6-v2", hub.Options{})
//	e, err := text.OpenEmbedder(dir, text.Options{})
//
// It downloads only the files that a model needs (see [Needed]). An interrupted download continues
// where it ended. Each file is compared with the size and the hash that the hub states before it is
// renamed to its name in the cache: a file in the cache is always complete.
//
// If the cache has all files of a commit, a pull of this commit does not use the network. For a
// branch or a tag, a pull asks the hub which commit it names now. If the cache has an earlier
// commit of it and the hub does not answer within a short time, the pull returns that commit.
//
// The package reads the environment variables of huggingface_hub: HF_HOME, HF_HUB_CACHE,
// HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_HUB_ETAG_TIMEOUT,
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

// Pull downloads the files of a model, [hf://]org/name[@revision], to the cache, and returns their
// folder. For [hf://]org/name/file[@revision] it downloads only that file, such as one of several
// GGUF files, and returns its path. For a part of a split GGUF file it downloads all parts.
//
// Pull does not ask the hub for a commit, or a file of a commit, that is complete in the cache. For
// a branch or a tag it asks which commit this is. If the cache has a commit of the branch or tag,
// Pull waits for the answer for at most o.Resolve; without an answer it returns the commit in the
// cache.
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

// find returns the path of the model or file. It asks the hub unless the cache has the complete
// commit.
func (p *puller) find(ctx context.Context) (string, error) {
	found, have := p.look()
	if have == whole && isCommit(p.pinned()) {
		return found, nil // a commit never changes
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
		p.Warn(fmt.Sprintf("%s: using the last pulled files of the cache, because %v", p.name, err))
	}
	return found, nil
}
