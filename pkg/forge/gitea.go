package forge

import "github.com/nuon-toolkit/nuon/pkg/seal"

// Gitea signs the JSON instead of the body: for a form body, the field payload.
var gitea = Forge{
	Name: "gitea", Title: "Gitea",
	Form:        giteaForm("Gitea"),
	eventHeader: "X-Gitea-Event",
	idHeaders:   []string{"X-Gitea-Delivery"},
	verify: func(d Delivery, secret seal.Secret) bool {
		return verifyHexSignature(d.Header.Get("X-Gitea-Signature"), "", payload(d), secret)
	},
	parse: func(event string, d Delivery) (Event, error) { return parseGitHubEvent(event, payload(d)) },
}

// Forgejo works like Gitea, with headers of another name.
var forgejo = Forge{
	Name: "forgejo", Title: "Forgejo",
	Form:        giteaForm("Forgejo"),
	eventHeader: "X-Forgejo-Event",
	idHeaders:   []string{"X-Forgejo-Delivery"},
	verify: func(d Delivery, secret seal.Secret) bool {
		return verifyHexSignature(d.Header.Get("X-Forgejo-Signature"), "", payload(d), secret)
	},
	parse: gitea.parse,
}

func giteaForm(title string) Form {
	return Form{
		Page: "Settings > Webhooks > Add webhook > " + title + " (of a repository or of the organization)",
		Fields: []Field{
			{"Target URL", "{url}"},
			{"HTTP method", "POST"},
			{"POST content type", "application/json"},
			{"Secret", "{secret}"},
			{"Trigger on", "Push events"},
			{"Branch filter", "*"},
		},
		Note: "A server in a private network lets webhooks go only to addresses that ALLOWED_HOST_LIST in the section " +
			"[webhook] of " +
			"its app.ini names.",
	}
}
