package forge

import (
	"net/http"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Bitbucket Cloud identifies a repository only by the URL of its page, which its git URL starts
// with.
var bitbucketCloud = Forge{
	Name: "bitbucket", Title: "Bitbucket Cloud",
	Form: Form{
		Page: "Repository settings > Webhooks > Add webhook (or Workspace settings > Webhooks)",
		Fields: []Field{
			{"Title", "nuon"},
			{"URL", "{url}"},
			{"Secret", "{secret}"},
			{"Status", "Active"},
			{"Triggers", "Repository push"},
		},
	},
	eventHeader: "X-Event-Key", extraHeader: "X-Hook-UUID",
	idHeaders: []string{"X-Request-UUID"},
	verify:    verifyAtlassian,
	parse:     parseBitbucketCloud,
}

// Bitbucket Data Center (and Server) sends a connection test without a signature.
var bitbucketDataCenter = Forge{
	Name: "bitbucket-dc", Title: "Bitbucket Data Center",
	Form: Form{
		Page: "Repository settings > Webhooks > Create webhook (or Project settings > Webhooks)",
		Fields: []Field{
			{"Name", "nuon"},
			{"URL", "{url}"},
			{"Secret", "{secret}"},
			{"SSL/TLS", "Verify the certificate"},
			{"Events", "Repository: Push"},
		},
		Note: "\"Test connection\" shows that the address answers, and not that the secret is right: Bitbucket does " +
			"not sign it.",
	},
	eventHeader: "X-Event-Key",
	idHeaders:   []string{"X-Request-Id"},
	verify:      verifyAtlassian,
	unsignedPing: func(header http.Header) bool {
		return header.Get("X-Event-Key") == eventDiagnostics && header.Get(headerAtlassianSignature) == ""
	},
	parse: parseBitbucketDataCenter,
}

const (
	headerAtlassianSignature = "X-Hub-Signature"
	eventDiagnostics         = "diagnostics:ping"
)

func verifyAtlassian(d Delivery, secret seal.Secret) bool {
	return verifyHexSignature(d.Header.Get(headerAtlassianSignature), "sha256=", d.Body, secret)
}

func parseBitbucketCloud(event string, d Delivery) (Event, error) {
	var p struct {
		Repository struct {
			Links struct {
				HTML struct {
					Href string `json:"href"`
				} `json:"html"`
			} `json:"links"`
		} `json:"repository"`
		Push struct {
			Changes []struct {
				// New is null for a deleted ref.
				New *struct {
					Type string `json:"type"`
					Name string `json:"name"`
				} `json:"new"`
			} `json:"changes"`
		} `json:"push"`
	}
	if err := decode(d.Body, &p); err != nil {
		return Event{}, err
	}
	repo := repository(p.Repository.Links.HTML.Href)
	switch {
	case event != "repo:push":
		return otherEvent(repo, event), nil
	case repo.IsZero():
		return Event{}, malformed("the payload of the push names no repository")
	}
	var refs []string
	for _, change := range p.Push.Changes {
		switch {
		case change.New == nil:
		case change.New.Type == "tag":
			refs = append(refs, "refs/tags/"+change.New.Name)
		default:
			refs = append(refs, "refs/heads/"+change.New.Name)
		}
	}
	return pushEventOf(repo, refs)
}

func parseBitbucketDataCenter(event string, d Delivery) (Event, error) {
	var p struct {
		Repository struct {
			Slug    string `json:"slug"`
			Project struct {
				Key string `json:"key"`
			} `json:"project"`
			Links struct {
				Clone []struct {
					Href string `json:"href"`
				} `json:"clone"`
			} `json:"links"`
		} `json:"repository"`
		Changes []struct {
			RefID string `json:"refId"`
			Type  string `json:"type"`
		} `json:"changes"`
	}
	if err := decode(d.Body, &p); err != nil {
		return Event{}, err
	}
	var repo Repository
	for _, clone := range p.Repository.Links.Clone {
		repo.URLs = append(repo.URLs, clone.Href)
	}
	// Older servers identify the repository only by project and slug.
	if len(repo.URLs) == 0 && p.Repository.Slug != "" && p.Repository.Project.Key != "" {
		repo.Path = "/scm/" + p.Repository.Project.Key + "/" + p.Repository.Slug
	}
	switch {
	case event == eventDiagnostics:
		return skipped(repo, "the webhook works"), nil
	case event != "repo:refs_changed":
		return otherEvent(repo, event), nil
	case repo.IsZero():
		return Event{}, malformed("the payload of the push names no repository")
	}
	var refs []string
	for _, change := range p.Changes {
		if change.Type != "DELETE" {
			refs = append(refs, change.RefID)
		}
	}
	return pushEventOf(repo, refs)
}

// pushEventOf returns the event of a push, with the refs that it did not delete.
func pushEventOf(repo Repository, refs []string) (Event, error) {
	if len(refs) == 0 {
		return skipped(repo, "the push only deleted, so there is nothing to poll"), nil
	}
	return Event{Repository: repo, Refs: refs}, nil
}
