// Package document owns what the JSON documents of a role must look like: policies, permission boundaries and role definitions of the
// three clouds. It reads texts before they are rendered, so that template expressions may stand in them, and says what the cloud would
// refuse when the role is created in a customer's account. It asks no cloud, and does not judge what a document allows.
package document
