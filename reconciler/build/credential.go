package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/image"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/credentialscope"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// maxModuleAddress bounds an address of modules, in bytes.
const maxModuleAddress = 4096

// ModulePattern checks an address of modules, images or charts that a credential names, and returns it in
// normalized spelling: https://host for a registry of modules, the https:// or ssh:// URL of a repository
// or an archive, oci://host/repository for an image, or such a URL with /* at its end for everything
// below it.
func ModulePattern(text string) (string, error) {
	below, all := credentialscope.CutBelow(text)
	at, err := moduleAddress(below)
	if err == nil && strings.Contains(at, "*") {
		err = fmt.Errorf("only a /* at the end matches more than one address")
	}
	if err != nil {
		return "", refusal.New(refusal.Invalid, "bad_module_address",
			fmt.Sprintf("%q is not an address of Terraform modules, images or charts: %v", text[:min(len(text), 200)], err),
			"Write https://host for a registry of modules, https://host/owner/repository or ssh://git@host/owner/repository "+
				"for a repository, oci://host/owner/image for an image, and /* at the end for all below a path or a chart "+
				"repository.")
	}
	if all {
		at = credentialscope.Below(at)
	}
	return at, nil
}

// moduleAddress returns an address in normalized spelling, without .git at its end.
func moduleAddress(text string) (string, error) {
	at, err := url.Parse(text)
	switch {
	case len(text) > maxModuleAddress || err != nil || at.Host == "" || at.Opaque != "":
		return "", fmt.Errorf("it is not a URL")
	case at.RawQuery != "" || at.Fragment != "":
		return "", fmt.Errorf("it has a query or a fragment")
	case !slices.Contains([]string{"https", "ssh", image.CredentialScheme}, at.Scheme):
		return "", fmt.Errorf("it is neither https:// nor ssh:// nor oci://")
	case at.Scheme != "ssh" && at.User != nil || hasPassword(at):
		return "", fmt.Errorf("it has a user name or a password")
	}
	path := strings.TrimSuffix(strings.Trim(at.EscapedPath(), "/"), ".git")
	if !credentialscope.PlainPath(path) {
		return "", fmt.Errorf("its path is ambiguous")
	}
	made := at.Scheme + "://"
	if at.User != nil {
		made += at.User.String() + "@"
	}
	made += strings.ToLower(at.Host)
	if path != "" {
		made += "/" + path
	}
	return made, nil
}

// ChangeModules returns the addresses of modules that a credential names, with some added and some
// removed, normalized and sorted. Its error is a refusal.
func ChangeModules(now, add, remove []string) ([]string, error) {
	changed, err := credentialscope.Change(now, add, remove, ModulePattern)
	var missing *credentialscope.NotNamedError
	switch {
	case errors.As(err, &missing):
		return nil, refusal.New(refusal.Invalid, "bad_module_address", missing.Error(),
			"`nuon credentials list` shows what it lists.")
	case errors.Is(err, credentialscope.TooManyError{}):
		return nil, refusal.New(refusal.Invalid, "bad_module_address",
			fmt.Sprintf("a credential can have at most %d addresses of modules", credentialscope.Limit),
			"Use https://host/owner/* for all of an owner.")
	}
	return changed, err
}

// ModuleCredentials returns credentials for Terraform modules, images and charts to the jobs that resolve
// them.
type ModuleCredentials struct {
	store *store.Store
	key   seal.Identity
}

// NewModuleCredentials returns the service. key opens the stored credentials.
func NewModuleCredentials(s *store.Store, key seal.Identity) *ModuleCredentials {
	return &ModuleCredentials{store: s, key: key}
}

// Get returns the credential that names an address most closely, sealed to the key that the job made
// for this answer, or the zero value if no credential names it. Only the attempt of a running build of
// an image, a chart or a Terraform module gets any, and every other one the zero value. Each use is recorded in
// the audit log.
func (m *ModuleCredentials) Get(
	ctx context.Context, caller runners.Caller, ref api.AttemptRef, request api.ModuleCredentialRequest,
) (found api.ModuleCredential, err error) {
	address, err := moduleAddress(request.Address)
	if err != nil {
		return found, refusal.New(refusal.Invalid, "bad_module_address", "the address of modules is wrong: "+err.Error(), "")
	}
	to, err := seal.ParseRecipient(request.Recipient)
	if err != nil {
		return found, refusal.New(refusal.Invalid, "bad_recipient", "the recipient is not a public key", "")
	}
	err = m.store.InTx(ctx, caller.Org, func(ctx context.Context, tx *store.Tx) error {
		found = api.ModuleCredential{}
		attempt, err := jobs.ReadRunningAttempt(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if !mayRead(attempt.Job, address) {
			return nil
		}
		use := seal.ModuleCredentialContext(tx.Org, ref.Job, request.Address)
		row, covers, err := closestCredential(ctx, tx, address)
		if err != nil {
			return err
		}
		if !covers {
			found, err = m.registryLogin(ctx, tx, attempt, address, to, use)
			return err
		}
		secret, err := m.open(tx.Org, row)
		if err != nil {
			return err
		}
		sealed, err := to.Seal(use, secret.Reveal())
		if err != nil {
			return fmt.Errorf("seal credential %s: %w", row.Name, err)
		}
		found.Username, found.Secret = row.Username, &sealed
		return recordUse(ctx, tx, attempt, row.ID, map[string]any{"name": row.Name, "address": address, "job": ref.Job})
	})
	return found, err
}

// maxUses is how many credentials one attempt receives, each of which adds an audit event. A build asks
// once for each address from which it fetches.
const maxUses = 1000

// recordUse adds an audit event for a credential that an attempt receives. It refuses the use if the
// attempt has received maxUses.
func recordUse(ctx context.Context, tx *store.Tx, attempt jobs.Attempt, object string, detail map[string]any) error {
	counted, err := tx.CountCredentialUse(ctx, store.CountCredentialUseParams{
		OrgID: tx.Org, JobID: attempt.Job.ID, Number: attempt.Row.Number, Most: maxUses,
	})
	if err != nil {
		return err
	}
	if counted == 0 {
		return refusal.New(refusal.Full, "too_many_credentials",
			fmt.Sprintf("this build has received %d credentials, the most that one may", maxUses),
			"Fetch from fewer addresses, or build in several components.")
	}
	return tx.Audit(ctx, "runner "+attempt.Job.RunnerID, "credential.use", object, detail)
}

// mayRead reports whether a job gets the credential for an address: builds of images get those for
// images, builds of Terraform modules those for modules, and builds of charts those for what is below a
// host, in registries and chart repositories.
func mayRead(job store.Job, address string) bool {
	ofImage := strings.HasPrefix(address, image.CredentialScheme+"://")
	switch job.ComponentKind {
	case appconfig.KindTerraformModule, appconfig.KindSandbox:
		return job.Kind == "build" && !ofImage
	case appconfig.KindContainerImage:
		return job.Kind == "build" && ofImage
	case appconfig.KindHelmChart:
		_, rest, _ := strings.Cut(address, "://")
		return job.Kind == "build" && !strings.HasPrefix(address, "ssh://") && strings.Contains(rest, "/")
	}
	return false
}

// closestCredential returns the credential whose pattern names the most of an address.
func closestCredential(ctx context.Context, tx *store.Tx, address string) (store.Credential, bool, error) {
	rows, err := tx.CredentialsForModules(ctx, tx.Org)
	if err != nil {
		return store.Credential{}, false, err
	}
	best, most := store.Credential{}, 0
	for _, row := range rows {
		for _, pattern := range row.Modules {
			if n := credentialscope.Match(pattern, address); n > most {
				best, most = row, n
			}
		}
	}
	return best, most > 0, nil
}

func (m *ModuleCredentials) open(org string, row store.Credential) (seal.Secret, error) {
	var sealed seal.Sealed
	if err := json.Unmarshal(row.Sealed, &sealed); err != nil {
		return seal.Secret{}, fmt.Errorf("read credential %s: %w", row.Name, err)
	}
	secret, err := m.key.Open(sealed, seal.Context{Org: org, Kind: seal.KindCredential, Component: row.ID})
	if err != nil {
		return seal.Secret{}, refusal.New(refusal.Conflict, "credential_unreadable",
			"the credential "+row.Name+" cannot be opened with the control plane's key", "Create it again.")
	}
	return secret, nil
}
