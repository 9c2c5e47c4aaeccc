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
)

// large is the size in bytes from which a copy logs its progress.
const large = 8 << 20

// arrival is the download of a layer to this machine.
type arrival struct {
	*copying
	blob artifact.Blob
	file *os.File

	sum    hash.Hash
	have   int64       // bytes in the file, and in sum
	told   int64       // tenths of the layer that were logged
	silent *time.Timer // cancels a response from which no bytes arrive
}

// all fetches the missing part of the layer, and verifies the whole layer against its digest.
// When the digest does not match it starts over: once after a download in one go, twice when it
// resumed an earlier job's download.
func (a *arrival) all(ctx context.Context) error {
	if err := a.resume(); err != nil {
		return err
	}
	resumed := a.have > 0
	for fresh := 0; ; fresh++ {
		if err := a.rest(ctx); err != nil && reasonOf(err) != artifact.Damaged {
			return err
		}
		if a.have == a.blob.Size && "sha256:"+hex.EncodeToString(a.sum.Sum(nil)) == a.blob.Digest {
			return nil
		}
		if fresh == 1 && !resumed || fresh == 2 {
			return &artifact.Error{
				Verb: "pull", Repository: a.from.Reference(), Digest: a.blob.Digest, Reason: artifact.Damaged,
				Err: fmt.Errorf("%w: twice other bytes came than %s has", artifact.ErrDamaged, a.blob.Digest),
			}
		}
		a.log.Warn("what came of %s is damaged; it is fetched once more", a.blob.Digest)
		if err := a.anew(); err != nil {
			return err
		}
	}
}

// resume continues with the bytes that an earlier job left.
func (a *arrival) resume() error {
	a.sum = sha256.New()
	info, err := a.file.Stat()
	if err != nil {
		return fmt.Errorf("look at a copy under way: %w", err)
	}
	if info.Size() > a.blob.Size {
		return a.anew()
	}
	if a.have, err = io.CopyN(a.sum, a.file, info.Size()); err != nil {
		return fmt.Errorf("read a copy under way: %w", err)
	}
	if a.have > 0 {
		a.log.Info("going on with %s of %s that were here already", bytesOf(a.have), bytesOf(a.blob.Size))
	}
	a.told = a.tenth()
	return nil
}

// anew discards the bytes in the file.
func (a *arrival) anew() error {
	if err := a.file.Truncate(0); err != nil {
		return fmt.Errorf("begin a copy anew: %w", err)
	}
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("begin a copy anew: %w", err)
	}
	a.sum, a.have, a.told = sha256.New(), 0, 0
	return nil
}

// rest fetches the missing bytes, in as many requests as necessary: as long as bytes arrive,
// the retries start over.
func (a *arrival) rest(ctx context.Context) error {
	for a.have < a.blob.Size {
		before := a.have
		err := a.patiently(ctx, func() error {
			err := a.some(ctx)
			if a.have > before && passing(err) {
				a.log.Info("%v; the rest is asked for", err)
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

// some makes one request, and stores the bytes that arrive before the response
// ends, fails or stalls.
func (a *arrival) some(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	defer stop()
	a.silent = time.AfterFunc(a.pace.silence, stop)
	defer a.silent.Stop()
	err := a.part(listening)
	if err != nil && reasonOf(err) == artifact.Cancelled && ctx.Err() == nil {
		return a.broken(fmt.Errorf("nothing came for %v", a.pace.silence))
	}
	return err
}

// broken returns the error for a response that ended before the layer did.
func (a *arrival) broken(why error) error {
	return &artifact.Error{Verb: "pull", Repository: a.from.Reference(), Digest: a.blob.Digest,
		Reason: artifact.Unreachable, Err: why}
}

func (a *arrival) part(ctx context.Context) error {
	body, at, err := a.from.Fetch(ctx, a.blob, a.have)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if at == 0 && a.have > 0 { // the server does not support ranges
		if err := a.anew(); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.MultiWriter(a.file, a), io.LimitReader(body, a.blob.Size-a.have))
	if err == nil && a.have < a.blob.Size {
		err = a.broken(errors.New("the answer ended too early"))
	}
	return err
}

// Write counts the bytes that were written to the file.
func (a *arrival) Write(part []byte) (int, error) {
	a.have += int64(len(part))
	a.silent.Reset(a.pace.silence)
	if now := a.tenth(); a.blob.Size >= large && now > a.told {
		a.told = now
		a.log.Info("%s of %s fetched", bytesOf(a.have), bytesOf(a.blob.Size))
	}
	return a.sum.Write(part)
}

func (a *arrival) tenth() int64 {
	if a.blob.Size == 0 {
		return 0
	}
	return a.have * 10 / a.blob.Size
}
