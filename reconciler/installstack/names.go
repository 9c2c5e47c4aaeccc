package installstack

// RunnerRoleName returns the name of the role of the runner's machine on AWS, and of the resource with
// its identity on Azure. The control plane accepts the identity of no other.
func RunnerRoleName(install string) string { return FitRoleName(install + "-runner") }

// PhoneHomeRoleName returns the name of the role of the function on AWS that reports what the stack created.
func PhoneHomeRoleName(install string) string { return FitRoleName(install + "-phone-home") }

// AccountIDPrefix returns what the names of an install's service accounts on GCP begin with.
func AccountIDPrefix(install string) string { return "n" + Hash(install) }

// RunnerAccountID returns the name of the service account of the runner's machine on GCP.
func RunnerAccountID(install string) string { return AccountIDPrefix(install) + "-runner" }
