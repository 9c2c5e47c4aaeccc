// Package manifest reads Kubernetes manifests: streams of YAML and JSON
// documents, and the objects in them.
//
// It owns the boundaries between documents, the identity of the object in a document, and the
// meaning of YAML to the clients of the Kubernetes API. It parses as little as possible: it reads
// the identity of an object from the lines of its document if these are unambiguous, compares equal
// documents by their bytes, and parses only the differences of two large documents (Pair). The YAML
// library defines the meaning of a document. Values in the common forms are read from their lines,
// which is ten times faster; tests compare both readings, and the library reads all other forms.
//
// It never opens a file, never connects to a cluster and stores no parsed value. Errors
// name a place and a remedy and never quote a value. Package diff/kubernetes calls it.
package manifest
