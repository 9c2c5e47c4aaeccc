package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/oci"
)

// progressFrom is the size in bytes from which a copy logs its progress.
const progressFrom = 8 << 20

// download is the download of a layer to this machine.
type download struct {
	*copier
	blob artifact.Blob
	file *os.File

	sum      hash.Hash
	received int64       // bytes in the file, and in sum
	logged   int64       // tenths of the layer that were logged
	silent   *time.Timer // cancels a response from which no bytes arrive
}

// fetchVerified fetches the missing part of the layer, and verifies the whole layer against its digest.
// When the digest does not match it starts over: once after a download in one go, twice when it
// resumed an earlier job's download.
func (d *download) fetchVerified(ctx context.Context) error {
	if err := d.resume(); err != nil {
		return err
	}
	resumed := d.received > 0
	for fresh := 0; ; fresh++ {
		if err := d.fetchRemaining(ctx); err != nil && reasonOf(err) != oci.Damaged {
			return err
		}
		if d.received == d.blob.Size && "sha256:"+hex.EncodeToString(d.sum.Sum(nil)) == d.blob.Digest {
			return nil
		}
		if fresh == 1 && !resumed || fresh == 2 {
			return &oci.Error{
				Verb: "pull", Repository: d.from.Reference(), Digest: d.blob.Digest, Reason: oci.Damaged,
				Err: fmt.Errorf("%w: twice other bytes came than %s has", artifact.ErrDamaged, d.blob.Digest),
			}
		}
		d.log.Warn("what came of %s is damaged; it is fetched once more", d.blob.Digest)
		if err := d.restart(); err != nil {
			return err
		}
	}
}

// resume continues with the bytes that an earlier job left.
func (d *download) resume() error {
	d.sum = sha256.New()
	info, err := d.file.Stat()
	if err != nil {
		return fmt.Errorf("look at a copy under way: %w", err)
	}
	if info.Size() > d.blob.Size {
		return d.restart()
	}
	if d.received, err = io.CopyN(d.sum, d.file, info.Size()); err != nil {
		return fmt.Errorf("read a copy under way: %w", err)
	}
	if d.received > 0 {
		d.log.Info("going on with %s of %s that were here already", bytesOf(d.received), bytesOf(d.blob.Size))
	}
	d.logged = d.tenth()
	return nil
}

// restart discards the bytes in the file.
func (d *download) restart() error {
	if err := d.file.Truncate(0); err != nil {
		return fmt.Errorf("restart a copy: %w", err)
	}
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("restart a copy: %w", err)
	}
	d.sum, d.received, d.logged = sha256.New(), 0, 0
	return nil
}

// fetchRemaining fetches the missing bytes, in as many requests as necessary: as long as bytes arrive,
// the retries start over.
func (d *download) fetchRemaining(ctx context.Context) error {
	for d.received < d.blob.Size {
		before := d.received
		err := d.retry(ctx, func() error {
			err := d.fetchOnce(ctx)
			if d.received > before && isTemporary(err) {
				d.log.Info("%v; requesting the rest", err)
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchOnce makes one request, and stores the bytes that arrive before the response
// ends, fails or stalls.
func (d *download) fetchOnce(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	defer stop()
	d.silent = time.AfterFunc(d.policy.silence, stop)
	defer d.silent.Stop()
	err := d.readResponse(listening)
	if err != nil && reasonOf(err) == oci.Cancelled && ctx.Err() == nil {
		return d.interrupted(fmt.Errorf("nothing came for %v", d.policy.silence))
	}
	return err
}

// interrupted returns the error for a response that ended before the layer did.
func (d *download) interrupted(why error) error {
	return &oci.Error{Verb: "pull", Repository: d.from.Reference(), Digest: d.blob.Digest,
		Reason: oci.Unreachable, Err: why}
}

func (d *download) readResponse(ctx context.Context) error {
	body, at, err := d.from.Fetch(ctx, d.blob, d.received)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if at == 0 && d.received > 0 { // the server does not support ranges
		if err := d.restart(); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.MultiWriter(d.file, d), io.LimitReader(body, d.blob.Size-d.received))
	if err == nil && d.received < d.blob.Size {
		err = d.interrupted(errors.New("the answer ended too early"))
	}
	return err
}

// Write counts the bytes that were written to the file.
func (d *download) Write(part []byte) (int, error) {
	d.received += int64(len(part))
	d.silent.Reset(d.policy.silence)
	if now := d.tenth(); d.blob.Size >= progressFrom && now > d.logged {
		d.logged = now
		d.log.Info("%s of %s fetched", bytesOf(d.received), bytesOf(d.blob.Size))
	}
	return d.sum.Write(part)
}

func (d *download) tenth() int64 {
	if d.blob.Size == 0 {
		return 0
	}
	return d.received * 10 / d.blob.Size
}
