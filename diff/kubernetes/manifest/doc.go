// Package manifest reads Kubernetes manifests: streams of YAML and JSON documents, and the objects in them.
//
// It owns where one document ends and the next begins, which object a document is, and what YAML means to the clients of the Kubernetes
// API. It parses as little as it can: the identity of an object is read off the lines of its document where those cannot be misread, equal
// documents are compared by their bytes, and of two large documents only what differs is parsed (Pair). What a document means is the YAML
// library's word. Values in the common forms are read from their lines, which is ten times as fast; tests compare both readings, and
// whatever is written in another form goes to the library.
//
// It never opens a file, never talks to a cluster and keeps no parsed value. Errors name a place and a remedy and never quote a value.
// Package diff/kubernetes calls it.
package manifest
