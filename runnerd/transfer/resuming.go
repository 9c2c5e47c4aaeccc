package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
)

// resuming reads a blob of the source. When an answer ends early, it requests the rest. It fails,
// instead of ending, when the bytes are not those of the blob.
type resuming struct {
	*copier
	ctx  context.Context //nolint:containedctx // an io.Reader has no other place for it
	blob artifact.Blob

	body   io.ReadCloser
	at     int64
	sum    hash.Hash
	failed error
}

func newResuming(ctx context.Context, c *copier, blob artifact.Blob) *resuming {
	return &resuming{copier: c, ctx: ctx, blob: blob, sum: sha256.New()}
}

// Read reads the next bytes of the blob. It checks the digest before it returns the last ones.
func (r *resuming) Read(into []byte) (int, error) {
	switch {
	case r.failed != nil:
		return 0, r.failed
	case r.at == r.blob.Size:
		return 0, cmp.Or(r.check(), io.EOF)
	case len(into) == 0:
		return 0, nil
	}
	into = into[:min(int64(len(into)), r.blob.Size-r.at)]
	var n int
	r.failed = r.retry(r.ctx, func() (err error) {
		n, err = r.readOnce(into)
		return err
	})
	_, _ = r.sum.Write(into[:n]) // never fails
	r.at += int64(n)
	if r.failed == nil && r.at == r.blob.Size {
		r.failed = r.check()
	}
	if r.failed != nil {
		return 0, r.failed
	}
	return n, nil
}

// readOnce reads from the present answer, or from a new one.
func (r *resuming) readOnce(into []byte) (int, error) {
	if r.body == nil {
		if err := r.request(); err != nil {
			return 0, err
		}
	}
	n, err := r.body.Read(into)
	if n > 0 || err == nil {
		return n, nil // an error comes again
	}
	_ = r.Close()
	if errors.Is(err, io.EOF) {
		return 0, r.interrupted(errors.New("the answer ended too early"))
	}
	return 0, err
}

// interrupted returns the error for an answer that ended before the blob did.
func (r *resuming) interrupted(why error) error {
	return &oci.Error{Verb: "pull", Repository: r.from.Reference(), Digest: r.blob.Digest,
		Reason: oci.Unreachable, Err: why}
}

// request requests the rest of the blob.
func (r *resuming) request() error {
	body, at, err := r.from.Fetch(r.ctx, r.blob, r.at)
	if err != nil {
		return err
	}
	if at < r.at { // the server does not support ranges
		if _, err := io.CopyN(io.Discard, body, r.at-at); err != nil {
			_ = body.Close()
			return r.interrupted(err)
		}
	}
	r.body = body
	return nil
}

// check returns an error unless the bytes were those of the blob.
func (r *resuming) check() error {
	if got := "sha256:" + hex.EncodeToString(r.sum.Sum(nil)); got != r.blob.Digest {
		return &oci.Error{Verb: "pull", Repository: r.from.Reference(), Digest: r.blob.Digest,
			Reason: oci.Damaged, Err: fmt.Errorf("%w: the bytes are those of %s", artifact.ErrDamaged, got)}
	}
	return nil
}

// Close ends the request.
func (r *resuming) Close() error {
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	return body.Close()
}
