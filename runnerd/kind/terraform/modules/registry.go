package modules

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Bounds of the answers of a registry, in bytes. The largest lists of versions of public modules
// have a few megabytes, because they repeat each version's submodules.
const (
	maxDiscovery = 256 << 10
	maxVersions  = 32 << 20
	maxLocation  = 256 << 10
	// maxLocationText bounds the location of a package, which may hold a signature.
	maxLocationText = 8 << 10
)

// registry is the client of one module registry.
type registry struct {
	run    *run
	host   string
	base   *url.URL // of modules.v1, with a trailing slash
	client *http.Client
}

// registry returns the client of a host, after service discovery.
func (r *run) registry(ctx context.Context, host string) (*registry, error) {
	return remember(r, "registry "+host, func() (*registry, error) { return r.discover(ctx, host) })
}

func (r *run) discover(ctx context.Context, host string) (*registry, error) {
	what := "registry " + oneLine(host)
	at := &url.URL{Scheme: "https", Host: host}
	credential, err := r.credential(ctx, at)
	if err != nil {
		return nil, err
	}
	found := &registry{run: r, host: host}
	if configured, is := r.options.Services[host]; is {
		if found.base, err = serviceURL(at, configured); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	} else {
		document := at.JoinPath("/.well-known/terraform.json")
		client := r.client(at, credential, false)
		err = r.retry(ctx, what, func() error {
			return r.get(ctx, client, document, func(response *http.Response) error {
				var services map[string]json.RawMessage
				if err := decodeJSON(response, maxDiscovery, &services); err != nil {
					return err
				}
				var service string
				if text, is := services["modules.v1"]; !is || json.Unmarshal(text, &service) != nil {
					return problemf("check the host in the source", "the host has no module registry (modules.v1)")
				}
				found.base, err = serviceURL(response.Request.URL, service)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
	}
	// The discovery document of the host decides which server gets the host's credential.
	found.client = r.client(&url.URL{Scheme: found.base.Scheme, Host: found.base.Host}, credential, false)
	return found, nil
}

// serviceURL returns the URL of a service, which may be relative to the document that names it.
func serviceURL(document *url.URL, service string) (*url.URL, error) {
	at, err := document.Parse(service)
	if err != nil || at.Host == "" || at.User != nil || at.Scheme != "https" && (at.Scheme != "http" ||
		!isThisMachine(at.Hostname())) {
		return nil, problemf("report it to the operator of the registry",
			"the address of its module service is not an https URL")
	}
	at.RawQuery, at.Fragment = "", ""
	at.Path = strings.TrimSuffix(at.Path, "/") + "/"
	return at, nil
}

// decodeJSON reads a JSON document of at most limit bytes.
func decodeJSON(response *http.Response, limit int64, into any) error {
	tooLarge := problemf("report it to the operator of the server", "the answer has more than %d bytes", limit)
	content, err := netguard.ReadAll(response.Body, limit, tooLarge)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		if looksLikeHTML(content) {
			return problemf("check the host in the source", "the answer is a web page, not a registry's")
		}
		return problemf("check the host in the source", "the answer is not the JSON of a registry")
	}
	return nil
}

func looksLikeHTML(content []byte) bool {
	start := strings.ToLower(strings.TrimSpace(string(content[:min(len(content), 512)])))
	return strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html")
}

// versions returns the listed versions of a module.
func (g *registry) versions(ctx context.Context, module registryAddress) ([]string, error) {
	return remember(g.run, "versions "+module.String(), func() ([]string, error) {
		what := "registry " + oneLine(g.host)
		var listed []string
		err := g.run.retry(ctx, what, func() error {
			err := g.run.get(ctx, g.client, g.base.JoinPath(module.path(), "versions"), func(response *http.Response) error {
				var answer struct {
					Modules []struct {
						Versions []struct {
							Version string `json:"version"`
						} `json:"versions"`
					} `json:"modules"`
				}
				if err := decodeJSON(response, maxVersions, &answer); err != nil {
					return err
				}
				listed = nil
				if len(answer.Modules) > 0 { // others are dependencies
					for _, one := range answer.Modules[0].Versions {
						listed = append(listed, one.Version)
					}
				}
				return nil
			})
			return notFound(err, "it has no module "+module.path(),
				"check the source; a private module also needs a credential for "+oneLine(g.host))
		})
		return listed, err
	})
}

// location returns the address of the package of a version. It may hold a credential, so it is never
// shown or recorded.
func (g *registry) location(ctx context.Context, module registryAddress, version string) (address, error) {
	what := "registry " + oneLine(g.host)
	at := g.base.JoinPath(module.path(), version, "download")
	var text string
	err := g.run.retry(ctx, what, func() error {
		err := g.run.get(ctx, g.client, at, func(response *http.Response) (err error) {
			text, err = locationOf(response)
			return err
		})
		return notFound(err, fmt.Sprintf("it lists version %s of %s and does not have it", version, module.path()),
			"report it to the owner of the module, or require another version")
	})
	if err != nil {
		return address{}, err
	}
	found, err := parseLocation(at, text)
	if err != nil {
		return address{}, fmt.Errorf("%s: the location of %s %s: %w", what, module.path(), version, err)
	}
	return found, nil
}

// locationOf reads the location from the X-Terraform-Get header, or from the JSON that registries of
// OpenTofu answer.
func locationOf(response *http.Response) (string, error) {
	text := response.Header.Get("X-Terraform-Get")
	if text == "" && response.StatusCode == http.StatusOK {
		var answer struct {
			Location string `json:"location"`
		}
		if err := decodeJSON(response, maxLocation, &answer); err != nil {
			return "", err
		}
		text = answer.Location
	}
	if text == "" || len(text) > maxLocationText {
		return "", problemf("report it to the operator of the registry", "it does not name the location of the package")
	}
	return text, nil
}

// parseLocation parses a location that a server returned, which may be relative to its URL.
func parseLocation(at *url.URL, text string) (address, error) {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		relative, err := url.Parse(text)
		if err != nil {
			return address{}, problemf("report it to the operator of the server", "it is not an address")
		}
		text = at.ResolveReference(relative).String()
	}
	return parseRemote(text, true)
}

// notFound replaces the problem of a 404 answer.
func notFound(err error, why, remedy string) error {
	if found, is := err.(*problem); is && strings.Contains(found.Why, " 404 ") { //nolint:errorlint // it is not wrapped
		return problemf(remedy, "%s", why)
	}
	return err
}

// chooseVersion returns the newest version that the constraint allows.
func (g *registry) chooseVersion(ctx context.Context, module registryAddress, constraint string) (string, error) {
	allowed, err := parseConstraints(constraint)
	if err != nil {
		return "", err
	}
	listed, err := g.versions(ctx, module)
	if err != nil {
		return "", err
	}
	match, latest := allowed.newest(listed)
	switch {
	case match != nil:
		return match.String(), nil
	case latest == nil:
		return "", problemf("require an exact version if it is a prerelease",
			"registry %s has no released version of %s", oneLine(g.host), module.path())
	}
	return "", problemf("change the constraint",
		"registry %s has no version of %s that %s allows; the newest is %s", oneLine(g.host), module.path(),
		diagnostic.Quote(constraint), latest)
}
