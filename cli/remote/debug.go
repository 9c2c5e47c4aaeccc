package remote

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
	"github.com/nuon-toolkit/nuon/pkg/version"
)

// Debug shows each exchange: the request and its body as they go out, the answer's status and time when it begins, and its body and
// size when it was read. What may be secret is masked: the token in hand wherever it turns up, values by the names of their fields,
// what is said to be sensitive, what is sealed, and passwords in URLs. Headers are not shown but for those that say who answered.
func Debug(out io.Writer, token string) func(http.RoundTripper) http.RoundTripper {
	d := &debugger{out: out}
	d.secrets.Add([]byte(token))
	return func(below http.RoundTripper) http.RoundTripper { return debugging{d, below} }
}

const (
	// bodyShown bounds what is shown of one body, in bytes, and bodyKept what is kept to be read as JSON: what is cut off cannot be
	// masked by the names of its fields, so of larger bodies only the size is shown.
	bodyShown = 8 << 10
	bodyKept  = 1 << 20
)

// debugger writes, one exchange's lines at a time.
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

// RoundTrip makes and shows one exchange.
func (d debugging) RoundTrip(r *http.Request) (*http.Response, error) {
	d.say("> %s %s%s", r.Method, r.URL.Redacted(), d.request(r))
	begun := time.Now()
	answer, err := d.below.RoundTrip(r)
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		d.say("< no answer after %s: %v", took, err)
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
	answer.Body = &overheard{ReadCloser: answer.Body, debugger: d.debugger, kind: answer.Header.Get("Content-Type")}
	return answer, nil
}

// request is a request's size and body, where it can be read twice.
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
	return fmt.Sprintf(" (%s)%s", size(max(r.ContentLength, int64(len(kept)))), d.shown(r.Header.Get("Content-Type"), kept))
}

// overheard is an answer's body, of which so much is kept as can be shown.
type overheard struct {
	io.ReadCloser
	*debugger
	kind string
	kept []byte
	read int64
	once sync.Once
}

// Read keeps what it gives.
func (o *overheard) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	o.read += int64(n)
	o.kept = append(o.kept, b[:min(n, max(bodyKept+1-len(o.kept), 0))]...)
	return n, err
}

// Close shows it.
func (o *overheard) Close() error {
	o.once.Do(func() {
		if o.read > 0 {
			o.say("< %s%s", size(o.read), o.shown(o.kind, o.kept))
		}
	})
	return o.ReadCloser.Close()
}

func size(n int64) string { return fmt.Sprintf("%d bytes", n) }

// shown is a body as it may be seen, on a line of its own.
func (d *debugger) shown(kind string, body []byte) string {
	switch {
	case len(body) == 0:
		return ""
	case len(body) > bodyKept:
		return ", too many to show"
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
	return "\n  " + cut(d.secrets.String(string(text)))
}

// page shows what is not of the API when it is text: whose it is can often be seen in its first lines.
func (d *debugger) page(kind string, body []byte) string {
	if !strings.HasPrefix(kind, "text/") {
		return ", " + kind
	}
	return "\n  " + cut(d.secrets.String(strings.TrimSpace(string(body))))
}

// cut bounds what is shown. It is called with text in which secrets are masked, so it leaves no half of one.
func cut(text string) string {
	if len(text) <= bodyShown {
		return text
	}
	return strings.ToValidUTF8(text[:bodyShown], "") + "…"
}

// masked is what stands for a value.
const masked = "(masked)"

// inURL finds the user and password of a URL.
var inURL = lazyregexp.New(`://[^/?#@\s"]+@`)

// telling are parts of names whose values may be secret; a name that only tells which one it is, is not.
var telling = []string{"secret", "token", "password", "passphrase", "passwd", "private", "authorization", "cookie", "ciphertext", "credentials", "apikey", "api_key", "access_key", "signature"}

// open are names that hold people's own values, of which nobody knows what is in them.
var open = []string{"env", "inputs", "info", "plain"}

// mask hides what may be secret in JSON. Of is the name of the field that holds value.
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
		if v != "" && (tells(of) || slices.Contains(open, of)) {
			return masked
		}
	}
	return value
}

func maskObject(object map[string]any, of string) map[string]any {
	sensitive := object["sensitive"] == true
	own := slices.Contains(open, of)
	out := make(map[string]any, len(object))
	for name, value := range object {
		_, nested := value.(map[string]any)
		switch {
		case sensitive && (name == "value" || name == "default" || name == "hash"), own && !nested && value != nil && !described(object):
			out[name] = masked
		case own && nested:
			out[name] = mask(value, of)
		default:
			out[name] = mask(value, name)
		}
	}
	return out
}

// described says that an object is a value with a name of its own, such as an install's input, and no bag of values.
func described(object map[string]any) bool {
	_, named := object["name"]
	return named
}

func tells(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) })
}
