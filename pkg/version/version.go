// Package version says which nuon this is. The three programs and the API report it.
package version

// Number is the version, set when a release is linked.
var Number = "0.1.0-dev"

// API is the generation of the control and runner APIs that this nuon speaks. It grows when one side would misunderstand the other,
// not when something is added.
const API = 1

// The headers in which both sides of an exchange say what they are: the generation with every request of a client of ours and with
// every answer, and the version with every answer.
const (
	HeaderAPI    = "Nuon-Api"
	HeaderNumber = "Nuon-Version"
)
