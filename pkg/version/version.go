// Package version contains the version of nuon. The three programs and the API report it.
package version

// Number is the version, which is set when a release is linked.
var Number = "0.1.0-dev"

// API is the version of the control and runner APIs. It increases when one side would misunderstand
// the other, not when something is added.
const API = 1

// The headers that identify both sides of an exchange: HeaderAPI is in every request of our clients
// and in every response, HeaderNumber in every response.
const (
	HeaderAPI    = "Nuon-Api"
	HeaderNumber = "Nuon-Version"
)
