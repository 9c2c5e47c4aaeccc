package forge

import "github.com/nuon-toolkit/nuon/pkg/seal"

// GitHub signs the raw body, also for a form body (docs.github.com, "Validating webhook
// deliveries"). The id of a delivery does not change when it is redelivered.
var github = Forge{
	Name: "github", Title: "GitHub",
	Form: Form{
		Page: "Settings > Webhooks > Add webhook (of a repository or of the organization)",
		Fields: []Field{
			{"Payload URL", "{url}"},
			{"Content type", "application/json"},
			{"Secret", "{secret}"},
			{"SSL verification", "Enable SSL verification"},
			{"Which events", "Just the push event"},
		},
	},
	eventHeader: "X-GitHub-Event",
	idHeaders:   []string{"X-GitHub-Delivery"},
	signed: func(d Delivery, secret seal.Secret) bool {
		return hexSignature(d.Header.Get("X-Hub-Signature-256"), "sha256=", d.Body, secret)
	},
	parse: func(event string, d Delivery) (Event, error) { return parseHubPush(event, content(d)) },
}

// hubPayload is the payload that GitHub, Gitea and Forgejo have in common.
type hubPayload struct {
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Deleted    bool   `json:"deleted"`
	RefType    string `json:"ref_type"`
	Repository struct {
		HTMLURL  string `json:"html_url"`
		CloneURL string `json:"clone_url"`
		SSHURL   string `json:"ssh_url"`
	} `json:"repository"`
}

// parseHubPush parses an event of GitHub, Gitea or Forgejo.
func parseHubPush(event string, text []byte) (Event, error) {
	var p hubPayload
	if err := decode(text, &p); err != nil {
		return Event{}, err
	}
	at := repository(p.Repository.CloneURL, p.Repository.HTMLURL, p.Repository.SSHURL)
	switch {
	case event == "ping":
		return skip(at, "the webhook works"), nil
	case event == "delete":
		return skip(at, "%s %s was deleted, so there is nothing to poll", printable(p.RefType), printable(p.Ref)), nil
	case event != "push":
		return notPush(at, event), nil
	case at.IsZero():
		return Event{}, malformed("the payload of the push names no repository")
	case p.Deleted:
		return pushed(at, p.Ref, "")
	}
	return pushed(at, p.Ref, p.After)
}
