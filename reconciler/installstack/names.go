package installstack

import (
	"net/url"
	"path"
	"strings"
)

// RunnerRoleName returns the name of the role of the runner's machine on AWS, and of the resource with
// its identity on Azure. The control plane accepts the identity of no other.
func RunnerRoleName(install string) string { return FitRoleName(install + "-runner") }

// PhoneHomeRoleName returns the name of the role of the function on AWS that reports what the stack created.
func PhoneHomeRoleName(install string) string { return FitRoleName(install + "-phone-home") }

// AccountIDPrefix returns what the names of an install's service accounts on GCP begin with.
func AccountIDPrefix(install string) string { return "n" + Hash(install) }

// RunnerAccountID returns the name of the service account of the runner's machine on GCP.
func RunnerAccountID(install string) string { return AccountIDPrefix(install) + "-runner" }

// PublishedAddress returns where a bucket has a file. The digest is a part of it, so the file never changes.
func PublishedAddress(bucket, sha256, name string) string { return bucket + "/" + sha256 + "/" + name }

// NestedFile returns the name under which a template of the vendor is published: nested, with the extension of its
// address.
func NestedFile(source string) string {
	if at, err := url.Parse(source); err == nil {
		if extension := path.Ext(at.Path); extension == ".json" || extension == ".yml" {
			return "nested" + extension
		}
	}
	return "nested.yaml"
}

// maxAccountID is the maximum length of the name of a service account.
const maxAccountID = 30

// RoleAccountID returns the name of the service account of a role on GCP, by the id of the role.
func RoleAccountID(install, role string) string {
	return Fit(AccountIDPrefix(install)+"-"+strings.ToLower(role), maxAccountID, IsAccountID)
}

// IdentityName returns the name of the managed identity of a role on Azure.
func IdentityName(role string) string {
	return Fit(Plain(role, 512), 120, func(r rune) bool { return IsWord(r) || r == '-' })
}

// IsAccountID reports whether the name of a service account may contain a character.
func IsAccountID(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }
