package apiclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Event is one server-sent event.
type Event struct {
	Name, ID string
	Data     []byte
}

// eventLimit is the maximum size of an event, in bytes.
const eventLimit = 64 << 20

// reconnectAfter is the pause before a broken stream is reopened.
const reconnectAfter = time.Second

// outageLimit is how long a control plane that has answered before may be unreachable. It is
// longer than a restart takes.
const outageLimit = time.Minute

// OutageTolerance tolerates a control plane that is unreachable for a while. The zero
// value tolerates nothing.
type OutageTolerance struct{ seen time.Time }

// Seen records that the control plane answered.
func (p *OutageTolerance) Seen() { p.seen = time.Now() }

// Bears reports whether err only means that the control plane is unreachable,
// and not for longer than outageLimit.
func (p *OutageTolerance) Bears(err error) bool {
	return isUnreachable(err) && time.Since(p.seen) <= outageLimit
}

// AsStream is the request editor that requests an event stream as the response.
func AsStream(_ context.Context, r *http.Request) error {
	r.Header.Set("Accept", "text/event-stream")
	return nil
}

// Follow reads a stream of server-sent events and calls each until it returns stop. It reopens
// a broken stream after the last event that it read, and retries for up to outageLimit while the
// control plane is unreachable. If the first attempt fails, Follow returns its error at once.
func Follow(ctx context.Context, open func(lastID string) (*http.Response, error),
	each func(Event) (stop bool, err error)) error {
	var patience OutageTolerance
	last := ""
	for {
		r, err := open(last)
		err = checkResponse(r, err)
		switch {
		case err == nil:
			ended, err := readEvents(r.Body, &last, each)
			_ = r.Body.Close() // the stream has ended
			if ended || err != nil {
				return err
			}
			patience.Seen()
		case !patience.Bears(err) || ctx.Err() != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return exitcode.Interrupted
		case <-time.After(reconnectAfter):
		}
	}
}

// isUnreachable reports whether nothing answered, or only a proxy in front of the control plane. A
// refusal by the control plane itself does not count.
func isUnreachable(err error) bool {
	var p *Problem
	return exitcode.CodeOf(err) == exitcode.Unreachable && !errors.As(err, &p)
}

// readEvents reads events (HTML standard, section 9.2.6) until each stops it
// or fails. It reports whether reading ended for good, so that the stream must
// not be reopened, and stores the id of the last event in last.
func readEvents(body io.Reader, last *string, each func(Event) (bool, error)) (ended bool, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), eventLimit)
	e := Event{ID: *last}
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			*last = e.ID
			if e.Data != nil {
				e.Data = e.Data[:len(e.Data)-1]
				if stop, err := each(e); stop || err != nil {
					return true, err
				}
			}
			e = Event{ID: *last} // an event without an id has the id of the previous one
		case field == "event":
			e.Name = value
		case field == "id":
			e.ID = value
		case field == "data":
			if len(e.Data)+len(value) > eventLimit {
				return true, errTooLong
			}
			e.Data = append(append(e.Data, value...), '\n')
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return true, errTooLong // it would be too long again
	}
	return false, nil // the reason does not matter: the stream is reopened
}

// errTooLong is the error for an event that is larger than any that a control plane sends.
var errTooLong = exitcode.With(exitcode.Unreachable,
	fmt.Errorf("the control plane sent an event larger than %d MB; check its address with `nuon context list`",
		eventLimit>>20))
