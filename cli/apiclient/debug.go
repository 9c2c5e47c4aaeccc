package apiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// Debug returns a transport that logs each exchange: the request with its body, the
// response's status and time, and after the body was read its size and content. It
// masks everything that may be secret: the token wherever it appears, values by the
// names of their fields, values marked as sensitive, sealed values, and passwords in
// URLs. It logs no headers except those that identify the server and the request.
func Debug(out io.Writer, token string) func(http.RoundTripper) http.RoundTripper {
	d := &debugger{out: out}
	d.secrets.Add([]byte(token))
	return func(below http.RoundTripper) http.RoundTripper { return debugging{d, below} }
}

const (
	// bodyShown is the maximum number of bytes of a body that are logged. bodyKept is the
	// maximum size of a body that is logged at all: a truncated body is not valid JSON, so
	// its secrets could not be masked by field names.
	bodyShown = 8 << 10
	bodyKept  = 1 << 20
)

// debugger writes the log. It writes the lines of one message without interruption.
type debugger struct {
	lock    sync.Mutex
	out     io.Writer
	secrets redact.Set
}

func (d *debugger) say(format string, a ...any) {
	text := console.Text(d.secrets.String(inURL.ReplaceAllString(fmt.Sprintf(format, a...), "://"+masked+"@")))
	d.lock.Lock()
	defer d.lock.Unlock()
	fmt.Fprintln(d.out, text)
}

// debugging is the transport.
type debugging struct {
	*debugger
	below http.RoundTripper
}

// RoundTrip makes one exchange and logs it.
func (d debugging) RoundTrip(r *http.Request) (*http.Response, error) {
	d.say("> %s %s%s", r.Method, r.URL.Redacted(), d.request(r))
	begun := time.Now()
	answer, err := d.below.RoundTrip(r)
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		d.say("< no response after %s: %v", took, err)
		return nil, err
	}
	by := ""
	if v := answer.Header.Get(version.HeaderNumber); v != "" {
		by = fmt.Sprintf(", by version %s (API generation %s)", v, answer.Header.Get(version.HeaderAPI))
	}
	if id := answer.Header.Get("X-Request-Id"); id != "" {
		by += ", request " + id
	}
	d.say("< %s after %s%s", answer.Status, took, by)
	answer.Body = &bodyRecorder{ReadCloser: answer.Body, debugger: d.debugger, kind: answer.Header.Get("Content-Type")}
	return answer, nil
}

// request returns the size and body of a request whose body can be read twice.
func (d debugging) request(r *http.Request) string {
	if r.GetBody == nil || r.Body == nil || r.Body == http.NoBody {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close() //nolint:errcheck // it was only read
	kept, err := io.ReadAll(io.LimitReader(body, bodyKept+1))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s)%s",
		size(max(r.ContentLength, int64(len(kept)))), d.shown(r.Header.Get("Content-Type"), kept))
}

// bodyRecorder is a response body that stores up to bodyKept+1 bytes of what is read.
type bodyRecorder struct {
	io.ReadCloser
	*debugger
	kind string
	kept []byte
	read int64
	once sync.Once
}

// Read reads from the body and stores a copy.
func (o *bodyRecorder) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	o.read += int64(n)
	o.kept = append(o.kept, b[:min(n, max(bodyKept+1-len(o.kept), 0))]...)
	return n, err
}

// Close logs the stored body.
func (o *bodyRecorder) Close() error {
	o.once.Do(func() {
		if o.read > 0 {
			o.say("< %s%s", size(o.read), o.shown(o.kind, o.kept))
		}
	})
	return o.ReadCloser.Close()
}

func size(n int64) string { return fmt.Sprintf("%d bytes", n) }

// shown returns a body with secrets masked, on its own line, or a reason why it is not shown.
func (d *debugger) shown(kind string, body []byte) string {
	switch {
	case len(body) == 0:
		return ""
	case len(body) > bodyKept:
		return ", too large to show"
	case strings.HasPrefix(kind, "text/event-stream"):
		return ", events"
	case !strings.Contains(kind, "json"):
		return d.page(kind, body)
	}
	var value any
	read := json.NewDecoder(bytes.NewReader(body))
	read.UseNumber()
	if read.Decode(&value) != nil {
		return ", not JSON"
	}
	text, err := json.Marshal(mask(value, ""))
	if err != nil {
		return ""
	}
	return "\n  " + d.excerpt(string(text))
}

// page returns a text that is not JSON. Its first lines often show which server sent it,
// such as a proxy.
func (d *debugger) page(kind string, body []byte) string {
	if !strings.HasPrefix(kind, "text/") {
		return ", " + kind
	}
	return "\n  " + d.excerpt(strings.TrimSpace(string(body)))
}

// excerpt masks the secrets in a text before it truncates it, so that no part of a secret remains.
func (d *debugger) excerpt(text string) string {
	return truncate.Text(d.secrets.String(text), bodyShown)
}

// masked replaces a masked value.
const masked = "(masked)"

// inURL matches the user and password of a URL.
var inURL = lazyregexp.New(`://[^/?#@\s"]+@`)

// secretNameParts are parts of field names whose values may be secret.
var secretNameParts = []string{
	"secret", "token", "password", "passphrase", "passwd", "private",
	"authorization", "cookie", "ciphertext", "credentials", "apikey", "api_key",
	"access_key", "signature"}

// userValueFields are fields that contain arbitrary values of users.
var userValueFields = []string{"env", "inputs", "info", "plain"}

// mask replaces what may be secret in a JSON value. of is the name of the field that
// contains value.
func mask(value any, of string) any {
	switch v := value.(type) {
	case map[string]any:
		return maskObject(v, of)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = mask(v[i], of)
		}
		return out
	case string, json.Number:
		if v != "" && (mayNameSecret(of) || slices.Contains(userValueFields, of)) {
			return masked
		}
	}
	return value
}

func maskObject(object map[string]any, of string) map[string]any {
	sensitive := object["sensitive"] == true
	own := slices.Contains(userValueFields, of)
	out := make(map[string]any, len(object))
	for name, value := range object {
		_, nested := value.(map[string]any)
		switch {
		case sensitive && (name == "value" || name == "default" || name == "hash"),
			own && !nested && value != nil && !describesValue(object):
			out[name] = masked
		case own && nested:
			out[name] = mask(value, of)
		default:
			out[name] = mask(value, name)
		}
	}
	return out
}

// describesValue reports whether an object describes one value and its name, such
// as an install's input, rather than being a map of values.
func describesValue(object map[string]any) bool {
	_, named := object["name"]
	return named
}

func mayNameSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNameParts, func(part string) bool { return strings.Contains(name, part) })
}
