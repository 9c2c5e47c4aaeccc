// Package apps provisions, updates and deprovisions real apps with the whole product: a control
// plane, a build runner and a runner for each app, real Terraform with a simulated cloud, and a real
// Kubernetes in one process for each app.
//
// The configs of apps stay unchanged, with the exceptions that App.Notes lists. The repositories that
// they name are served from a mirror: sandboxes of this repository in place of those of the same kind,
// and stand-ins for code that is not available (package standin).
package apps
