// Package forge reads the webhooks that git forges send: which forge sent a delivery, whether it was made with the webhook's secret,
// and which refs of which repository were pushed. It also holds how each forge's webhook form is filled in. It opens no connection and
// no database, and a delivery is hostile input until Verify has passed it.
//
// One file holds all that is peculiar to one forge: its headers, its signature, its payloads and its form. To accept another forge, add
// its file, its row in All and its section in docs/git.md.
package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// All are the forges whose webhooks are accepted. The order counts: Forgejo also sends the headers of Gitea, and both send those of
// GitHub.
var All = []Forge{forgejo, gitea, gitlab, bitbucketCloud, bitbucketDataCenter, github, nuon}

// Forge is one kind of git server, as far as its webhooks go.
type Forge struct {
	// Name is what commands and records call the forge: lower case, without spaces.
	Name string
	// Title is how the forge writes its own name.
	Title string
	// Form is how a webhook is set up there.
	Form Form

	// eventHeader holds the kind of event in every delivery of this forge.
	eventHeader string
	// also is a header that tells this forge from another one with the same eventHeader; empty if there is none.
	also string
	// idHeaders hold what identifies a delivery, the same when it is sent again. The first that is set counts.
	idHeaders []string
	// signed reports whether a delivery was made with the secret, in constant time.
	signed func(Delivery, seal.Secret) bool
	// unsignedPing reports whether a delivery is a connection test that the forge never signs; nil for forges without any.
	unsignedPing func(http.Header) bool
	// parse reads a verified delivery.
	parse func(event string, d Delivery) (Event, error)
}

// Delivery is one webhook request, as it arrived.
type Delivery struct {
	Header http.Header
	Body   []byte
	// Received is when it arrived. Forges that sign a time are refused when it is more than Window away.
	Received time.Time
}

// Window is how far the signed time of a delivery may be from the time of its arrival.
const Window = 5 * time.Minute

// MaxBody is the size of the largest delivery that is read, in bytes. GitHub and GitLab send at most as much.
const MaxBody = 25 << 20

// HeaderResult is in the answer to every delivery that was verified, and in no other.
const HeaderResult = "Nuon-Delivery"

// Event is what a delivery reports.
type Event struct {
	// Name is the forge's own word for the kind of event.
	Name string
	// Repository is where it happened; the zero value is every repository of the org.
	Repository Repository
	// Refs are the branches and tags that a push moved or created, such as refs/heads/main. With none, and without Skipped, the event
	// is about every ref.
	Refs []string
	// Skipped is why there is nothing to poll; empty for a push.
	Skipped string
}

// ErrUnverified is returned for a delivery that was not made with the webhook's secret, or too long ago.
var ErrUnverified = errors.New("the delivery is not signed with the secret of this webhook, or its time is more than 5 minutes off")

// MalformedError is a payload that cannot be read although it is signed.
type MalformedError struct{ Reason string }

// Error returns the reason.
func (e *MalformedError) Error() string { return e.Reason }

func malformed(format string, arguments ...any) error {
	return &MalformedError{Reason: fmt.Sprintf(format, arguments...)}
}

// Identify returns the forge that sends such headers.
func Identify(header http.Header) (Forge, bool) {
	for _, f := range All {
		if header.Get(f.eventHeader) != "" && (f.also == "" || header.Get(f.also) != "") {
			return f, true
		}
	}
	return Forge{}, false
}

// Find returns the forge of a name.
func Find(name string) (Forge, bool) {
	for _, f := range All {
		if f.Name == name {
			return f, true
		}
	}
	return Forge{}, false
}

// Names are the names of all forges, those that people know best first.
func Names() []string {
	return []string{
		github.Name, gitlab.Name, gitea.Name, forgejo.Name, bitbucketCloud.Name, bitbucketDataCenter.Name, nuon.Name,
	}
}

// maxHeader bounds what is read of a header that identifies a delivery.
const maxHeader = 200

// DeliveryID returns what identifies a delivery in the forge's delivery log; empty when it is not stated.
func (f Forge) DeliveryID(header http.Header) string {
	for _, name := range f.idHeaders {
		if id := header.Get(name); id != "" {
			return printable(id)
		}
	}
	return ""
}

// IsUnsignedPing reports whether a delivery is a connection test that this forge sends without a signature. It proves nothing.
func (f Forge) IsUnsignedPing(header http.Header) bool {
	return f.unsignedPing != nil && f.unsignedPing(header)
}

// Verify returns nil for a delivery that was made with one of the secrets, else ErrUnverified. An empty secret verifies nothing and
// costs the same time.
func (f Forge) Verify(d Delivery, secrets ...seal.Secret) error {
	verified := false
	for _, secret := range secrets {
		if f.signed(d, secret) && !secret.IsZero() {
			verified = true
		}
	}
	if !verified {
		return ErrUnverified
	}
	return nil
}

// Parse reads what a verified delivery reports. The error is a *MalformedError.
func (f Forge) Parse(d Delivery) (Event, error) {
	event := printable(d.Header.Get(f.eventHeader))
	parsed, err := f.parse(event, d)
	if parsed.Name == "" {
		parsed.Name = event
	}
	return parsed, err
}

// hexSignature reports whether a header holds prefix and the hexadecimal HMAC-SHA256 of content.
func hexSignature(header, prefix string, content []byte, secret seal.Secret) bool {
	return hmac.Equal([]byte(header), []byte(prefix+hexSum(secret, content)))
}

func hexSum(secret seal.Secret, content []byte) string {
	return hex.EncodeToString(sum(secret.Reveal(), content))
}

// sum returns the HMAC-SHA256 of the parts, one after the other.
func sum(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// recent reports whether a header holds a time in Unix seconds that is within Window of the delivery's arrival.
func recent(seconds string, d Delivery) bool {
	at, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && d.Received.Sub(time.Unix(at, 0)).Abs() <= Window
}

// content returns the JSON of a delivery. Some forges can also send it as a form field, which is their default on some pages.
func content(d Delivery) []byte {
	kind, _, err := mime.ParseMediaType(d.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return d.Body
	}
	fields, err := url.ParseQuery(string(d.Body))
	if err != nil {
		return d.Body // it is no JSON either, and is refused as such
	}
	return []byte(fields.Get("payload"))
}

// decode reads the JSON of a payload. Fields that nuon does not use are not looked at.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return malformed("the payload is not the JSON of this event: %s", printable(err.Error()))
	}
	return nil
}

// isZero reports whether a commit stands for none, as that of a deleted ref: forges write it as zeros, or not at all.
func isZero(commit string) bool { return strings.Trim(commit, "0") == "" }

// skip is an event that gives no reason to poll.
func skip(at Repository, format string, arguments ...any) Event {
	return Event{Repository: at, Skipped: fmt.Sprintf(format, arguments...)}
}

// notPush is the answer to all events but pushes.
func notPush(at Repository, event string) Event {
	return skip(at, "nuon polls after pushes only, and this is the event %q", event)
}

// pushed is a push of one ref.
func pushed(at Repository, ref, after string) (Event, error) {
	if ref == "" {
		return Event{}, malformed("the payload of the push names no ref")
	}
	if isZero(after) {
		return skip(at, "%s was deleted, so there is nothing to poll", printable(ref)), nil
	}
	return Event{Repository: at, Refs: []string{ref}}, nil
}

// printable returns one line of bounded length of what a stranger wrote.
func printable(text string) string {
	clean := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(clean); len(runes) > maxHeader {
		return string(runes[:maxHeader]) + "…"
	}
	return clean
}
