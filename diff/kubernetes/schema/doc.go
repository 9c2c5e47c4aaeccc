// Package schema describes the fields of Kubernetes API objects: which lists
// are keyed and by what, which strings are quantities, times or durations,
// and which default the API server uses for an omitted field.
//
// It owns the table built from the published OpenAPI documents (kubernetes.bin, see
// generate), the defaults that the API server defines only in its code (defaults.go),
// the reading of custom resource definitions, and equality by meaning. It never
// validates an object, never compares two and never queries a cluster. diff/kubernetes
// calls it for every object, diff/risk for the objects that it judges.
package schema
