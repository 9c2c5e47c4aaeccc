// Package manifest reads Kubernetes manifests: streams of YAML and JSON documents, and the objects in them.
//
// It owns where one document ends and the next begins, which object a document is, and what YAML means to the clients of the Kubernetes
// API. It parses as little as it can: the identity of an object is read off the lines of its document where those cannot be misread, equal
// documents are compared by their bytes, and of two large documents only what differs is parsed (Pair). What a document means is always the
// YAML library's word; the reading of lines only ever saves work.
//
// It never opens a file, never talks to a cluster and keeps no parsed value. Errors name a place and a remedy and never quote a value.
// Package diff/kubernetes calls it.
package manifest
