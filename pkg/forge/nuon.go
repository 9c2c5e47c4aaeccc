package forge

import (
	"bytes"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// The headers of nuon's own format, for CI and for servers that no other format fits.
const (
	HeaderTimestamp = "X-Nuon-Timestamp" // Unix seconds
	HeaderSignature = "X-Nuon-Signature" // sha256=<hex of the HMAC of timestamp, ".", body>
)

// The nuon format signs the time, and the signature identifies the delivery.
var nuon = Forge{
	Name: "nuon", Title: "your own scripts",
	Form: Form{
		Page: "a POST request",
		Fields: []Field{
			{"URL", "{url}"},
			{HeaderTimestamp, "seconds since 1970"},
			{HeaderSignature, `sha256=<hex of HMAC-SHA256 with the secret over "<timestamp>.<body>">`},
			{"Secret", "{secret}"},
			{"Body", `{"repository": "https://…", "ref": "refs/heads/main"}; what is left out means all`},
		},
	},
	eventHeader: HeaderSignature,
	idHeaders:   []string{HeaderSignature},
	verify: func(d Delivery, secret seal.Secret) bool {
		timestamp := d.Header.Get(HeaderTimestamp)
		return verifyHexSignature(d.Header.Get(HeaderSignature), "sha256=", signedText(timestamp, d.Body),
			secret) && isRecent(timestamp, d)
	},
	parse: parseNuon,
}

// Sign returns the HeaderSignature of a delivery in the nuon format.
func Sign(secret seal.Secret, timestamp string, body []byte) string {
	return "sha256=" + hexHMAC(secret, signedText(timestamp, body))
}

func signedText(timestamp string, body []byte) []byte {
	return append([]byte(timestamp+"."), body...)
}

func parseNuon(_ string, d Delivery) (Event, error) {
	p := struct {
		Repository string `json:"repository"`
		Ref        string `json:"ref"`
	}{}
	if len(bytes.TrimSpace(d.Body)) > 0 {
		if err := decode(d.Body, &p); err != nil {
			return Event{Name: "push"}, err
		}
	}
	event := Event{Name: "push", Repository: repository(p.Repository)}
	if p.Ref != "" {
		event.Refs = []string{p.Ref}
	}
	return event, nil
}
