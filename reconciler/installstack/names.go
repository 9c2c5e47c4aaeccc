package installstack

import (
	"net/url"
	"path"
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
