package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// GitLab sends a secret token unchanged or, from version 19.0 on, signs with a signing token in the
// format of Standard Webhooks. A delivery with a signature must pass by the signature; it does not
// fall back to the token.
var gitlab = Forge{
	Name: "gitlab", Title: "GitLab",
	Form: Form{
		Page: "Settings > Webhooks > Add new webhook (of a project or of the group)",
		Fields: []Field{
			{"URL", "{url}"},
			{"Secret token", "{secret}"},
			{"Trigger", "Push events (All branches), Tag push events"},
			{"SSL verification", "Enable SSL verification"},
		},
		Note: "GitLab 19.0 and later can sign with a signing token instead: generate it in the form, leave the secret " +
			"token empty, and " +
			"give it to nuon with `nuon webhooks rotate WEBHOOK --from @FILE`. A server in a private network sends webhooks " +
			"to other " +
			"private addresses only when Admin > Settings > Network > Outbound requests allows it.",
	},
	eventHeader: "X-Gitlab-Event",
	idHeaders:   []string{"Idempotency-Key", "Webhook-Id", "X-Gitlab-Event-UUID"},
	verify: func(d Delivery, secret seal.Secret) bool {
		if d.Header.Get(headerStandardSignature) != "" {
			return verifyStandardSignature(d, secret)
		}
		// The values are hashed so that the time of the comparison does not reveal their lengths.
		sent, want := sha256.Sum256([]byte(d.Header.Get("X-Gitlab-Token"))), sha256.Sum256(secret.Reveal())
		return hmac.Equal(sent[:], want[:])
	},
	parse: parseGitLab,
}

// The headers of Standard Webhooks (standardwebhooks.com).
const (
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// SecretPrefix is the start of a secret in the format of Standard Webhooks; the key in base64
// follows. Forges that accept any text as a secret use the whole text, so that one secret works for
// every forge.
const SecretPrefix = "whsec_"

// verifyStandardSignature reports whether a delivery has a Standard Webhooks signature: v1,<base64 of
// HMAC-SHA256(id.timestamp.body)>, once or for several keys.
func verifyStandardSignature(d Delivery, secret seal.Secret) bool {
	encoded, prefixed := strings.CutPrefix(string(secret.Reveal()), SecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !prefixed || err != nil || len(key) == 0 {
		return false
	}
	id, timestamp := d.Header.Get(headerStandardID), d.Header.Get(headerStandardTimestamp)
	want := "v1," + base64.StdEncoding.EncodeToString(hmacSHA256(key, []byte(id+"."+timestamp+"."), d.Body))
	found := false
	for signature := range strings.FieldsSeq(d.Header.Get(headerStandardSignature)) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			found = true
		}
	}
	return found && isRecent(timestamp, d)
}

// parseGitLab parses an event of a project, of a group, or of the whole server. For the latter
// X-Gitlab-Event is always "System Hook".
func parseGitLab(event string, d Delivery) (Event, error) {
	var p struct {
		Kind    string `json:"object_kind"`
		Event   string `json:"event_name"`
		Ref     string `json:"ref"`
		After   string `json:"after"`
		Project struct {
			GitHTTPURL string `json:"git_http_url"`
			WebURL     string `json:"web_url"`
			GitSSHURL  string `json:"git_ssh_url"`
		} `json:"project"`
	}
	if err := decode(d.Body, &p); err != nil {
		return Event{}, err
	}
	repo := repository(p.Project.GitHTTPURL, p.Project.WebURL, p.Project.GitSSHURL)
	kind := p.Kind
	if kind == "" {
		kind = p.Event
	}
	switch {
	case kind != "push" && kind != "tag_push":
		return otherEvent(repo, event), nil
	case repo.IsZero():
		return Event{}, malformed("the payload of the push names no project")
	}
	return pushEvent(repo, p.Ref, p.After)
}
