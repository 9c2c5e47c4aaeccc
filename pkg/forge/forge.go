// Package forge parses the webhooks of git forges: it determines which forge sent a delivery,
// whether the delivery was made with the webhook's secret, and which refs of which repository were
// pushed. It also describes how to fill in each forge's webhook form. It opens no connection and no
// database. A delivery is hostile input until Verify has accepted it.
//
// Everything that is specific to a forge is in one file: its headers, signature, payloads and form.
// To support another forge, add its file, its entry in All and its section in docs/git.md.
package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// All lists the forges whose webhooks are accepted. The order matters: Forgejo also sends the
// headers of Gitea, and both send those of GitHub.
var All = []Forge{forgejo, gitea, gitlab, bitbucketCloud, bitbucketDataCenter, github, nuon}

// Forge describes the webhooks of one kind of git server.
type Forge struct {
	// Name identifies the forge in commands and records: lower case, without spaces.
	Name string
	// Title is the name of the forge as the forge spells it.
	Title string
	// Form describes how to set up a webhook in the forge.
	Form Form

	// eventHeader is the header with the kind of event, which every delivery of this forge has.
	eventHeader string
	// extraHeader is a header that distinguishes this forge from another one with the same eventHeader;
	// empty if there is none.
	extraHeader string
	// idHeaders are the headers that identify a delivery, with the same value when it is sent
	// again. The first one that is set counts.
	idHeaders []string
	// verify reports whether a delivery was made with the secret, in constant time.
	verify func(Delivery, seal.Secret) bool
	// unsignedPing reports whether a delivery is a connection test that the forge never signs; nil
	// for forges without any.
	unsignedPing func(http.Header) bool
	// parse parses a verified delivery.
	parse func(event string, d Delivery) (Event, error)
}

// Delivery is one webhook request, as it arrived.
type Delivery struct {
	Header http.Header
	Body   []byte
	// Received is the time of arrival. If the forge signs a time, that time must be within ReplayWindow
	// of Received.
	Received time.Time
}

// ReplayWindow is the maximum difference between the signed time of a delivery and its arrival.
const ReplayWindow = 5 * time.Minute

// MaxBody is the maximum size of a delivery in bytes. GitHub and GitLab send at most that much.
const MaxBody = 25 << 20

// HeaderResult is a header of the response to every verified delivery, and of no other response.
const HeaderResult = "Nuon-Delivery"

// Event is what a delivery reports.
type Event struct {
	// Name is the forge's name for the kind of event.
	Name string
	// Repository is the affected repository; the zero value means every repository of the org.
	Repository Repository
	// Refs are the branches and tags that a push moved or created, such as refs/heads/main. If Refs
	// and Skipped are empty, the event affects every ref.
	Refs []string
	// Skipped is the reason why no poll is needed; empty for a push.
	Skipped string
}

// ErrUnverified is returned for a delivery that was not made with the webhook's secret, or not
// within ReplayWindow.
var ErrUnverified = fmt.Errorf(
	"the delivery is not signed with the secret of this webhook, or its time is more than %d minutes off",
	int(ReplayWindow.Minutes()))

// MalformedError reports a signed payload that cannot be parsed.
type MalformedError struct{ Reason string }

// Error returns the reason.
func (e *MalformedError) Error() string { return e.Reason }

func malformed(format string, arguments ...any) error {
	return &MalformedError{Reason: fmt.Sprintf(format, arguments...)}
}

// Identify returns the forge that sent the headers.
func Identify(header http.Header) (Forge, bool) {
	for _, f := range All {
		if header.Get(f.eventHeader) != "" && (f.extraHeader == "" || header.Get(f.extraHeader) != "") {
			return f, true
		}
	}
	return Forge{}, false
}

// Find returns the forge with a name.
func Find(name string) (Forge, bool) {
	for _, f := range All {
		if f.Name == name {
			return f, true
		}
	}
	return Forge{}, false
}

// Names returns the names of all forges, the best known first.
func Names() []string {
	return []string{
		github.Name, gitlab.Name, gitea.Name, forgejo.Name, bitbucketCloud.Name, bitbucketDataCenter.Name, nuon.Name,
	}
}

// maxHeader bounds how many characters of an identifying header are used.
const maxHeader = 200

// DeliveryID returns the id of a delivery in the forge's delivery log, or the empty string if the
// delivery has none.
func (f Forge) DeliveryID(header http.Header) string {
	for _, name := range f.idHeaders {
		if id := header.Get(name); id != "" {
			return printable(id)
		}
	}
	return ""
}

// IsUnsignedPing reports whether a delivery is a connection test that this forge sends without a
// signature. It proves nothing about the sender.
func (f Forge) IsUnsignedPing(header http.Header) bool {
	return f.unsignedPing != nil && f.unsignedPing(header)
}

// Verify returns nil for a delivery that was made with one of the secrets, else ErrUnverified. An
// empty secret verifies nothing and takes the same time.
func (f Forge) Verify(d Delivery, secrets ...seal.Secret) error {
	verified := false
	for _, secret := range secrets {
		if f.verify(d, secret) && !secret.IsZero() {
			verified = true
		}
	}
	if !verified {
		return ErrUnverified
	}
	return nil
}

// Parse parses a verified delivery. The error is a *MalformedError.
func (f Forge) Parse(d Delivery) (Event, error) {
	event := printable(d.Header.Get(f.eventHeader))
	parsed, err := f.parse(event, d)
	if parsed.Name == "" {
		parsed.Name = event
	}
	return parsed, err
}

// verifyHexSignature reports whether a header consists of prefix and the hexadecimal HMAC-SHA256 of
// content.
func verifyHexSignature(header, prefix string, content []byte, secret seal.Secret) bool {
	return hmac.Equal([]byte(header), []byte(prefix+hexHMAC(secret, content)))
}

func hexHMAC(secret seal.Secret, content []byte) string {
	return hex.EncodeToString(hmacSHA256(secret.Reveal(), content))
}

// hmacSHA256 returns the HMAC-SHA256 of the concatenated parts.
func hmacSHA256(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// isRecent reports whether a header contains a time in Unix seconds that is within ReplayWindow of the
// delivery's arrival.
func isRecent(seconds string, d Delivery) bool {
	sent, err := strconv.ParseInt(seconds, 10, 64)
	return err == nil && d.Received.Sub(time.Unix(sent, 0)).Abs() <= ReplayWindow
}

// payload returns the JSON of a delivery. Some forges can also send it as a form field, and some of
// their pages do so by default.
func payload(d Delivery) []byte {
	kind, _, err := mime.ParseMediaType(d.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return d.Body
	}
	fields, err := url.ParseQuery(string(d.Body))
	if err != nil {
		return d.Body // the body is not JSON either, and is rejected as such
	}
	return []byte(fields.Get("payload"))
}

// decode parses the JSON of a payload. It ignores fields that nuon does not use.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return malformed("the payload is not the JSON of this event: %s", printable(err.Error()))
	}
	return nil
}

// isDeleted reports whether a commit means that there is none, as for a deleted ref. Forges send zeros
// or an empty string.
func isDeleted(commit string) bool { return strings.Trim(commit, "0") == "" }

// skipped returns an event that needs no poll.
func skipped(repo Repository, format string, arguments ...any) Event {
	return Event{Repository: repo, Skipped: fmt.Sprintf(format, arguments...)}
}

// otherEvent returns the event for all kinds but pushes.
func otherEvent(repo Repository, event string) Event {
	return skipped(repo, "nuon polls after pushes only, and this is the event %q", event)
}

// pushEvent returns the event of a push of one ref.
func pushEvent(repo Repository, ref, after string) (Event, error) {
	if ref == "" {
		return Event{}, malformed("the payload of the push names no ref")
	}
	if isDeleted(after) {
		return skipped(repo, "%s was deleted, so there is nothing to poll", printable(ref)), nil
	}
	return Event{Repository: repo, Refs: []string{ref}}, nil
}

// printable returns untrusted text on one line of bounded length, without control characters.
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
