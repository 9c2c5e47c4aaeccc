// Package schema says what the Kubernetes API knows of the fields of its objects: which lists are keyed and by what, which strings are
// quantities, times or durations, and what the API server fills in where a field is left out.
//
// It owns the table that is made of the published OpenAPI documents (kubernetes.bin, see generate), the defaults that the API server has only
// in its code (defaults.go), the reading of custom resource definitions, and equality by meaning. It never validates an object, never
// compares two and never asks a cluster. diff/kubernetes calls it for every object, diff/risk for what it judges.
package schema
