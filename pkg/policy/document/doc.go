// Package document checks the JSON documents of a role: policies, permission boundaries and role
// definitions of the three clouds. It checks texts before they are rendered, so that they may
// contain template expressions, and reports what the cloud would reject when the role is created in
// a customer's account. It never calls a cloud, and does not judge what a document allows.
package document
