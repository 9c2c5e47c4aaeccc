// Package source fetches Helm charts with all their dependencies: from a directory of a packed
// source tree, from a chart repository (https:// with an index, or oci://), and from an archive.
//
// It owns which files a chart has (.helmignore, links), which version of a chart is
// chosen, and the check against the lock: the same input gives the same files on any
// machine. A dependency is a directory below charts/, or the archive as downloaded.
//
// All input is hostile: the tree, the index, the registry and nested archives. Time, bytes,
// redirects, depth and the unpacked size of an archive are bounded. Nothing is written to disk,
// no credential is sent, no proxy from the environment is used, and only public addresses are
// dialed unless the program allows others. It never renders a template; package helm does.
//
// Its callers are the build handler of package chart, and `runnerd diff helm`.
package source
