package podlogs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/plainlines"
)

const (
	// maxBytes bounds what one request sends, in bytes.
	maxBytes = 8 << 20
	// maxContainers bounds the containers that one request reads.
	maxContainers = 50
	// chunk is how much is read at a time, in bytes.
	chunk = 4 << 10
	// The rates at which all containers of a request together are read, so that a loud one does not load the API server,
	// and so that the log of the job, which drops lines above a higher rate, drops none.
	lineRate, lineBurst = 800, 10_000
	byteRate, byteBurst = 512 << 10, 4 << 20
	// rescan is the interval in which a request that follows searches for new pods and restarted containers.
	rescan = 2 * time.Second
)

// sender sends the log lines of one request.
type sender struct {
	env     *job.Env
	cluster *cluster.Cluster
	objects []api.ObjectRef
	request api.NewLogRequest

	lineLimit, byteLimit *rate.Limiter
	lines, size          atomic.Int64

	mutex    sync.Mutex
	seen     map[cluster.Container]bool
	readers  int // containers whose log was opened
	problems []error
}

func newSender(env *job.Env, reached *cluster.Cluster, objects []api.ObjectRef, request api.NewLogRequest) *sender {
	return &sender{env: env, cluster: reached, objects: objects, request: request,
		lineLimit: rate.NewLimiter(lineRate, lineBurst), byteLimit: rate.NewLimiter(byteRate, byteBurst),
		seen: map[cluster.Container]bool{}}
}

// send reads the containers at the same time until all logs have ended, or, if it follows, until ctx ends.
func (s *sender) send(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop(nil)
	for first := true; ; first = false {
		containers, err := s.cluster.Containers(ctx, s.objects, s.request.Container)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if first && len(containers) == 0 {
			s.env.Log.Warn("%s", s.empty())
		}
		for _, each := range s.unseen(containers) {
			reading.Go(func() { // reads one container until its log ends
				if err := s.read(ctx, each, first); err != nil {
					stop(err)
				}
			})
		}
		if !s.request.Follow || s.request.Previous {
			reading.Wait()
			return s.ended(ctx, len(containers))
		}
		if !backoff.Pause(ctx, rescan) {
			return context.Cause(ctx)
		}
	}
}

// ended returns why a request that does not follow ended: the reason of ctx, or the problems if no log could be read.
func (s *sender) ended(ctx context.Context, containers int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if containers > 0 && s.readers == 0 {
		return fmt.Errorf("none of the logs can be read: %w", s.problems[0])
	}
	return nil
}

// empty describes that there is no container.
func (s *sender) empty() string {
	of := s.request.Component
	if s.request.Container != "" {
		of = fmt.Sprintf("a container %s of %s", s.request.Container, of)
	}
	return fmt.Sprintf("no pod of %s has started; see what keeps it with nuon status, or wait for it with --follow", of)
}

// unseen returns the containers that are not read yet, and remembers them.
func (s *sender) unseen(containers []cluster.Container) []cluster.Container {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var made []cluster.Container
	for i, each := range containers {
		if s.seen[each] {
			continue
		}
		if len(s.seen) == maxContainers {
			s.env.Log.Warn("%d containers are left out: one request reads at most %d; narrow it with --container",
				len(containers)-i, maxContainers)
			return made
		}
		s.seen[each] = true
		made = append(made, each)
	}
	return made
}

// read sends the lines of one container. A log that cannot be opened is reported in the log, and ends nothing else.
// first is false for a container that started while the request follows: all its lines are new.
func (s *sender) read(ctx context.Context, of cluster.Container, first bool) error {
	query := cluster.LogQuery{SinceSeconds: int64(s.request.SinceSeconds), Tail: int64(min(s.request.Tail, maxTail)),
		LimitBytes: maxBytes + 1, Follow: s.request.Follow, Previous: s.request.Previous}
	if s.request.Tail == 0 {
		query.Tail = defaultTail
	}
	if !first {
		query.SinceSeconds, query.Tail = 0, -1
	}
	name := of.Pod + "/" + of.Name
	stream, err := s.cluster.OpenLog(ctx, of, query)
	if err != nil {
		if ctx.Err() == nil {
			s.env.Log.Warn("%s: %v", name, err)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.problems = append(s.problems, fmt.Errorf("%s: %w", name, err))
		}
		return nil
	}
	defer func() { _ = stream.Close() }()
	s.mutex.Lock()
	s.readers++
	s.mutex.Unlock()
	out := &plainlines.Writer{Line: func(line string) {
		s.lines.Add(1)
		s.env.Log.Info("%s | %s", name, line)
	}}
	masked := s.env.Redact.Writer(out)
	defer func() {
		_ = masked.Close()
		_ = out.Close()
	}()
	return s.copy(ctx, masked, stream, name)
}

// copy passes on a log at the rates of the request.
func (s *sender) copy(ctx context.Context, to io.Writer, from io.Reader, name string) error {
	text := make([]byte, chunk)
	for {
		n, err := from.Read(text)
		if n > 0 {
			if s.size.Add(int64(n)) > maxBytes {
				return errSize
			}
			if s.lineLimit.WaitN(ctx, bytes.Count(text[:n], []byte("\n"))) != nil || s.byteLimit.WaitN(ctx, n) != nil {
				return cmp.Or(context.Cause(ctx), errTime) // the limiter does not wait for a time that is beyond that of ctx
			}
			if _, err := to.Write(text[:n]); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the caller knows why
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			s.env.Log.Warn("%s: the log was cut off: %v", name, cluster.Explain(err))
			return nil
		}
	}
}

// opened returns the number of containers whose log was opened.
func (s *sender) opened() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.readers
}
