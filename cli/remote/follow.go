package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Event is one server-sent event.
type Event struct {
	Name, ID string
	Data     []byte
}

// eventLimit bounds one event, in bytes.
const eventLimit = 64 << 20

// reconnectAfter is the pause before a stream that broke is asked for again.
const reconnectAfter = time.Second

// awayLimit is how long a control plane that answered before may be away before it counts as gone: longer than its restart takes.
const awayLimit = time.Minute

// Patience bears with a control plane that is away for a while. Its zero value has not seen it yet, and bears with nothing.
type Patience struct{ seen time.Time }

// Seen notes that the control plane answered.
func (p *Patience) Seen() { p.seen = time.Now() }

// Bears says that err is only an absence, and that it has not lasted too long yet.
func (p *Patience) Bears(err error) bool { return away(err) && time.Since(p.seen) <= awayLimit }

// Follow reads a stream of server-sent events until each says stop. A stream that broke is asked for again from the last event
// that was seen, also from a control plane that is away for a while (at most awayLimit); one that was never there is an error at
// once.
func Follow(ctx context.Context, open func(lastID string) (*http.Response, error), each func(Event) (stop bool, err error)) error {
	var patience Patience
	last := ""
	for {
		r, err := open(last)
		err = answered(r, err)
		switch {
		case err == nil:
			ended, err := readEvents(r.Body, &last, each)
			_ = r.Body.Close() // the stream is over
			if ended || err != nil {
				return err
			}
			patience.Seen()
		case !patience.Bears(err) || ctx.Err() != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return exit.Interrupted
		case <-time.After(reconnectAfter):
		}
	}
}

// away says that nobody answered, or somebody before the control plane; what the control plane itself refuses stays refused.
func away(err error) bool {
	var p *Problem
	return exit.CodeOf(err) == exit.Unreachable && !errors.As(err, &p)
}

// readEvents reads events (HTML standard, section 9.2.6) until each stops it, and says whether the end was in order. It keeps the
// id of the last event in last.
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
			e = Event{ID: *last} // an event without an id has that of the one before
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
		return true, errTooLong // it would be as long again
	}
	return false, nil // what broke the stream does not matter: it is asked for again
}

// errTooLong is an event that no control plane of ours sends.
var errTooLong = exit.With(exit.Unreachable, fmt.Errorf("the control plane sent an event that is too long (over %d MB); check the address that `nuon context list` shows", eventLimit>>20))
