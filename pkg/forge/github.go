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
	verify: func(d Delivery, secret seal.Secret) bool {
		return verifyHexSignature(d.Header.Get("X-Hub-Signature-256"), "sha256=", d.Body, secret)
	},
	parse: func(event string, d Delivery) (Event, error) { return parseGitHubEvent(event, payload(d)) },
}

// githubPayload is the payload that GitHub, Gitea and Forgejo have in common.
type githubPayload struct {
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

// parseGitHubEvent parses an event of GitHub, Gitea or Forgejo.
func parseGitHubEvent(event string, text []byte) (Event, error) {
	var p githubPayload
	if err := decode(text, &p); err != nil {
		return Event{}, err
	}
	repo := repository(p.Repository.CloneURL, p.Repository.HTMLURL, p.Repository.SSHURL)
	switch {
	case event == "ping":
		return skipped(repo, "the webhook works"), nil
	case event == "delete":
		return skipped(repo, "%s %s was deleted, so there is nothing to poll", printable(p.RefType), printable(p.Ref)), nil
	case event != "push":
		return otherEvent(repo, event), nil
	case repo.IsZero():
		return Event{}, malformed("the payload of the push names no repository")
	case p.Deleted:
		return pushEvent(repo, p.Ref, "")
	}
	return pushEvent(repo, p.Ref, p.After)
}
