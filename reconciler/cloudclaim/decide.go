package cloudclaim

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/cloudidentity"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// account is a cloud account of an install; its fields are empty as far as they are not known.
type account struct {
	Cloud   string `json:"cloud,omitempty"`
	Account string `json:"account,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
}

// accounts are the one that the install was created for, and the one that a person confirmed.
type accounts struct{ named, confirmed account }

// accountsOf reads the accounts of an install.
func accountsOf(install store.Install) (accounts, error) {
	var a accounts
	var tables map[string]map[string]string
	if err := json.Unmarshal(install.Account, &tables); err != nil {
		return a, fmt.Errorf("decode the account of install %s: %w", install.Name, err)
	}
	for cloud, keys := range map[string][2]string{cloudidentity.AWS: {"account_id", ""},
		cloudidentity.GCP: {"project_id", ""}, cloudidentity.Azure: {"subscription_id", "tenant_id"}} {
		if table, has := tables[cloud+"_account"]; has {
			a.named = account{cloud, table[keys[0]], table[keys[1]]}
		}
	}
	if err := json.Unmarshal(install.ConfirmedAccount, &a.confirmed); err != nil {
		return a, fmt.Errorf("decode the confirmed account of install %s: %w", install.Name, err)
	}
	return a, nil
}

// CheckNamed refuses to name an account for an install where a person confirmed another one, because
// the named one wins. Error: ErrConfirmedOther.
func CheckNamed(install store.Install) error {
	a, err := accountsOf(install)
	if err != nil {
		return err
	}
	if a.confirmed.Account == "" {
		return nil
	}
	if a.named.Cloud != "" && a.named.Cloud != a.confirmed.Cloud ||
		a.named.Account != "" && a.named.Account != a.confirmed.Account ||
		a.named.Tenant != "" && a.named.Tenant != a.confirmed.Tenant {
		return ErrConfirmedOther.With("install %s is on %s in the account %s, which was confirmed", install.Name,
			a.confirmed.Cloud, a.confirmed.Account)
	}
	return nil
}

// verdict is the decision about a proven identity.
type verdict int

const (
	foreign  verdict = iota // it is not the install's
	waiting                 // a person has to confirm it
	accepted                // it is the install's
)

// decide decides about a proven identity. It is pure. The account that the install was created for
// decides if it is known; else the one that a person confirmed.
func decide(a accounts, s cloudidentity.Subject, install string, purpose Purpose) (verdict, string) {
	if want := expectedName(s.Cloud, install, purpose); want == "" || s.Name != want {
		return foreign, fmt.Sprintf("%s is not %s, the name that the stack of the install gives", describe(s), want)
	}
	if a.named.Cloud != "" && a.named.Cloud != s.Cloud {
		return foreign, fmt.Sprintf("the install is on %s, and %s is not", a.named.Cloud, describe(s))
	}
	if a.named.Account != "" && a.named.Account != s.Account || a.named.Tenant != "" && a.named.Tenant != s.Tenant {
		return foreign, fmt.Sprintf("the install is for the account %s, and %s is not in it", a.named.Account, describe(s))
	}
	// A tenant of Azure vouches for its own subscriptions only.
	if a.named.Account != "" && (s.Cloud != cloudidentity.Azure || a.named.Tenant != "") {
		return accepted, ""
	}
	if a.confirmed == (account{s.Cloud, s.Account, s.Tenant}) {
		return accepted, ""
	}
	if a.confirmed.Account != "" {
		return waiting, fmt.Sprintf("%s is in another account than %s, which was confirmed before", describe(s),
			a.confirmed.Account)
	}
	return waiting, fmt.Sprintf("nobody has confirmed the account of %s yet", describe(s))
}

// expectedName returns the name that the stack of an install gives to who proves an identity; empty
// where nobody does.
func expectedName(cloud, install string, purpose Purpose) string {
	switch {
	case purpose == Runner && cloud == cloudidentity.GCP:
		return installstack.RunnerAccountID(install)
	case purpose == Runner:
		return installstack.RunnerRoleName(install)
	case cloud == cloudidentity.AWS:
		return installstack.PhoneHomeRoleName(install)
	}
	return "" // elsewhere the runner reports what its stack has
}

// describe names a subject for messages.
func describe(s cloudidentity.Subject) string {
	text := fmt.Sprintf("%s %s: %s", s.Cloud, s.Account, s.Name)
	if s.Machine != "" {
		text += " on " + s.Machine
	}
	return text
}

// setConfirmed stores the account of a claim as the one that a person confirmed.
func setConfirmed(ctx context.Context, tx *store.Tx, install store.Install, c store.CloudClaim) error {
	raw, err := json.Marshal(account{c.Cloud, c.Account, c.Tenant})
	if err != nil {
		return fmt.Errorf("encode the account of install %s: %w", install.Name, err)
	}
	if err := tx.SetConfirmedAccount(ctx, raw, tx.Org, install.ID); err != nil {
		return fmt.Errorf("store the account of install %s: %w", install.Name, err)
	}
	return nil
}

// ViewSubject returns a subject for the API.
func ViewSubject(s cloudidentity.Subject) api.CloudSubject {
	return api.CloudSubject{Cloud: api.CloudSubjectCloud(s.Cloud), Account: s.Account, Tenant: s.Tenant, Name: s.Name,
		Machine: s.Machine}
}
