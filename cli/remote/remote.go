// Package remote is the CLI's side of the control API: a client with the chosen context's address and token, answers checked and
// turned into values or into errors that say what to do, and server-sent events. Every command talks to the control plane through
// it.
package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Client calls one control plane. The generated client makes the requests; Get turns their answers into values.
type Client struct {
	*api.Client
	URL string
}

// answerLimit bounds the JSON of one answer, in bytes.
const answerLimit = 256 << 20

// New makes a client for a context.
func New(c contexts.Context) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return nil, exit.Usagef("the control plane's address %q is not a URL such as http://127.0.0.1:7110", c.URL)
	}
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+c.Token)
		return nil
	}
	client, err := api.NewClient(c.URL, api.WithRequestEditorFn(authorize), api.WithHTTPClient(&http.Client{Transport: patient{http.DefaultTransport}}))
	if err != nil {
		return nil, err
	}
	return &Client{Client: client, URL: c.URL}, nil
}

// Get reads the answer to a request made by the generated client.
func Get[T any](r *http.Response, err error) (T, error) {
	var out T
	if err := answered(r, err); err != nil {
		return out, err
	}
	defer r.Body.Close() //nolint:errcheck // what matters was read
	if err := json.NewDecoder(io.LimitReader(r.Body, answerLimit)).Decode(&out); err != nil {
		return out, exit.With(exit.Unreachable, fmt.Errorf("the control plane gave an answer that is not the API's (is its address right?): %w", err))
	}
	return out, nil
}

// Done checks the answer to a request that gives nothing back.
func Done(r *http.Response, err error) error {
	if err := answered(r, err); err != nil {
		return err
	}
	return r.Body.Close()
}

// answered turns everything but success into an error; the body is closed then.
func answered(r *http.Response, err error) error {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return exit.Interrupted
		}
		return exit.With(exit.Unreachable, fmt.Errorf("cannot reach the control plane: %w (is it running? `nuon doctor` tells)", err))
	}
	if r.StatusCode < 300 {
		return nil
	}
	defer r.Body.Close() //nolint:errcheck // the error is what matters
	p := api.Problem{Status: r.StatusCode, Title: r.Status}
	if b, err := io.ReadAll(io.LimitReader(r.Body, answerLimit)); err == nil {
		_ = json.Unmarshal(b, &p) // an answer that is no problem document keeps the status line
	}
	p.Title = cmp.Or(p.Title, r.Status)
	strange := p.Code == "" && (r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed || r.StatusCode >= http.StatusInternalServerError)
	if strange || p.Code == codeNoRoute {
		return exit.With(exit.Unreachable, fmt.Errorf("%s://%s answered %s, which is not what a control plane of this version answers; check the address that `nuon context list` shows, and the versions of both",
			r.Request.URL.Scheme, r.Request.URL.Host, r.Status))
	}
	return &Problem{p}
}

// codeNoRoute is what every listener of ours answers to a request that is for another one, or for another version.
const codeNoRoute = "no_route"

// codeUnpushed is what a sync of a commit is told that the repository does not have.
const codeUnpushed = "unpushed"

// Problem is an error that the control plane gave.
type Problem struct{ api.Problem }

// Error says what is wrong and what to do.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	for _, d := range p.Diagnostics {
		b.WriteString("\n  " + Diagnosis(d))
	}
	if p.Detail != "" {
		b.WriteString("\n  " + p.Detail)
	}
	if p.Status >= http.StatusInternalServerError && p.Request != "" {
		b.WriteString("\n  Its log has it as " + p.Request + ".")
	}
	return b.String()
}

// Diagnosis is a diagnostic as people read it: file:line:column: severity: what is wrong (what would be right). One that belongs
// to no place in a file has none.
func Diagnosis(d api.Diagnostic) string {
	place := ""
	if d.Line > 0 && d.File != "." {
		place = fmt.Sprintf("%s:%d:%d: ", d.File, d.Line, d.Column)
	}
	text := fmt.Sprintf("%s%s: %s", place, d.Severity, d.Message)
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

// Unwrap gives the error its exit code.
func (p *Problem) Unwrap() error {
	switch {
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden:
		return &exit.Error{Code: exit.Unreachable}
	case p.Status == http.StatusBadRequest, p.Status == http.StatusUnprocessableEntity, p.Code == codeUnpushed:
		return &exit.Error{Code: exit.Usage}
	}
	return &exit.Error{Code: exit.Failed}
}

// CodeIs says whether an error is the control plane's with this stable code.
func CodeIs(err error, code string) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == code
}

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

// All reads every page of a list.
func All[T any](page func(cursor string) (items []T, next string, err error)) ([]T, error) {
	all, cursor := []T{}, ""
	for {
		items, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		cursor = next
	}
}
